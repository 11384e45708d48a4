"""``fieldguide bench``."""

import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

import typer

from fieldguide.errors import FieldguideError, InvalidArgument
from fieldguide.terminal.arguments import Debug, one_line_errors
from fieldguide.terminal.console import say


@one_line_errors
def bench(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A table or figure, as --list names them."),
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="List every table and figure of the documents.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of collections.", show_default=False),
    ] = None,
    size: Annotated[
        Literal["tiny", "full"], typer.Option(help="'tiny' shows nothing but that it runs.")
    ] = "full",
    out: Annotated[
        Path, typer.Option(help="Where figures are kept; what is there is not measured again.")
    ] = Path("out/bench"),
    again: Annotated[bool, typer.Option("--again", help="Measure again all the same.")] = False,
    debug: Debug = False,
) -> None:
    """Measure a table or figure of the documents that Fieldguide follows, and judge its claim.

    Prints our figures and whether the claim holds, holds in part or fails, with the numbers that
    decide. It needs the source of Fieldguide, where the benchmarks are.

    Example: fieldguide bench attention/fig6 --data collections
    """
    documents = _find_benchmarks()
    runner = import_module("benchmarks.documents.bench")
    if list_all or name is None:
        for line in runner.list_items():
            say(line)
        return
    if name not in documents.ITEMS:
        near = get_close_matches(name, documents.ITEMS, n=1, cutoff=0.0)[0]
        raise InvalidArgument(
            f"No table or figure is called {name!r}; there is {near!r}, and --list lists them all."
        )
    item = documents.ITEMS[name]
    runner.measure(item, data, out, tiny=size == "tiny", again=again, say=_say_lines)


def _find_benchmarks() -> ModuleType:
    """Return the package of the documents, from the folder that holds the source."""
    source = Path(__file__).parents[3]
    if not (source / "benchmarks" / "documents").is_dir():
        raise FieldguideError(
            "The benchmarks are in the source of Fieldguide and not in the installed package; "
            "run this in a checkout that was installed by 'pip install -e .'."
        )
    sys.path.insert(0, str(source))
    return import_module("benchmarks.documents")


def _say_lines(text: str) -> None:
    say(*text.split("\n"))

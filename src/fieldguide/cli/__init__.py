"""The command line, a module for each command: the only part of the package that prints.

Heavy packages are imported inside the commands, so that ``--help`` is quick.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fieldguide._display import printable
from fieldguide._later import load_later
from fieldguide.chapters import OPTIONAL
from fieldguide.cli import (
    bench,
    build,
    compare,
    describe,
    edit,
    export,
    find,
    identify,
    plot,
    serve,
    teach,
    watch,
    words,
)
from fieldguide.terminal.arguments import describe_fault, say_warning
from fieldguide.terminal.console import complain, drop_unsaid, prepare_streams, say


@contextmanager
def _printable_usage() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        usage: Any = error
        if hasattr(usage, "format_message"):  # an error of click, or of typer's copy of it
            usage.message = printable(str(usage.message))
        raise


class _Commands(TyperGroup):
    """The commands; errors of usage repeat the user's words, which may hold anything."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _printable_usage():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _printable_usage():
            return super().invoke(ctx)


app = typer.Typer(
    name="fieldguide",
    cls=_Commands,
    help="Turn many images into a field guide: a tree in words, a key, and a page to browse.\n\n"
    "Start with [bold]fieldguide demo[/bold], then "
    "[bold]fieldguide build FOLDER --out GUIDE[/bold] and [bold]fieldguide serve GUIDE[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _tell_version(is_asked: bool) -> None:
    if is_asked:
        say(f"fieldguide {metadata.version('fieldguide')}")
        raise typer.Exit


@app.callback()
def _begin(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Say which version this is.", callback=_tell_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    prepare_streams()
    load_later("scipy.stats")
    try:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = say_warning
                app()
        finally:
            sys.stdout.flush()  # at the end of Python, an error would no longer be ours to word
    except BrokenPipeError:
        drop_unsaid()
        sys.exit(1)
    except Exception as error:  # of a command with --debug, of the help, or of our own making
        sentence = None if "--debug" in sys.argv else describe_fault(error)
        if sentence is None:
            import traceback

            say(*traceback.format_exc().rstrip("\n").split("\n"), file=sys.stderr)
        else:
            complain(sentence)
        drop_unsaid()
        sys.exit(1 if sentence is None else 2)


for _command in (build.demo, build.build, build.add, describe.describe):
    app.command()(_command)
app.command(context_settings={"ignore_unknown_options": True})(find.find)  # "-red" is a term
for _command in (plot.plot, serve.serve, identify.identify, compare.compare):
    app.command()(_command)
app.command(cls=teach.TeachCommand)(teach.teach)
for _command in (edit.edit, export.export, words.words, watch.watch, bench.bench):
    app.command()(_command)
for _name in OPTIONAL:
    app.command()(import_module(f"fieldguide.chapters.{_name}.command").COMMAND)

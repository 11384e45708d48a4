"""What all commands share: their arguments, one line for an error, the terminal."""

import functools
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from fieldguide._files import is_disk_full
from fieldguide.errors import FieldguideError, FieldguideWarning
from fieldguide.terminal.console import complain, drop_unsaid

GuideFolder = Annotated[
    Path, typer.Argument(metavar="GUIDE", help="A guide made by 'fieldguide build'.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for a program to read.")]
Embedder = Annotated[
    list[Path] | None,
    typer.Option(
        help="An ONNX file in place of the built-in network, or lite1 or lite2; give it several "
        "times for several side by side.",
        show_default=False,
    ),
]
Device = Annotated[
    str,
    typer.Option(
        help="Where the network runs: 'cpu', 'cuda' (a graphics processor; needs the extra gpu), "
        "or 'auto'."
    ),
]
_ARGUMENT = re.compile(r"`(\w+)(?:=(\w+))?`")  # as errors of the library name an argument
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Print an error as one line and leave with code 2, or 130 for Ctrl-C."""

    @functools.wraps(command)
    def wrapped(*args: Any, debug: bool = False, **kwargs: Any) -> None:
        try:
            command(*args, debug=debug, **kwargs)
        except KeyboardInterrupt:
            complain("Stopped. Run the same command again and it goes on where it stopped.")
            raise typer.Exit(130) from None
        except BrokenPipeError:  # the reader of our output went away, such as `| head`
            drop_unsaid()
            raise typer.Exit(1) from None
        except Exception as error:
            sentence = None if debug else describe_fault(error)
            if sentence is None:
                raise
            complain(sentence)
            drop_unsaid()
            raise typer.Exit(2) from None

    return wrapped


def say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: Any = None,
) -> None:
    """Print a warning of ours as one line, as errors are; where it comes from with any other."""
    if issubclass(category, FieldguideWarning):
        complain(str(message))
    else:
        complain(warnings.formatwarning(message, category, filename, lineno).rstrip("\n"))


def describe_fault(error: Exception) -> str | None:
    """Say in one sentence what an everyday fault is; None for an error that we have made."""
    if isinstance(error, FieldguideError):
        return name_flags(str(error))
    # By name: sqlite3 and safetensors are heavy, and loaded by now if the error is theirs.
    modules = [cls.__module__ for cls in type(error).__mro__]
    is_of_guide = any(name.startswith(("sqlite3", "safetensors")) for name in modules)
    if (is_of_guide or isinstance(error, OSError)) and is_disk_full(error):
        return "There is no room left on the disk; free some and run the same command again."
    if is_of_guide:
        return (
            f"A file of the guide cannot be read or written ({error}); if it happens again, build "
            "the guide anew. Add --debug to see where."
        )
    if isinstance(error, UnicodeError):
        where = str(error)
        if isinstance(error, UnicodeEncodeError | UnicodeDecodeError):
            where = f"near {error.object[max(error.start - 20, 0) : error.end + 20]!r}"
        return (
            f"A name or a text is not valid Unicode ({where}); rename or correct it. "
            "Add --debug to see where."
        )
    if isinstance(error, OSError | MemoryError):
        return f"{str(error) or 'There is not enough memory'}. Add --debug to see where."
    return None


def name_flags(sentence: str) -> str:
    """Write the arguments that a sentence names as the options that they are here.

    >>> name_flags("`key_cost` goes with a tree; build it with `key=relaxed`.")
    '--key-cost goes with a tree; build it with --key relaxed.'
    """
    return _ARGUMENT.sub(
        lambda found: " ".join(filter(None, (_name_flag(found[1]), found[2]))), sentence
    )


def _name_flag(argument: str) -> str:
    return "--jobs" if argument == "n_jobs" else f"--{argument.replace('_', '-')}"


def open_console() -> tuple[Any, tuple[str, ...]]:
    """Return the terminal, and the marks that it can show."""
    from rich.console import Console

    from fieldguide.terminal.tree_lines import FINE, PLAIN

    console = Console(highlight=False)
    try:
        "".join(FINE).encode(console.encoding)
    except UnicodeEncodeError:
        return console, PLAIN
    return console, FINE

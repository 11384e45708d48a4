"""What the command line prints, fit for every terminal, log and pipe.

Names of files, kinds and guides hold whatever a file system allows: escape sequences, line breaks,
bytes that are no text. Everything that is printed goes through :func:`say`, :func:`complain`,
:func:`say_json`, :func:`say_row` or :func:`say_rich`, and these put a sign in the place of each
such character.
What the encoding of a stream lacks is written in its plain form (:func:`prepare_streams`).
"""

import codecs
import io
import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from fieldguide._display import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_HANDLER = "fieldguide-plain"
_PLAIN = {
    **dict.fromkeys("−–—‐‑", "-"),
    **dict.fromkeys("‘’‚′", "'"),
    **dict.fromkeys("“”„″", '"'),
    **dict.fromkeys("•●", "*"),
    **{"›": ">", "‹": "<", "→": "->", "←": "<-", "×": "x", "…": "...", "⁄": "/"},
    **{"○": "o", "█": "#"},
}


def say(*lines: str, file: TextIO | None = None) -> None:
    """Print lines; a line break inside of one is shown by its sign."""
    for line in lines:
        print(printable(line), file=file)
    (file or sys.stdout).flush()


def complain(sentence: str) -> None:
    """Print what is wrong, as one line; where stderr is full or closed, the exit code must do."""
    with suppress(OSError):
        say(f"fieldguide: {sentence}", file=sys.stderr)


def say_json(value: Any) -> None:
    """Print JSON; where the stream could not carry a character, all beyond ASCII are escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not _is_carried(text):
        text = json.dumps(value, indent=2)
    print(text, flush=True)


def say_row(*cells: str) -> None:
    """Print cells with tabs between them; one inside of a cell is shown by its sign."""
    print("\t".join(map(printable, cells)), flush=True)


def say_rich(console: "Console", lines: "Iterable[Text]") -> None:
    """Print styled lines; those that may not wrap keep their whole length."""
    for line in lines:
        line.plain = printable(line.plain)  # of the same length, so that styles stay in place
        console.print(line, overflow="ignore" if line.no_wrap else None, crop=False)


def prepare_streams() -> None:
    """Let stdout and stderr write every text, whatever their encoding.

    A stream that the shell has closed (``>&-``) is opened to nowhere.
    """
    codecs.register_error(_HANDLER, _write_plainly)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = open(os.devnull, "w", encoding="utf-8", errors=_HANDLER)  # noqa: SIM115
            setattr(sys, name, nowhere)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)


def drop_unsaid() -> None:
    """Forget what stdout and stderr cannot take, or Python complains of it once more at the end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _is_carried(text: str) -> bool:
    """Whether stdout can write JSON as it is, with nothing in it that works on a terminal."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return printable(text, kept="\n") == text


def _write_plainly(error: UnicodeError) -> tuple[str, int]:
    """Stand in for characters that an encoding lacks; an error handler of ``codecs``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain_form, error.object[error.start : error.end])), error.end


def _plain_form(character: str) -> str:
    if character in _PLAIN:
        return _PLAIN[character]
    letters = [c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c)]
    return "".join(c if c.isascii() else _PLAIN.get(c, "?") for c in letters) or "?"

"""What people are shown: a text without controls, and what a notebook shows of an object.

A card is a few lines and a small table, as HTML. Everything is escaped, there are no scripts, and
no colour is set: it takes those of the notebook, light or dark.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

# C0, DEL and C1 controls; line separators and bidirectional overrides; bytes that are not UTF-8.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CELL = 'style="text-align: left; padding: 0.1em 1.2em 0.1em 0"'


def printable(text: str, kept: str = "") -> str:
    r"""Put a visible sign in the place of each control character but ``kept``; the length stays.

    A name may hold what clears a terminal, or turns around the letters that follow it.

    Examples
    --------
    >>> printable("red\x1b[31m\nrobin\x7f")
    'red␛[31m␊robin␡'
    """
    return _UNFIT.sub(lambda found: found[0] if found[0] in kept else _sign(found[0]), text)


def _sign(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def make_card(
    title: str,
    lines: Iterable[str] = (),
    columns: Sequence[str] = (),
    rows: Iterable[Sequence[Any]] = (),
) -> str:
    """Return a title, lines of text and a table as HTML.

    Examples
    --------
    >>> make_card("<b>")
    '<div><p><strong>&lt;b&gt;</strong></p></div>'
    """
    parts = [f"<p><strong>{_fit(title)}</strong></p>"]
    parts += [f"<p>{_fit(line)}</p>" for line in lines if line]
    body = "".join(_row("td", row) for row in rows)
    if body:
        head = f"<thead>{_row('th', columns)}</thead>" if columns else ""
        parts.append(f"<table>{head}<tbody>{body}</tbody></table>")
    return f"<div>{''.join(parts)}</div>"


def show_share(share: float | None) -> str:
    """Return a share as people read it.

    >>> show_share(0.9712), show_share(None)
    ('97.1 %', '')
    """
    return "" if share is None else f"{100 * share:.1f} %"


def _row(tag: str, cells: Iterable[Any]) -> str:
    inside = "".join(f"<{tag} {_CELL}>{_fit(str(cell))}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"


def _fit(text: str) -> str:
    return escape(printable(text))

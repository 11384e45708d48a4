"""What a notebook shows of an object: a few lines and a small table, as HTML.

Everything is escaped, there are no scripts, and no colour is set: a card takes those of the
notebook, light or dark.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_CELL = 'style="text-align: left; padding: 0.1em 1.2em 0.1em 0"'


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
    parts = [f"<p><strong>{escape(title)}</strong></p>"]
    parts += [f"<p>{escape(line)}</p>" for line in lines if line]
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
    inside = "".join(f"<{tag} {_CELL}>{escape(str(cell))}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"

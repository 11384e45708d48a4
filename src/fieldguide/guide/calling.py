"""Kinds and branches by what a person may call them, and what they may have meant."""

import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fieldguide.errors import GuideError
from fieldguide.guide.naming import display_name
from fieldguide.guide.views import Kind

if TYPE_CHECKING:
    from fieldguide.guide.contents import GuideContents

_MOST_LISTED = 5


def find_kind(guide: "GuideContents", by_name: Mapping[str, Kind], name: str) -> str:
    """Return the name of a kind from how a person may write it: "Crocodile head"."""
    if name in by_name:
        return by_name[name].name
    shown = {kind.shown: kind.name for kind in guide.kinds}
    if name in shown:
        return shown[name]
    plain: dict[str, dict[str, None]] = {}
    for kind in guide.kinds:
        for form in (kind.name, kind.shown):
            plain.setdefault(display_name(form).casefold(), {})[kind.name] = None
    wanted = display_name(name).casefold()
    found = list(plain.get(wanted, ()))
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(map(repr, found))
        raise GuideError(f"{len(found)} kinds may be meant by {name!r}: {listed}; give one.")
    near = difflib.get_close_matches(wanted, sorted(plain), n=3, cutoff=0.5)
    hints = dict.fromkeys(guide.shown_name(kind) for form in near for kind in plain[form])
    if hints:
        hint = f"There is {', '.join(map(repr, hints))}."
    elif guide.kinds:
        some, n_more = guide.kinds[:_MOST_LISTED], len(guide.kinds) - _MOST_LISTED
        more = f" and {n_more:,} more" if n_more > 0 else ""
        hint = f"It has {', '.join(repr(kind.shown) for kind in some)}{more}."
    else:
        hint = "It has no kinds."
    raise GuideError(f"No kind of this guide is called {name!r}. {hint}")


def find_branch(guide: "GuideContents", name: str) -> int:
    """Return a branch by its number, its page, its words or its whole sentence.

    ``"7"``, ``"branch/7.html"``, ``"bird"`` and ``"animal > bird"`` may all be the same one.
    """
    numbered = re.fullmatch(r"(?:branch/)?(\d+)(?:\.html)?", name.strip())
    if numbered:
        found = [b.id for b in guide.branches if b.id == int(numbered[1])]
    else:
        wanted = _plain_path(name)
        paths = [_plain_path(guide.sentence(b.id)) for b in guide.branches]
        ends = [b.id for b in guide.branches if paths[b.id][-len(wanted) :] == wanted]
        leads = [
            b.id
            for b in guide.branches
            if len(wanted) == 1 and wanted[0] in [word.casefold() for word in b.words]
        ]
        found = ends or leads
    if len(found) == 1:
        return found[0]
    if found:
        listed = "; ".join(f"{b} ({guide.sentence(b)})" for b in found[:5])
        raise GuideError(
            f"{len(found)} branches are called {name!r}: {listed}; give the number of one."
        )
    words = {word for b in guide.branches for word in b.words}
    near = difflib.get_close_matches(name, sorted(words), n=3, cutoff=0.5)
    hint = f" There is {', '.join(repr(word) for word in near)}." if near else ""
    raise GuideError(
        f"No branch is called {name!r}; give its words, or a number from 0 to "
        f"{len(guide.branches) - 1}.{hint}"
    )


def _plain_path(sentence: str) -> list[str]:
    """Return the steps of a sentence such as "animal › bird" or "Animal > bird"."""
    return [" ".join(step.split()).casefold() for step in re.split("[›>]", sentence)]

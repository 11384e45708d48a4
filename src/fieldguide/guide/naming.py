"""How kinds are written for people: "Cardinal" for a folder "017.Cardinal".

The name of a folder or label stays what a kind is known by, in JSON, in CSV and in models. Where
people read it, underscores are spaces, and the number that puts folders in order is left out: one
with a point ("017.Cardinal") or leading zeros ("003_ash"), a number of WordNet
("n02085620-Chihuahua"), or any if most kinds have one. "7 spotted ladybird" keeps its 7.

No two kinds are written alike: those that would be keep their number, or else their whole name.
"""

import re
from collections import Counter
from collections.abc import Sequence

from fieldguide._languages import say

LIKE = "like "  # begins the name of a branch that no word and no list of kinds names
_CERTAIN = re.compile(r"(?:\d+\.|0\d*[\s_-]|n\d{8}[\s_.-])[\s_.-]*(?=[^\W\d_])")
_POSSIBLE = re.compile(r"\d+[\s_.-]+(?=[^\W\d_])")


def show_kinds(names: Sequence[str]) -> list[str]:
    """Return how each of some different names is written for people.

    Examples
    --------
    >>> show_kinds(["017.Cardinal", "018.Spotted_Catbird"])
    ['Cardinal', 'Spotted Catbird']
    >>> show_kinds(["cougar_face", "7_spotted_ladybird"])
    ['cougar face', '7 spotted ladybird']
    >>> show_kinds(["1.wren", "2.wren", "robin"])
    ['1.wren', '2.wren', 'robin']
    """
    n_numbered = sum(_POSSIBLE.match(name) is not None for name in names)
    number = _POSSIBLE if 2 * n_numbered > max(len(names), 2) else _CERTAIN
    # From the most readable form to the name itself, which no other kind has.
    forms = [(display_name(_cut(number, name)), display_name(name), name) for name in names]
    level = [0] * len(names)
    while True:
        shown = [forms[i][level[i]] for i in range(len(names))]
        counts = Counter(shown)
        alike = [i for i, name in enumerate(shown) if counts[name] > 1 and level[i] < 2]
        if not alike:
            return shown
        for i in alike:
            level[i] += 1


def display_name(name: str) -> str:
    """Return a name with spaces for underscores: ``"crocodile_head"`` is ``"crocodile head"``."""
    return " ".join(name.replace("_", " ").split()) or name


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does: ``"a, b and c"``."""
    if len(words) < 2:
        return "".join(words)
    return say("%(first)s and %(last)s", first=", ".join(words[:-1]), last=words[-1])


def either(words: Sequence[str]) -> str:
    """Join words of which one holds: ``"a, b or c"``."""
    if len(words) < 2:
        return "".join(words)
    return say("%(first)s or %(last)s", first=", ".join(words[:-1]), last=words[-1])


def _cut(number: re.Pattern[str], name: str) -> str:
    found = number.match(name)
    return name[found.end() :] if found else name

"""Whether two spellings are of one word: case and accents, plural and singular, a slip of the pen.

Distances are those of Damerau and Levenshtein in their restricted form: letters put in, left out,
replaced, or two neighbours swapped, each for 1, and no letter touched twice.
"""

import re
import unicodedata

_IRREGULAR = {
    **{"mice": "mouse", "lice": "louse", "geese": "goose", "feet": "foot", "teeth": "tooth"},
    **{"men": "man", "women": "woman", "children": "child", "people": "person", "oxen": "ox"},
}
# Endings of the plural, and what stands in their place in the singular.
_ENDINGS = (
    *(("ies", "y"), ("ves", "f"), ("ves", "fe"), ("es", ""), ("s", "")),
    *(("ae", "a"), ("i", "us")),  # larvae, fungi
)
_NO_PLURAL = ("ss", "us", "is")  # glass, cactus, iris
_LEAST = 3  # letters of a plural


def plain(text: str) -> str:
    """Spell without case and accents, with one blank for each gap, hyphen and underscore.

    Examples
    --------
    >>> plain("Red-crested_Élan")
    'red crested elan'
    """
    letters = unicodedata.normalize("NFKD", text)
    folded = "".join(c for c in letters if not unicodedata.combining(c)).casefold()
    return re.sub(r"[\s_\-‐‑]+", " ", folded).strip() or folded


def split_words(text: str) -> tuple[str, ...]:
    """Return the single words of a plain spelling; numbers count as words."""
    return tuple(re.findall(r"[^\W_]+", text))


def singulars(word: str) -> frozenset[str]:
    """Return a plain word and all that it could be the plural of.

    Examples
    --------
    >>> sorted(singulars("leaves"))
    ['leaf', 'leafe', 'leav', 'leave', 'leaves']
    """
    found = {word, _IRREGULAR.get(word, word)}
    if len(word) >= _LEAST and not word.endswith(_NO_PLURAL):
        found |= {word[: -len(end)] + to for end, to in _ENDINGS if word.endswith(end)}
    return frozenset(found - {""})


def most_slips(text: str) -> int:
    """Return how many slips a spelling may have and still be read: none in a short one."""
    return 0 if len(text) < 4 else 1 if len(text) < 8 else 2


def count_slips(a: str, b: str, most: int) -> int:
    """Return the distance of two spellings, or ``most + 1`` where it is larger.

    Examples
    --------
    >>> count_slips("spoted", "spotted", 2), count_slips("barn", "bran", 2)
    (1, 1)
    """
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        row = [i]
        for j, other in enumerate(b, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most and min(last) > most:  # a swap may still go back two rows
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)

"""What a person asks for: "orange, spotted", "red -tail", "kind:wren", "IMG_0042".

Commas part terms; so do blanks where the words between them are no one name of the guide. A minus
or *not* before a term excludes it. Quotes hold a term together, and ``word:``, ``kind:``,
``file:`` and ``date:`` say what it is. A comma or a quote in a name stands between quotes; there,
a backslash stands before a quote or another backslash.
"""

import re
from dataclasses import dataclass

from fieldguide.errors import InvalidArgument

MOST_LETTERS = 500
MOST_WORDS = 40
_NOT = ("not", "-", "−")

_PIECE = re.compile(
    r"""(?P<part>[,;]) | (?P<minus>[-−]?) (?P<form>(?:word|kind|file|date):\s*)?
        (?: "(?P<quoted>(?:[^"\\]|\\.)*)" | (?P<bare>[^\s,;"]+) | (?P<stray>") )""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Piece:
    """What a query asks for between two commas or signs; its words may be one name or several."""

    words: tuple[str, ...]  # as they were typed
    form: str = ""  # "word", "kind", "file" or "date" where the query says so
    is_quoted: bool = False  # one term, whatever the guide knows
    excludes: bool = False  # the first of its terms


def parse_query(query: str) -> list[Piece]:
    """Part a query into pieces.

    Examples
    --------
    >>> [(piece.words, piece.excludes) for piece in parse_query("dark wing, red -tail not barred")]
    [(('dark', 'wing'), False), (('red',), False), (('tail',), True), (('barred',), True)]
    """
    if len(query) > MOST_LETTERS:
        raise InvalidArgument(
            f"A query may have {MOST_LETTERS} letters; this one has {len(query):,}: say less."
        )
    reader = _Reader()
    for found in _PIECE.finditer(query):
        form = (found["form"] or "").rstrip().rstrip(":").lower()
        if found["part"]:
            reader.close()
        elif found["quoted"] is not None:
            reader.begin(form, bool(found["minus"]))
            reader.add(re.sub(r"\\(.)", r"\1", found["quoted"], flags=re.DOTALL))
            reader.close(is_quoted=True)
        elif found["bare"]:
            is_not = not form and found["bare"].casefold() in _NOT
            if form or found["minus"] or is_not:
                reader.begin(form, bool(found["minus"]) or is_not)
            if not is_not:
                reader.add(found["bare"])
    reader.close()
    n_words = sum(len(piece.words) for piece in reader.pieces)
    if n_words > MOST_WORDS:
        raise InvalidArgument(
            f"A query may have {MOST_WORDS} words; this one has {n_words}: say less."
        )
    return reader.pieces


class _Reader:
    """The pieces read so far, and the one that is open."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self._words: list[str] = []
        self._form, self._excludes = "", False

    def begin(self, form: str, excludes: bool) -> None:
        """Begin a piece; a *not* just before it stays."""
        was_not = self._excludes and not self._words
        self.close()
        self._form, self._excludes = form, excludes or was_not

    def add(self, word: str) -> None:
        if word.strip():
            self._words.append(word)

    def close(self, is_quoted: bool = False) -> None:
        if self._words:
            words = tuple(self._words)
            self.pieces.append(Piece(words, self._form, is_quoted, self._excludes))
        self._words, self._form, self._excludes = [], "", False


def write_term(
    name: str, form: str = "", excludes: bool = False, *, is_quoted: bool = False
) -> str:
    """Write a name of the guide so that :func:`parse_query` reads it as one term.

    Examples
    --------
    >>> write_term("red cap"), write_term('12" disc', "word"), write_term("not shown")
    ('red cap', 'word:"12\\\\" disc"', '"not shown"')
    """
    words = name.split(" ")
    is_bare = all(re.fullmatch(r'[^\s,;"\\:\-−][^\s,;"\\:]*', word) for word in words)
    is_bare = is_bare and not {"not", "and", "&"}.intersection(word.casefold() for word in words)
    if not is_bare or ((form or excludes or is_quoted) and len(words) > 1):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        name = f'"{escaped}"'
    return f"{'-' if excludes else ''}{form}{':' if form else ''}{name}"

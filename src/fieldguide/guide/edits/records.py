"""An edit of the owner's: one line of the log, as a record.

::

    {"number": 3, "time": "2026-11-18T09:30:00+00:00", "verb": "kind",
     "target": {"specimen": "robin/07.jpg", "digest": "5f0c…"}, "value": "wren", "note": "tail up"}

========  ===========================  ==================================================
verb      target                       value
========  ===========================  ==================================================
kind      specimen                     what it is; empty: it has no kind
word      specimen                     a word that it shows, or ``not`` and the word
exclude   specimen
pin       specimen                     it comes first among the exemplars of its kind
reject    specimen                     it is no exemplar
right     specimen, image              nothing; ``said`` is the kind that the key named
wrong     specimen, image              what it is, where that is known; ``said`` as above
rename    branch, kind, word           the new name
hide      branch, word
merge     kind                         the kind that it is part of from now on
name      branch                       the name of the kind that its specimens are
teach     word                         nothing; ``yes`` and ``no`` are specimens that show the
                                       word and that do not
note      all of these, guide          the text
undo      none; ``undoes`` is a number
========  ===========================  ==================================================
"""

import unicodedata
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fieldguide.errors import EditError

MOST_LETTERS = 200  # of a name
MOST_IN_NOTE = 4000
GUIDE, SPECIMEN, IMAGE, BRANCH, KIND, WORD = "guide", "specimen", "image", "branch", "kind", "word"
FORMS = (GUIDE, SPECIMEN, IMAGE, BRANCH, KIND, WORD)
UNDO = "undo"


class Verb(NamedTuple):
    """What an edit may be about, and whether it takes a value."""

    forms: tuple[str, ...]
    value: str = "none"  # "none", "may" or "must"
    needs_build: bool = False  # whether the next build does more about it than the pages do


VERBS = {
    "kind": Verb((SPECIMEN,), "may", True),
    "word": Verb((SPECIMEN,), "must", True),
    "exclude": Verb((SPECIMEN,), needs_build=True),
    "pin": Verb((SPECIMEN,)),
    "reject": Verb((SPECIMEN,)),
    "right": Verb((SPECIMEN, IMAGE)),
    "wrong": Verb((SPECIMEN, IMAGE), "may"),
    "rename": Verb((BRANCH, KIND, WORD), "must"),
    "hide": Verb((BRANCH, WORD)),
    "merge": Verb((KIND,), "must", True),
    "name": Verb((BRANCH,), "must", True),
    "teach": Verb((WORD,), needs_build=True),
    "note": Verb((SPECIMEN, BRANCH, KIND, WORD, GUIDE), "must"),
}


@dataclass(frozen=True)
class Target:
    """What an edit is about, so that it is found again after a rebuild."""

    form: str  # one of FORMS
    name: str = ""  # path of a specimen, sentence of a branch, name of a kind, word or file
    digest: str = ""  # of a specimen's or an image's content
    count: int = 0  # of a branch: how many specimens it had
    specimens: tuple[str, ...] = ()  # of a branch: the beginnings of digests; see branches.py

    def to_plain(self) -> dict[str, Any]:
        """Return the target as the log has it: what it is first, and nothing that is empty."""
        rest = {"digest": self.digest, "count": self.count, "specimens": list(self.specimens)}
        return {self.form: self.name, **{name: value for name, value in rest.items() if value}}

    @classmethod
    def from_plain(cls, plain: Any) -> "Target":
        """Read a target of the log; EditError with what is wrong."""
        forms = [form for form in FORMS if isinstance(plain, dict) and form in plain]
        if len(forms) != 1 or not isinstance(plain[forms[0]], str):
            raise EditError(f"Its target must have one of {', '.join(FORMS)} with a name.")
        found = plain.get("specimens", [])
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise EditError("The specimens of its target must be a list of texts.")
        digest, count = plain.get("digest", ""), plain.get("count", 0)
        if not isinstance(digest, str) or type(count) is not int or count < 0:
            raise EditError("The digest of its target must be a text, and the count a number.")
        return cls(forms[0], plain[forms[0]], digest, count, tuple(found))


@dataclass(frozen=True)
class Edit:
    """One edit; number 0 and no time before it is in the log.

    Examples
    --------
    >>> edit = Edit("rename", Target("kind", "wren"), "Eurasian wren", number=3)
    >>> edit.to_plain()
    {'number': 3, 'verb': 'rename', 'target': {'kind': 'wren'}, 'value': 'Eurasian wren'}
    """

    verb: str
    target: Target | None = None
    value: str = ""
    note: str = ""  # why
    said: str = ""  # of right and wrong: the kind that the key named
    undoes: int | None = None
    yes: tuple[Target, ...] = ()  # of teach: specimens that show the word
    no: tuple[Target, ...] = ()  # of teach: specimens that do not
    number: int = 0
    time: str = ""

    def to_plain(self) -> dict[str, Any]:
        """Return the edit as values that JSON can hold, without what is empty."""
        plain = {
            "number": self.number,
            "time": self.time,
            "verb": self.verb,
            "target": None if self.target is None else self.target.to_plain(),
            "yes": [each.to_plain() for each in self.yes],
            "no": [each.to_plain() for each in self.no],
            "value": self.value,
            "said": self.said,
            "note": self.note,
            "undoes": self.undoes,
        }
        return {name: value for name, value in plain.items() if value}

    @classmethod
    def from_plain(cls, plain: Any) -> "Edit":
        """Read a line of the log or of a file to import; EditError with what is wrong."""
        if not isinstance(plain, dict):
            raise EditError("It must be a JSON object.")
        number, undoes = plain.get("number", 0), plain.get("undoes")
        if type(number) is not int or number < 0:
            raise EditError(f"Its number must be a whole number from 1 on; got {number!r}.")
        texts = {name: plain.get(name, "") for name in ("verb", "value", "note", "said", "time")}
        wrong = [name for name, text in texts.items() if not isinstance(text, str)]
        if wrong:
            raise EditError(f"Its {wrong[0]} must be a text; got {texts[wrong[0]]!r}.")
        if texts["verb"] == UNDO:
            if type(undoes) is not int or undoes < 1:
                raise EditError("Its undoes must be the number of the edit to undo.")
            return cls(number=number, undoes=undoes, **texts)
        if "target" not in plain:
            raise EditError("It has no target.")
        yes, no = (_read_examples(plain.get(side, []), side) for side in ("yes", "no"))
        target = Target.from_plain(plain["target"])
        return check_edit(cls(target=target, number=number, yes=yes, no=no, **texts))


def _read_examples(plain: Any, side: str) -> tuple[Target, ...]:
    if not isinstance(plain, list):
        raise EditError(f"Its {side} must be a list of specimens.")
    return tuple(Target.from_plain(each) for each in plain)


def needs_build(edit: Edit) -> bool:
    """Whether the next build does more about an edit than the pages do at once."""
    is_kind = edit.target is not None and edit.target.form == KIND
    return VERBS[edit.verb].needs_build or (edit.verb == "rename" and is_kind)


def check_edit(edit: Edit) -> Edit:
    """Return an edit with tidy texts; EditError where its verb, target or value cannot be."""
    verb = VERBS.get(edit.verb)
    if verb is None:
        raise EditError(f"There is no edit {edit.verb!r}; there are {', '.join([*VERBS, UNDO])}.")
    if edit.target is None or edit.target.form not in verb.forms:
        form = "missing target" if edit.target is None else edit.target.form
        raise EditError(f"{edit.verb!r} is about a {' or '.join(verb.forms)}, not about a {form}.")
    is_note = edit.verb == "note"
    tidy = replace(
        edit,
        value=tidy_text(edit.value, "value", MOST_IN_NOTE if is_note else MOST_LETTERS, is_note),
        note=tidy_text(edit.note, "note", MOST_IN_NOTE, True),
        said=tidy_text(edit.said, "said", MOST_LETTERS),
    )
    if verb.value == "must" and not tidy.value:
        raise EditError(f"{edit.verb!r} needs a value.")
    if verb.value == "none" and tidy.value:
        raise EditError(f"{edit.verb!r} takes no value; got {tidy.value!r}.")
    if edit.verb == "word" and not read_word(tidy.value)[0]:
        raise EditError("'word' needs a word after 'not'.")
    if edit.verb == "teach":
        return _check_lesson(tidy)
    if edit.yes or edit.no:
        raise EditError(f"{edit.verb!r} takes no pictures as examples; 'teach' does.")
    return tidy


def _check_lesson(edit: Edit) -> Edit:
    """Return an edit that teaches a word, with a tidy word and each picture once."""
    assert edit.target is not None
    word = tidy_text(edit.target.name, "word", MOST_LETTERS)
    if not word or not read_word(word)[1]:
        raise EditError(f"Teach a word that does not begin with 'not'; got {word!r}.")
    if any(each.form != SPECIMEN for each in (*edit.yes, *edit.no)):
        raise EditError("A word is taught by specimens alone.")
    if not edit.yes and not edit.no:
        raise EditError(f"Say which pictures show {word!r}, and which do not.")
    twice = sorted({each.name for each in edit.yes} & {each.name for each in edit.no})
    if twice:
        raise EditError(f"{twice[0]!r} is given as yes and as no; give it once.")
    yes, no = (tuple(dict.fromkeys(side)) for side in (edit.yes, edit.no))
    return replace(edit, target=replace(edit.target, name=word), yes=yes, no=no)


def tidy_text(text: str, what: str, most: int, has_lines: bool = False) -> str:
    """Return a text without surplus spaces; EditError if it is too long or has control signs."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip().split("\n")
    tidy = ("\n" if has_lines else " ").join(" ".join(line.split()) for line in lines)
    if len(tidy) > most:
        raise EditError(f"Its {what} has {len(tidy):,} letters; at most {most:,} are allowed.")
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in tidy if c != "\n"):
        raise EditError(f"Its {what} holds signs that cannot be shown; leave them out.")
    return tidy


def as_clause(error: EditError) -> str:
    """Return the sentence of an error, to follow a colon."""
    said = str(error).rstrip(".")
    return said[:1].lower() + said[1:]


def read_word(value: str) -> tuple[str, bool]:
    """Return the word of an edit, and whether it is shown.

    Examples
    --------
    >>> read_word("red"), read_word("not red")
    (('red', True), ('red', False))
    """
    is_shown = not (value == "not" or value.startswith("not "))
    return (value if is_shown else value[3:].strip()), is_shown

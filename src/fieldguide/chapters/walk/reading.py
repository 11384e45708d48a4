"""What a person or a program says in a walk, which question is meant, and what follows from it."""

import difflib
import re

import numpy as np

from fieldguide.chapters.walk.questions import Question, Questions
from fieldguide.chapters.walk.records import GivenAnswer, NextQuestion, WalkRecord
from fieldguide.chapters.walk.walking import Walk
from fieldguide.errors import FieldguideError
from fieldguide.guide.answer import NamedKind
from fieldguide.guide.spelling import plain

SAID: dict[str, bool | None] = {
    **dict.fromkeys(("y", "yes", "true", "+", "plus"), True),
    **dict.fromkeys(("n", "no", "false", "-", "−", "minus"), False),
    **dict.fromkeys(("?", "cannot tell", "unknown"), None),
}
N_NEXT = 10  # questions that a program is told
_COUPLET = re.compile(r"couplet (\d{1,6})")


def name_question(question: Question) -> str:
    """Return what a question is called: a character by its text, a couplet by its number."""
    return question.text if question.couplet is None else f"couplet {question.couplet.number}"


def name_answer(question: Question, said: bool | None) -> str:
    """Return an answer in words: yes and no, or the side of a couplet."""
    if said is None:
        return "cannot tell"
    return ("no", "yes")[said] if question.couplet is None else ("minus", "plus")[said]


def find_question(questions: Questions, name: str) -> int:
    """Return the question that is meant: by its number from 1 on, its text, or a part of it.

    A couplet is meant by its own number: ``couplet 3``.
    """
    wanted = plain(name)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(questions.questions):
        return int(wanted) - 1
    if (met := _COUPLET.fullmatch(wanted)) and 1 <= int(met[1]) <= len(questions.couplets):
        return questions.couplets[int(met[1]) - 1]
    texts = {plain(questions.questions[j].text): j for j in questions.characters}
    if wanted in texts:
        return texts[wanted]
    found = [j for text, j in texts.items() if wanted and wanted in text]
    if len(found) == 1:
        return found[0]
    near = found[:3] or [
        texts[text] for text in difflib.get_close_matches(wanted, sorted(texts), n=3, cutoff=0.5)
    ]
    hints = ", ".join(repr(questions.questions[j].text) for j in near)
    raise FieldguideError(
        f"No question of this guide is called {name!r}.{f' There is {hints}.' if hints else ''}"
    )


def read_answer(questions: Questions, text: str) -> tuple[int, bool | None]:
    """Return the question and the answer of a text such as ``winged=yes``."""
    name, _, said = text.rpartition("=")
    said = said.strip().casefold()
    if not name or said not in SAID:
        raise FieldguideError(
            f"{text!r} is no answer; write one as 'winged=yes', with yes, no or ? after the sign."
        )
    return find_question(questions, name), SAID[said]


def tell_walk(walk: Walk, seen: np.ndarray | None, *, by_couplets: bool) -> WalkRecord:
    """Return where a walk stands, for a program; ``seen`` is what a picture shows."""
    asked = walk.questions.questions
    among = walk.questions.couplets if by_couplets else walk.questions.characters
    return WalkRecord(
        kinds=tuple(NamedKind(*each) for each in walk.rank_kinds()),
        is_decided=walk.is_decided,
        answers=tuple(
            GivenAnswer(name_question(asked[j]), name_answer(asked[j], said))
            for j, said in walk.answers.items()
        ),
        next=tuple(
            NextQuestion(name_question(asked[j]), bits)
            for j, bits in walk.list_best(among)[:N_NEXT]
        ),
        seen=None if seen is None else tuple(asked[j].text for j in np.flatnonzero(seen)),
    )

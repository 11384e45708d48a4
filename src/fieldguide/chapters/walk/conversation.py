"""A walk in a terminal, line by line: a question, an answer, what is likely now."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fieldguide.chapters.walk.questions import Question, word_sides
from fieldguide.chapters.walk.reading import SAID, find_question, name_answer, name_question
from fieldguide.chapters.walk.walking import Walk
from fieldguide.errors import FieldguideError
from fieldguide.guide.naming import listed
from fieldguide.site.phrases import Spell, count, percent
from fieldguide.terminal.console import say

if TYPE_CHECKING:
    from fieldguide.guide import Guide

HELP = "Answer y, n or ? (cannot tell). Also: back, list, why, quit."
COUPLET_HELP = "Answer - or + for the side that it is more like, or ? (cannot tell)."
MOST_KINDS, MOST_NAMES, MOST_REASONS, MOST_LEFT = 5, 4, 5, 12
NOTHING_LEFT = "Nothing is left to ask that would tell more."
_COMMANDS = {"b": "back", "undo": "back", "l": "list", "w": "why", "q": "quit", "exit": "quit"}

# The next line of what a person types, without its end; None where there is no more.
ReadLine = Callable[[], str | None]


class Conversation:
    """One walk with a person who types.

    Parameters
    ----------
    guide : Guide
    walk : Walk
    seen : array of shape (n_characters,), optional
        What a picture shows, as the machine sees it; it is told, and weighs nothing.
    by_couplets : bool
        Whether to go by the couplets of the key.
    """

    def __init__(
        self,
        guide: "Guide",
        walk: Walk,
        *,
        seen: np.ndarray | None = None,
        by_couplets: bool = False,
    ) -> None:
        self.walk = walk
        self._guide = guide
        self._spell: Spell = guide.shown_name
        self._seen = seen
        self._by_couplets = by_couplets
        self._chosen: int | None = None  # a question that the person has asked for

    def hold(self, read_line: ReadLine) -> None:
        """Ask until a kind is likely enough, nothing is left to ask, or the person ends it."""
        self._begin()
        is_offered = False
        while True:
            is_offered = is_offered and self.walk.is_decided
            if self.walk.is_decided and not is_offered and self._chosen is None:
                is_offered = True
                first = self._name_kinds(self.walk.rank_kinds()[:1])
                say(f"Most likely: {first}. Go on to be surer? (y or n)")
                typed = _fold(read_line())
                if typed in ("n", "no", "quit", ""):
                    return
                if typed not in ("y", "yes"):
                    self._take(None, typed)
                continue
            asked = self._chosen
            if asked is None:
                asked = self.walk.next_question(by_couplets=self._by_couplets)
            if asked is None:
                say(NOTHING_LEFT)
                self._end(is_all_asked=True)
                return
            say("", *self._word_question(asked))
            typed = _fold(read_line())
            if typed == "quit":
                self._end(is_all_asked=False)
                return
            self._take(asked, typed)

    def _take(self, asked: int | None, typed: str) -> None:
        """Do what a person has typed at a question, or at an offer to end, where none is asked."""
        if typed in SAID and asked is not None:
            self.walk.answer(asked, SAID[typed])
            self._chosen = None
            say(f"   {self._word_likely()}")
        elif typed == "back":
            self._chosen = None
            say("   Taken back." if self.walk.undo() else "   There is no answer to take back.")
        elif typed == "list":
            say(*self._list_questions())
        elif typed == "why":
            say(*self._word_reasons(asked))
        elif typed:
            try:
                self._chosen = find_question(self.walk.questions, typed)
            except FieldguideError as error:
                say(f"   {error} {HELP}")
        else:
            say(f"   {HELP}")

    def _begin(self) -> None:
        questions = self.walk.questions
        asked = questions.couplets if self._by_couplets else questions.characters
        noun = "couplet" if self._by_couplets else "character"
        say(f"{count(len(questions.kinds), 'kind')}, {count(len(asked), noun)}.")
        say(COUPLET_HELP if self._by_couplets else HELP)
        if self._seen is not None:
            say("", f"The machine says: {self._word_likely()}")
            shown = [questions.questions[j].text for j in np.flatnonzero(self._seen)]
            if shown:
                say(f"It sees: {', '.join(shown)}. Answer any of these to correct it.")

    def _end(self, *, is_all_asked: bool) -> None:
        """Say which kinds remain."""
        ranked = self.walk.list_remaining()
        if not is_all_asked and not self.walk.answers:
            return
        if len(ranked) == 1:
            say(f"Most likely: {self._name_kinds(ranked)}.")
            return
        most = self._name_kinds(ranked[:MOST_LEFT])
        more = f" and {count(len(ranked) - MOST_LEFT, 'kind')} more"
        noun = "couplets" if self._by_couplets else "characters"
        why = f", which these {noun} do not tell apart" if is_all_asked else ""
        say(f"These remain{why}: {most}{more if len(ranked) > MOST_LEFT else ''}.")

    def _word_question(self, j: int) -> list[str]:
        question = self.walk.questions.questions[j]
        number = len(self.walk.answers) + (j not in self.walk.answers)
        before = ""
        if j in self.walk.answers:
            before = f" (you said {name_answer(question, self.walk.answers[j])})"
        elif self._seen is not None and j < len(self._seen):
            before = f" (the machine sees: {'yes' if self._seen[j] else 'no'})"
        if question.couplet is None:
            return [f"{number}. {ask(question)}{before}"]
        lines = [f"{number}. Couplet {question.couplet.number}: is it more like{before}"]
        sides = (question.couplet.minus, question.couplet.plus)
        told = word_sides(self._guide, question.couplet)
        for sign, side, words in zip("−+", sides, told, strict=True):
            lines.append(f"   {sign} {f'{words}: ' if words else ''}{self._name_side(side)}")
        return lines

    def _name_side(self, kinds: Sequence[str]) -> str:
        """Name the likeliest kinds of a side of a couplet."""
        ranked = [name for name, _ in self.walk.rank_kinds() if name in kinds]
        names = [self._spell(name) for name in ranked[:MOST_NAMES]]
        if len(ranked) > MOST_NAMES:
            names.append(f"{len(ranked) - MOST_NAMES} more")
        return listed(names) or "none of the kinds"

    def _list_questions(self) -> Iterable[str]:
        """Yield every question with what was said of it, or what it would tell; best first."""
        walk = self.walk
        gains = dict(walk.list_best(range(len(walk.questions.questions))))
        order = sorted(range(len(walk.questions.questions)), key=lambda j: -gains.get(j, 0.0))
        yield "Type the number of a question, or its words, to answer that one."
        for j in order:
            question = walk.questions.questions[j]
            if j in walk.answers:
                state = f"you said {name_answer(question, walk.answers[j])}"
            else:
                state = f"tells {gains[j]:.2f} bits" if j in gains else "tells nothing more"
            yield f"{j + 1:5}  {name_question(question):<32} {state}"

    def _word_reasons(self, asked: int | None) -> list[str]:
        """Say how a question parts the likeliest kinds, and which answers speak for the first."""
        walk = self.walk
        first, second = (walk.questions.kinds.index(name) for name, _ in walk.rank_kinds()[:2])
        names = [self._spell(walk.questions.kinds[k]) for k in (first, second)]
        lines = []
        if asked is not None and walk.questions.questions[asked].couplet is None:
            often = [percent(walk.shares[k, asked]) for k in (first, second)]
            text = walk.questions.questions[asked].text
            lines += [f"   {text}: {often[0]} of {names[0]}, {often[1]} of {names[1]}"]
        told = sorted(walk.weigh_answers(first), key=lambda each: -abs(each[1]))
        for j, bits in told[:MOST_REASONS]:
            said = name_answer(walk.questions.questions[j], walk.answers[j])
            name = name_question(walk.questions.questions[j])
            lines += [f"   {name}, {said}: speaks {'for' if bits > 0 else 'against'} {names[0]}"]
        return lines

    def _word_likely(self) -> str:
        n_more = len(self.walk.list_remaining()) - MOST_KINDS
        most = self._name_kinds(self.walk.rank_kinds()[:MOST_KINDS])
        return f"{most} and {count(n_more, 'kind')} more." if n_more > 0 else f"{most}."

    def _name_kinds(self, ranked: Sequence[tuple[str, float]]) -> str:
        return ", ".join(f"{self._spell(name)} {percent(p)}" for name, p in ranked)


def ask(question: Question) -> str:
    """Return a character as a question: "Winged?"."""
    return f"{question.text[:1].upper()}{question.text[1:]}?"


def read_terminal() -> str | None:
    """Return the next line of standard input; None at its end, or for Ctrl-C."""
    try:
        if sys.stdin.isatty():
            return input("> ")
        line = sys.stdin.readline()
    except (EOFError, KeyboardInterrupt):
        say("")
        return None
    if not line:
        return None
    say(f"> {line.strip()}")
    return line


def _fold(line: str | None) -> str:
    """Return what was typed without case and with one blank for each gap; "quit" at the end."""
    folded = "quit" if line is None else " ".join(line.split()).casefold()
    return _COMMANDS.get(folded, folded)

"""A walk: the answers so far, what they make likely, and what to ask next."""

from collections.abc import Iterable, Mapping

import numpy as np

from fieldguide.chapters.walk.belief import (
    ENOUGH,
    LEAST_GAIN,
    SAME_DIGITS,
    believe,
    expect_yes,
    from_levels,
    gain_bits,
)
from fieldguide.chapters.walk.questions import Questions

TEMPER = 0.5  # power of the machine's probabilities, where they are the start of a walk
LEAST_PRIOR = 0.02  # of the mean: what the machine rules out, a person may bring back
HELD = 0.95  # probability of the kinds that are said to remain


class Walk:
    """The answers to the questions of a guide, in the order in which they were given.

    Parameters
    ----------
    questions : Questions
    prior : array of shape (n_kinds,), optional
        How likely each kind is before the first answer, positive; all alike by default.
    """

    def __init__(self, questions: Questions, prior: np.ndarray | None = None) -> None:
        self.questions = questions
        self.answers: dict[int, bool | None] = {}
        self._yes = expect_yes(self.shares)
        self._prior = np.ones(len(questions.kinds)) if prior is None else prior
        self._before: list[dict[int, bool | None]] = []

    def answer(self, question: int, said: bool | None) -> None:
        """Take an answer, or change the one given before; None is "cannot tell"."""
        self._before.append(dict(self.answers))
        self.answers[question] = said

    def undo(self) -> bool:
        """Take the last answer back; False where there is none."""
        if not self._before:
            return False
        self.answers = self._before.pop()
        return True

    @property
    def belief(self) -> np.ndarray:
        """The probability of each kind, (n_kinds,)."""
        return believe(self._yes, self.answers, self._prior)

    @property
    def shares(self) -> np.ndarray:
        """The share of yes, (n_kinds, n_questions)."""
        return from_levels(self.questions.levels)

    @property
    def is_decided(self) -> bool:
        """Whether one kind is likely enough."""
        return bool(self.belief.max() >= ENOUGH)

    def list_best(self, among: Iterable[int]) -> list[tuple[int, float]]:
        """Return the questions that are worth asking, each with its gain, the largest first."""
        gains = gain_bits(self._yes, self.belief)
        best = [j for j in among if j not in self.answers and gains[j] >= LEAST_GAIN]
        best.sort(key=lambda j: (-round(float(gains[j]), SAME_DIGITS), j))
        return [(j, float(gains[j])) for j in best]

    def weigh_answers(self, kind: int) -> list[tuple[int, float]]:
        """Return how many bits each answer speaks for a kind against the mean of all kinds."""
        told = [
            (j, self._yes[:, j] if said else 1 - self._yes[:, j])
            for j, said in self.answers.items()
            if said is not None
        ]
        return [(j, float(np.log2(p[kind] / p.mean()))) for j, p in told]

    def rank_kinds(self) -> list[tuple[str, float]]:
        """Return every kind with its probability, the likeliest first."""
        belief = self.belief
        order = np.argsort(-belief, kind="stable")
        return [(self.questions.kinds[k], float(belief[k])) for k in order]

    def next_couplet(self) -> int | None:
        """Return the question of the couplet that the answers lead to; None at the end of a way.

        Where an answer is "cannot tell", the way goes on where more of the belief is.
        """
        first, ways = self.questions.couplets.start, self.questions.couplets
        number: int | None = 1 if ways else None
        while number is not None and first + number - 1 in self.answers:
            couplet = self.questions.questions[first + number - 1].couplet
            assert couplet is not None
            said = self.answers[first + number - 1]
            if said is None:
                said = self._weigh(couplet.plus) > self._weigh(couplet.minus)
            number = couplet.to_plus if said else couplet.to_minus
        is_asked = number is not None and first + number - 1 in ways
        return first + number - 1 if is_asked and number is not None else None

    def next_question(self, *, by_couplets: bool) -> int | None:
        """Return what to ask next; None where no question is worth it."""
        if by_couplets and (at := self.next_couplet()) is not None:
            return at
        asked = self.questions.couplets if by_couplets else self.questions.characters
        return next((j for j, _ in self.list_best(asked)), None)

    def list_remaining(self) -> list[tuple[str, float]]:
        """Return the fewest kinds that hold ``HELD`` of the belief, the likeliest first."""
        ranked = self.rank_kinds()
        held = np.cumsum([p for _, p in ranked])
        return ranked[: int(np.searchsorted(held, HELD)) + 1]

    def _weigh(self, kinds: Iterable[str]) -> float:
        belief = dict(self.rank_kinds())
        return sum(belief.get(kind, 0.0) for kind in kinds)


def temper(kinds: Iterable[str], probability: Mapping[str, float]) -> np.ndarray:
    """Return what the machine says as the start of a walk, (n_kinds,), of mean about 1.

    A picture is one observation, and a person sees more: its square root is taken, and no kind is
    ruled out. Kinds that the machine does not name share what is left.
    """
    kinds = list(kinds)
    unnamed = [kind for kind in kinds if kind not in probability]
    left = max(1 - sum(probability.values()), 0.0) / max(len(unnamed), 1)
    p = np.array([probability.get(kind, left) for kind in kinds]) ** TEMPER
    prior: np.ndarray = p / p.mean() + LEAST_PRIOR
    return prior

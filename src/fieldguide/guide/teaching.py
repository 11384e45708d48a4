"""Words that the owner teaches by a few pictures: a detector, and whether it holds on others.

    select     the quarter of the columns that vote best together (ConcertSelector)
    detect     a linear function of them and a sigmoid, p(x) (AttributeDetectors)
    cut        the score from which on a picture is said to show the word

The pictures that teach are half of one sort and half of the other; in the collection the word may
be rare, and a score above ½ would then be wrong more often than right. So the share π of pictures
that show it is estimated from the scores of all, and the cut is where as many are above it:

    max over π of  Σ_i log(π p_i / π₀ + (1 − π) (1 − p_i) / (1 − π₀))
                   + m (π₀ log π + (1 − π₀) log(1 − π))

| symbol | meaning |
|---|---|
| p_i | probability that specimen i shows the word, if a share π₀ did |
| π₀ | share of yes among the pictures that teach |
| m | 20, so many pictures are taken to have the share π₀: few do not say how few show it |

Whether the detector holds is found on the pictures themselves: a fifth of them is held out, the
rest teaches by all these steps, and the cut decides of those held out. Neighbours in the order of
files are held out together, for they are often alike. The detector holds if it is right of at
least three in four, the mean over both sorts, and if chance would do so well at most once in
a hundred (Fisher's exact test). ``benchmarks/run.py --only teach`` measures it.

Reference: M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to new a
priori probabilities", Neural Computation 14 (2002).
"""

from math import comb
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit, logit

from fieldguide._languages import say
from fieldguide._parallel import one_blas_thread
from fieldguide.describe import AttributeDetectors
from fieldguide.guide.edits.hand import Lesson

LEAST_RIGHT = 0.75  # of held-out pictures, the mean over both sorts
MOST_CHANCE = 0.01
_LEAST_JUDGED = 5  # pictures of each sort: with 4, chance is right of all one time in 70
_N_FOLDS = 5
_COLUMNS = 4  # one column of so many is selected
_C = 0.1
_N_PRIOR = 20
_SAMPLE = 4096  # specimens by which the share is estimated, and rows scored at once
_MOST_STEPS, _CLOSE = 1000, 1e-7
_EDGE = 1e-6


class Reliability(NamedTuple):
    """How often a taught word is right of pictures that did not teach it.

    Examples
    --------
    >>> told = Reliability(n_yes=10, n_no=10, right_yes=9, right_no=8)
    >>> told.is_judged, told.chance < 0.01
    (True, True)
    """

    n_yes: int  # pictures that show the word, as the owner says
    n_no: int
    right_yes: int = 0  # of those, told rightly when they were held out
    right_no: int = 0

    @property
    def is_judged(self) -> bool:
        """Whether there are pictures enough to hold some out."""
        return min(self.n_yes, self.n_no) >= _LEAST_JUDGED

    @property
    def chance(self) -> float:
        """How probable it is that guessing as often does as well (Fisher's exact test)."""
        said = self.right_yes + self.n_no - self.right_no
        ways = range(self.right_yes, min(self.n_yes, said) + 1)
        as_good = sum(comb(self.n_yes, k) * comb(self.n_no, said - k) for k in ways)
        return as_good / comb(self.n_yes + self.n_no, said)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of the shares told rightly of both sorts."""
        return (self.right_yes / max(self.n_yes, 1) + self.right_no / max(self.n_no, 1)) / 2

    @property
    def holds(self) -> bool:
        """Whether the word is said of other pictures."""
        return (
            self.is_judged and self.balanced_accuracy >= LEAST_RIGHT and self.chance <= MOST_CHANCE
        )

    def to_plain(self) -> dict[str, Any]:
        """Return the counts, and whether the word holds, as values that JSON can hold."""
        return {**self._asdict(), "holds": self.holds}

    def tell(self) -> str:
        """Return one sentence on whether the word is said of other pictures, and why.

        Examples
        --------
        >>> Reliability(10, 10, 9, 8).tell()  # doctest: +NORMALIZE_WHITESPACE
        'Held out in turn, 9 of the 10 pictures that show it and 8 of the 10 that do not were told
        rightly: it is said of other pictures too.'
        """
        if not self.is_judged:
            return say(
                "It is taught by %(yes)s that show it and %(no)s that do not, too few to hold some "
                "out, so it is said of no other picture: give at least %(least)s of each, better "
                "ten.",
                yes=self.n_yes,
                no=self.n_no,
                least=_LEAST_JUDGED,
            )
        values = {
            "right_yes": self.right_yes,
            "yes": self.n_yes,
            "right_no": self.right_no,
            "no": self.n_no,
        }
        if self.holds:
            return say(
                "Held out in turn, %(right_yes)s of the %(yes)s pictures that show it and "
                "%(right_no)s of the %(no)s that do not were told rightly: it is said of other "
                "pictures too.",
                **values,
            )
        return say(
            "Held out in turn, %(right_yes)s of the %(yes)s pictures that show it and "
            "%(right_no)s of the %(no)s that do not were told rightly: too few to say it of other "
            "pictures; teach it with more.",
            **values,
        )


class Detector(NamedTuple):
    """What tells whether a row shows a taught word."""

    columns: np.ndarray  # of the rows
    scale: np.float32
    detectors: AttributeDetectors
    shift: float = 0.0  # of the log odds, so that the cut is at ½

    @classmethod
    def train(cls, X: np.ndarray, lesson: Lesson, sample: np.ndarray) -> Self:
        """Return the detector that the rows of a lesson teach, with the cut of a sample of all."""
        from fieldguide.select import ConcertSelector  # loads much that opening a guide does not

        rows = [*lesson.yes, *lesson.no]
        taught, is_shown = np.asarray(X[rows]), np.arange(len(rows)) < len(lesson.yes)
        selector = ConcertSelector(k=max(X.shape[1] // _COLUMNS, 1), p1=2.0)
        columns = np.flatnonzero(selector.fit(taught, is_shown).get_support())
        lengths = np.square(taught[:, columns], dtype=np.float64).sum(axis=1)
        scale = np.float32(1 / np.sqrt(max(lengths.mean(), _EDGE)))
        detectors = AttributeDetectors(C=_C, min_rows=1).fit(
            scale * taught[:, columns], is_shown[:, None].astype(float)
        )
        detector = cls(columns, scale, detectors)
        p = detector.score(sample)
        share = estimate_share(p, float(is_shown.mean()), _N_PRIOR)
        cut = np.clip(np.quantile(p, 1 - share), 0.5, 1 - _EDGE)
        return detector._replace(shift=float(logit(cut)))

    def score(self, X: np.ndarray) -> np.ndarray:
        """Return how far each row shows the word, (n,) in [0, 1]: it does from ½ on."""
        scores = np.empty(len(X))
        for start in range(0, len(X), _SAMPLE):
            part = slice(start, start + _SAMPLE)
            rows = self.scale * np.asarray(X[part])[:, self.columns]
            p = self.detectors.predict_proba(rows)[:, 0]
            scores[part] = expit(logit(np.clip(p, _EDGE, 1 - _EDGE)) - self.shift)
        return scores


class TaughtWord(NamedTuple):
    """A word that the owner taught, and what came of it.

    Examples
    --------
    >>> few = Reliability(n_yes=1, n_no=1)
    >>> taught = TaughtWord(Lesson(yes=(0,), no=(1,)), few, None, np.array([1.0, 0.0]))
    >>> taught.score(np.zeros((1, 4)))  # too few pictures taught it
    0.0
    """

    lesson: Lesson
    reliability: Reliability
    detector: Detector | None  # None where it does not hold
    scores: np.ndarray  # (n_specimens,): from ½ on a specimen shows it

    def score(self, row: np.ndarray) -> float:
        """Return how far a new picture shows the word; 0 where the word does not hold.

        Parameters
        ----------
        row : ndarray of shape (1, n_columns)
        """
        return 0.0 if self.detector is None else float(self.detector.score(row)[0])


def learn_word(X: np.ndarray, lesson: Lesson) -> TaughtWord:
    """Learn a word from the rows of a few specimens, and say which others show it.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
        The rows of all specimens, of length 1.
    lesson : Lesson
    """
    sample = X
    if len(X) > _SAMPLE:
        sample = X[np.sort(np.random.default_rng(0).permutation(len(X))[:_SAMPLE])]
    scores, detector = np.zeros(len(X)), None
    with one_blas_thread():  # another number of threads may sum in another order
        reliability = judge_lesson(X, lesson, sample)
        if reliability.holds:
            detector = Detector.train(X, lesson, sample)
            scores = detector.score(X)
    scores[list(lesson.yes)], scores[list(lesson.no)] = 1.0, 0.0
    return TaughtWord(lesson, reliability, detector, scores)


def judge_lesson(X: np.ndarray, lesson: Lesson, sample: np.ndarray) -> Reliability:
    """Return how many pictures of a lesson are told rightly by what the others teach."""
    reliability = Reliability(len(lesson.yes), len(lesson.no))
    if not reliability.is_judged:
        return reliability
    n_folds = min(_N_FOLDS, *map(len, lesson))
    parts = [[tuple(part.tolist()) for part in np.array_split(s, n_folds)] for s in lesson]
    right = [0, 0]
    for held_out in zip(*parts, strict=True):
        out = {*held_out[0], *held_out[1]}
        rest = Lesson(*(tuple(i for i in side if i not in out) for side in lesson))
        detector = Detector.train(X, rest, sample)
        for side, rows in enumerate(held_out):
            is_shown = detector.score(np.asarray(X[list(rows)])) >= 0.5
            right[side] += int((is_shown == (side == 0)).sum())
    return reliability._replace(right_yes=right[0], right_no=right[1])


def estimate_share(p: np.ndarray, share: float, n_prior: int = 0) -> float:
    """Return the share of rows that show a word, by expectation and maximisation.

    Parameters
    ----------
    p : ndarray of shape (n,)
        How probable it is that each row shows it, if a share ``share`` of them did.
    share : float
    n_prior : int
        So many more rows are taken to have the share ``share``.

    Examples
    --------
    >>> p = np.array([0.99] * 10 + [0.01] * 90)
    >>> round(estimate_share(p, 0.5), 2)
    0.09
    """
    p = np.clip(p, _EDGE, 1 - _EDGE)
    odds, found = p / (1 - p) * (1 - share) / share, share
    for _ in range(_MOST_STEPS):
        yes = found * odds
        n_yes = float((yes / (yes + 1 - found)).sum())
        new = (n_yes + n_prior * share) / (len(p) + n_prior)
        if abs(new - found) < _CLOSE:
            return new
        found = new
    return found

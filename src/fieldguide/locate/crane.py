"""CRANE: a region of a positive clip is the worse, the more negatives have it as a near neighbour.

Every negative region n_j speaks against its nearest regions of positive clips, and only those:

    penalty(x) = 1/n [ Σ_j 1[|x − n_j| ≤ r_j] · f(|x − n_j|)  +  f(min_j |x − n_j|) ],
    f(d) = (1 − d / ρ)₊,

r_j is the distance of n_j to the ``n_nearest``-th nearest region of the positive training clips,
and ρ is ``cutoff`` times the median of r_j. The object is what no negative comes near to. The paper
takes the one nearest region (``n_nearest=1``) and ranks the regions of the clips it was given; this
f is our choice of a cut-off. For new regions the rule is the same: n_j speaks against x if x would
be among its nearest. The last term is ours: most regions are nobody's nearest, and those are told
apart by the distance to their own nearest negative. ``own_nearest=False`` leaves it out: with
``n_nearest=1`` this is the penalty as the paper prints it.

A score is (τ − penalty) in standard deviations of the positive regions' penalties. τ is what tells
the regions of positive training clips from those of negative ones best; a negative clip's own
regions do not speak of it. The paper has no τ: it ranks. So a clip is predicted positive as soon as
one region is below τ; ``decision_function`` is the better guide to a whole clip.

Reference: K. Tang, R. Sukthankar, J. Yagnik, L. Fei-Fei, "Discriminative segment annotation in
weakly labeled video", CVPR (2013).
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from fieldguide._check import check_choice, check_number
from fieldguide._parallel import map_in_order
from fieldguide._saving import Array, Items, Number, Part
from fieldguide.errors import InvalidArgument
from fieldguide.locate.bags import BagClassifier, Bags

METRICS = ("hellinger", "euclidean")
_BLOCK = 1024  # negatives whose distances are held at a time


class Exemplars(NamedTuple):
    """What one function keeps: negatives, how far each reaches, and the scale of scores."""

    rows: np.ndarray  # (n_negative, n_features)
    reach: np.ndarray  # (n_negative,): r
    radius: float  # ρ
    threshold: float  # τ
    scale: float


class CRANE(BagClassifier):
    """Concept ranking according to negative exemplars.

    Parameters
    ----------
    n_nearest : int
        Number of regions of positive bags, the nearest ones, that each negative region counts
        against; 1 in the paper.
    cutoff : float
        A negative region counts against none that is farther away than this many times the median
        distance of negative regions to their nearest positive ones.
    own_nearest : bool
        Whether the negative region nearest to a region counts against it too; the penalty of the
        paper is without.
    metric : {"hellinger", "euclidean"}
        The first is the distance of the roots, for histograms.
    n_jobs : int, optional
        Threads, one function each; the answer does not depend on it.

    Attributes
    ----------
    classes_ : ndarray
    exemplars_ : list of Exemplars
        One for two classes, else one for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.locate import CRANE
    >>> wing, sky, leaf = np.eye(3)
    >>> bags = [[wing, sky], [sky, wing, leaf], [sky, leaf], [leaf, sky]]
    >>> model = CRANE(n_nearest=2).fit(bags, [1, 1, -1, -1])
    >>> leaf_score, wing_score = model.instance_scores([[leaf, wing]])[0]
    >>> bool(wing_score > leaf_score)
    True
    """

    _newer: ClassVar[tuple[str, ...]] = ("own_nearest",)
    _fitted: ClassVar = {
        "exemplars_": Items(
            Part(
                Exemplars,
                {
                    "rows": Array("float64", "n_negative", "n_features"),
                    "reach": Array("float64", "n_negative", low=0),
                    "radius": Number(above=0),
                    "threshold": Number(),
                    "scale": Number(above=0),
                },
            )
        )
    }

    def __init__(
        self,
        n_nearest: int = 5,
        *,
        cutoff: float = 2.0,
        own_nearest: bool = True,
        metric: str = "hellinger",
        n_jobs: int | None = None,
    ) -> None:
        self.n_nearest = n_nearest
        self.cutoff = cutoff
        self.own_nearest = own_nearest
        self.metric = metric
        self.n_jobs = n_jobs

    def _train(self, data: Bags, index: np.ndarray) -> None:
        rows = self._map(data.X)
        bag = np.repeat(np.arange(len(index)), np.diff(data.start))

        def answer(k: int) -> Exemplars:
            is_positive = index[bag] == k
            return rank_regions(
                rows[is_positive],
                rows[~is_positive],
                bag[~is_positive],
                self.n_nearest,
                self.cutoff,
                own_nearest=self.own_nearest,
            )

        self.exemplars_ = list(map_in_order(answer, self._questions(), n_jobs=self.n_jobs))

    def _score(self, X: Any) -> np.ndarray:
        rows = self._map(X)
        columns = []
        for kept in self.exemplars_:
            found = penalties(
                rows, kept.rows, kept.reach, kept.radius, own_nearest=self.own_nearest
            )
            columns.append((kept.threshold - found) / kept.scale)
        return np.stack(columns, axis=1)

    def _count_functions(self) -> int:
        return len(self.exemplars_)

    def _map(self, X: Any) -> np.ndarray:
        rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        if self.metric == "euclidean":
            return rows
        if rows.min(initial=0) < 0:
            raise InvalidArgument(
                f"bags of CRANE with the metric 'hellinger' must not be negative (least "
                f"{rows.min():g}); clip them, or use the metric 'euclidean'."
            )
        return np.sqrt(rows)

    def _check_arguments(self) -> None:
        check_number("CRANE", "n_nearest", self.n_nearest, 1, 1_000_000, integer=True)
        check_number("CRANE", "cutoff", self.cutoff, 1e-6, 1e6)
        check_choice("CRANE", "own_nearest", self.own_nearest, (True, False))
        check_choice("CRANE", "metric", self.metric, METRICS)


def rank_regions(
    positive: np.ndarray,
    negative: np.ndarray,
    negative_bag: np.ndarray,
    n_nearest: int,
    cutoff: float,
    *,
    own_nearest: bool = True,
) -> Exemplars:
    """Return the exemplars of one function, from rows of regions and the bag of each negative."""
    k = min(n_nearest, len(positive)) - 1
    reach = np.empty(len(negative))
    for start in range(0, len(negative), _BLOCK):
        part = slice(start, start + _BLOCK)
        reach[part] = np.partition(distances(negative[part], positive), k, axis=1)[:, k]
    radius = max(cutoff * float(np.median(reach)), 1e-12)
    for_positive, for_negative = (
        penalties(rows, negative, reach, radius, own, own_nearest=own_nearest)
        for rows, own in ((positive, None), (negative, negative_bag))
    )
    threshold = split_best(for_positive, for_negative)
    scale = float(for_positive.std())
    return Exemplars(negative, reach, radius, threshold, scale if scale > 1e-12 else 1.0)


def penalties(
    rows: np.ndarray,
    negative: np.ndarray,
    reach: np.ndarray,
    radius: float,
    own: np.ndarray | None = None,
    *,
    own_nearest: bool = True,
) -> np.ndarray:
    """Return the penalty of each row, (n,), with or without its last term.

    Where ``own`` holds the bag of each negative, the rows are the negatives, and those of a row's
    own bag do not speak.
    """
    total, heard = np.zeros(len(rows)), np.zeros(len(rows))
    nearest = np.full(len(rows), np.inf)
    for start in range(0, len(negative), _BLOCK):
        part = slice(start, start + _BLOCK)
        d = distances(negative[part], rows)
        # A training region at exactly r_j is among the nearest, whatever the order of its sums.
        speaks = d <= reach[part, None] + 1e-7
        if own is None:
            heard += len(d)
        else:
            is_other = own[part, None] != own
            speaks &= is_other
            heard += is_other.sum(axis=0)
            d = np.where(is_other, d, np.inf)
        nearest = np.minimum(nearest, d.min(axis=0))
        total += np.where(speaks, np.maximum(1 - d / radius, 0), 0).sum(axis=0)
    if own_nearest:
        total += np.maximum(1 - nearest / radius, 0)
    return total / np.maximum(heard, 1)


def split_best(positive: np.ndarray, negative: np.ndarray) -> float:
    """Return the threshold with most positives below and negatives not, in equal parts.

    It lies half-way between two values; of equally good ones the smallest is taken.

    >>> import numpy as np
    >>> split_best(np.array([1.0, 2.0, 6.0]), np.array([4.0, 7.0]))
    3.0
    """
    values = np.unique(np.concatenate([positive, negative]))
    cuts = np.append((values[:-1] + values[1:]) / 2, values[-1] + max(values[-1], 1e-12) * 0.5)
    right = (positive[:, None] < cuts).mean(axis=0) + (negative[:, None] >= cuts).mean(axis=0)
    return float(cuts[right.argmax()])


def distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the distance of each row of A and B, (n, m)."""
    squares = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)
    distance: np.ndarray = np.sqrt(np.maximum(squares - 2 * (A @ B.T), 0))
    return distance

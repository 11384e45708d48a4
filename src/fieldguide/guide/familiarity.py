"""Whether a picture is of anything that a guide knows.

How familiar a picture is has two parts, both of likenesses (the cosine of two rows):

    familiarity(x) = near(x) + near_k(x) − usual_k

==========  =======================================================================================
near(x)     mean likeness to its three nearest specimens
k           the kind that the key names
near_k(x)   mean likeness to its three nearest specimens of that kind
usual_k     what near_k is of that kind's own specimens: the pictures of some kinds are all alike
            and those of others are not, so that what is near for the one is far for the other
==========  =======================================================================================

Every specimen has such a number too, with itself left out, and copies of it (a burst of one scene
is no proof that the next scene will be as alike), and for the kind that the key names when it is
held out. A picture that is less familiar than 97 % of the specimens is none of the kinds of the
guide, or of one that looks quite unlike its specimens. Where no specimen can be held out, the first
part is all there is.

A picture may also show nothing: no subject stands out in it. How far one does is the confidence of
the finder of subjects, and a picture with less of it than 99 % of the specimens is taken for empty.

Figures, beside what the key itself knows: ``benchmarks/problems/unknown.py``, ``docs/keys.md``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fieldguide._parallel import one_blas_thread
from fieldguide.guide.summaries import group_kinds

N_NEAREST = 3
ALARMS = 0.03  # share of the specimens that would be strangers to the others
COPY = 0.985  # likeness from which on two pictures are copies
LEAST = 20  # specimens, to say what is usual
MOST_ASKED = 32_768  # specimens that say what is usual; of more, so many evenly drawn
FOR_USUAL = 5  # specimens that what is usual in all kinds counts for, in each kind
MOST_OF_KIND = 400  # specimens that a picture is compared with
_BLOCK = 8192  # specimens whose rows are in memory at a time
EMPTY, LEAST_EMPTY = 0.01, 100  # share of the specimens with less of a subject; how many it takes


class Familiarity(NamedTuple):
    """How familiar a picture of a guide's kinds is at least, and what it takes to measure it."""

    least: float
    members: dict[str, np.ndarray]  # of each kind, the specimens that pictures are compared with
    usual: dict[str, float]  # of each kind, the likeness of its specimens to their nearest

    def measure(
        self, row: np.ndarray, known: np.ndarray, nearest: np.ndarray, kind: str | None
    ) -> float:
        """Return how familiar a row, (1, n_columns), is.

        ``known`` are the rows of the specimens, ``nearest`` those nearest to it, and ``kind`` is
        what the key names it.
        """
        near = float(measure_nearest(row @ np.asarray(known[nearest]).T)[0])
        if kind not in self.members:
            return near
        own = float(measure_nearest(row @ np.asarray(known[self.members[kind]]).T)[0])
        return near + own - self.usual[kind]

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return arrays and values that JSON can hold."""
        kinds = list(self.members)
        sizes = [len(self.members[kind]) for kind in kinds]
        arrays = {
            "members": np.concatenate([*self.members.values(), np.empty(0, np.int32)]),
            "sizes": np.array(sizes, dtype=np.int32),
            "usual": np.array([self.usual[kind] for kind in kinds], dtype=np.float32),
        }
        return arrays, {"least": self.least, "kinds": kinds}

    @classmethod
    def from_state(
        cls, arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any], n_specimens: int
    ) -> "Familiarity":
        """Return what :meth:`to_state` wrote of a guide of so many specimens; ValueError if not."""
        kinds, sizes, usual = settings["kinds"], arrays["sizes"], arrays["usual"]
        if not len(kinds) == len(sizes) == len(usual) or sizes.sum() != len(arrays["members"]):
            raise ValueError("its parts do not belong together")
        if not ((arrays["members"] >= 0) & (arrays["members"] < n_specimens)).all():
            raise ValueError("it is of other specimens")
        parts = np.split(arrays["members"], np.cumsum(sizes)[:-1]) if len(kinds) else []
        return cls(
            float(settings["least"]),
            dict(zip(kinds, parts, strict=True)),
            {kind: float(each) for kind, each in zip(kinds, usual, strict=True)},
        )


def measure_nearest(likeness: np.ndarray) -> np.ndarray:
    """Return the mean of the largest three of each row of likenesses, (n, n_specimens or k).

    A likeness of −inf does not count; NaN for a row without any other.
    """
    n = min(N_NEAREST, likeness.shape[1])
    largest = np.sort(np.partition(likeness, -n, axis=1)[:, -n:], axis=1).astype(np.float64)
    is_any = np.isfinite(largest)
    total, n_any = np.where(is_any, largest, 0).sum(axis=1), is_any.sum(axis=1)
    means = np.full(len(total), np.nan)
    np.divide(total, n_any, out=means, where=n_any > 0)
    return means


def learn_familiarity(
    X: np.ndarray, near: np.ndarray, kinds: Sequence[str | None], answers: Sequence[str | None]
) -> Familiarity | None:
    """Return how familiar a picture must be; None where there are too few specimens.

    ``near`` are the nearest specimens of each, (n, k), itself not among them; ``answers`` are what
    the key names each specimen when it is held out, None where it was not.
    """
    if len(X) < LEAST or near.shape[1] < N_NEAREST:
        return None
    asked = np.arange(0, len(X), -(-len(X) // MOST_ASKED))
    likeness = _measure_likeness(X, asked, near[asked])
    usual = np.where(likeness < COPY, likeness, -np.inf)
    has_others = np.isfinite(usual).sum(axis=1) >= N_NEAREST
    if has_others.sum() < LEAST:
        return None
    nearest = np.where(has_others, measure_nearest(usual), np.nan)
    members = {kind: _choose_some(ids) for kind, ids in group_kinds(kinds).items()}
    of_kind = _find_usual(X, asked, [kinds[i] for i in asked.tolist()], members)
    said = [answers[i] for i in asked.tolist()]
    own = _compare_with_kinds(X, asked, said, members)
    both = nearest + own - [of_kind.get(answer or "", np.nan) for answer in said]
    if np.isfinite(both).sum() < LEAST:
        return Familiarity(float(np.nanquantile(nearest, ALARMS)), {}, {})
    return Familiarity(float(np.nanquantile(both, ALARMS)), members, of_kind)


def find_least_subject(confidence: np.ndarray | None) -> float | None:
    """Return how sure the finder is of a subject at least; None where too little is known."""
    if confidence is None or len(confidence) < LEAST_EMPTY:
        return None
    return float(np.quantile(confidence, EMPTY))


def _choose_some(ids: Sequence[int]) -> np.ndarray:
    """Return all of some specimens, or of very many as many as are compared with."""
    step = -(-len(ids) // MOST_OF_KIND)
    return np.array(ids[::step], dtype=np.int32)


def _measure_likeness(X: np.ndarray, asked: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return how like some specimens are to those that are nearest to them, (len(asked), k)."""
    found = np.empty(near.shape)
    for start in range(0, len(asked), _BLOCK):
        part = slice(start, start + _BLOCK)
        rows = X[asked[part]]
        for j, column in enumerate(near[part].T):  # all at once would be k times the rows
            found[part, j] = np.einsum("ij,ij->i", rows, X[column])
    return found


def _find_usual(
    X: np.ndarray,
    asked: np.ndarray,
    kinds: Sequence[str | None],
    members: Mapping[str, np.ndarray],
) -> dict[str, float]:
    """Return the mean likeness of each kind's specimens to their nearest, drawn to that of all.

    Of the specimens that are ``asked``, of these ``kinds``.
    """
    own = _compare_with_kinds(X, asked, kinds, members)
    if not np.isfinite(own).any():
        return {}
    middle = float(np.nanmean(own))
    grouped, usual = group_kinds(kinds), {}
    for kind in members:
        some = own[np.array(grouped.get(kind, ()), dtype=np.int64)]
        some = some[np.isfinite(some)]
        usual[kind] = float((some.sum() + FOR_USUAL * middle) / (len(some) + FOR_USUAL))
    return usual


def _compare_with_kinds(
    X: np.ndarray,
    asked: np.ndarray,
    kinds: Sequence[str | None],
    members: Mapping[str, np.ndarray],
) -> np.ndarray:
    """Return how like the nearest of a kind some specimens are, themselves and copies left out.

    ``kinds`` says which kind that is of each that is ``asked``; NaN where there is none to compare
    with.
    """
    found = np.full(len(asked), np.nan)
    # Another number of threads may sum in another order.
    with one_blas_thread():
        for kind, places in group_kinds(kinds).items():
            if kind in members:
                likeness = X[asked[places]] @ X[members[kind]].T
                found[places] = measure_nearest(np.where(likeness < COPY, likeness, -np.inf))
    return found

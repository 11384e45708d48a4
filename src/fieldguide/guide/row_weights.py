"""How much one part of the rows counts: as much as names held-out specimens best.

What stands where tells pictures apart that people have aligned (portraits, plates, products), and
misleads where birds sit anywhere. How much the part that says so should count is therefore found
out for each collection, by its own labels: half of them train a key, the other half are named, and
then the other way round.
"""

from collections.abc import Sequence

import numpy as np

from fieldguide.guide.summaries import group_kinds, normalise_rows
from fieldguide.identify import OneVsAllClassifier

WEIGHTS = (0.5, 1.0, 1.5)
MOST_ROWS, LEAST_PER_KIND = 3000, 4


def reweigh(X: np.ndarray, part: slice, before: float, after: float) -> np.ndarray:
    """Return rows of length 1 in which a part counts ``after`` times as much as each other one.

    Examples
    --------
    >>> rows = normalise_rows(np.array([[3.0, 0.0, 1.5]]))
    >>> reweigh(rows, slice(2, 3), before=0.5, after=1.0).round(3)
    array([[0.707, 0.   , 0.707]], dtype=float32)
    """
    changed = np.array(X, dtype=np.float32)
    changed[:, part] *= np.float32(after / before)
    return normalise_rows(changed)


def choose_weight(X: np.ndarray, part: slice, before: float, y: np.ndarray, *, seed: int) -> float:
    """Return the weight of a part with which most rows are named rightly.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
        Rows of length 1.
    part : slice
        Its columns.
    before : float
        What the part counts in ``X``. It stays where there are fewer than two kinds.
    y : ndarray of shape (n,)
        Numbers of kinds, each of at least two rows (:func:`draw_labelled`).
    """
    from sklearn.model_selection import StratifiedKFold

    if len(np.unique(y)) < 2:
        return before
    folds = StratifiedKFold(2, shuffle=True, random_state=seed)

    def count_right(weight: float) -> int:
        own = reweigh(X, part, before, weight)
        right = 0
        for old, new in folds.split(own, y):
            key = OneVsAllClassifier(probability=False).fit(own[old], y[old])
            right += int((key.predict(own[new]) == y[new]).sum())
        return right

    return max(WEIGHTS, key=count_right)  # the first, and smallest, of equals


def draw_labelled(
    kinds: Sequence[str | None],
    seed: int,
    *,
    least: int = LEAST_PER_KIND,
    n_kinds: int | None = None,
    n_each: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return specimens of kinds with at least so many, and the numbers of their kinds.

    Of all such kinds or of ``n_kinds``, which are drawn; up to ``n_each`` specimens of each, by
    default as many of each as come to ``MOST_ROWS`` together.
    """
    rng = np.random.default_rng(seed)
    large = [np.array(own) for own in group_kinds(kinds).values() if len(own) >= least]
    if not large:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if n_kinds is not None:
        large = [large[k] for k in np.sort(rng.permutation(len(large))[:n_kinds])]
    each = n_each or max(least, MOST_ROWS // len(large))
    drawn = [np.sort(rng.permutation(own)[:each]) for own in large]
    y = np.repeat(np.arange(len(drawn)), [len(own) for own in drawn])
    return np.concatenate(drawn), y

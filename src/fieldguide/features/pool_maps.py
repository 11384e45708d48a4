"""Scores of any scale to [0, 1], column by column, without ever changing their order.

    value = ½ + ½ z / (1 + |z|),    z = (score − centre) / spread

with one spread below the centre and one above. The centre is the median of the scores that the
map was fitted on and the spreads are the distances to their quartiles, so that the three quartiles
become ¼, ½ and ¾ in every column: columns have about the same mean and deviation, as "Features in
Concert" assumes. The tails fall off as slowly as 1/|z|: a score far outside the fitted range
still gets a value of its own, where a sigmoid or a table of quantiles would round it to 0 or 1.

Weights that give the rows of a class and all other rows the same total make the median the
threshold at which both are wrong equally often, whatever the share of the class.
"""

from typing import NamedTuple

import numpy as np

_QUARTILES = (0.25, 0.5, 0.75)


class MonotoneMaps(NamedTuple):
    """A map for each of k columns; call :meth:`apply`."""

    centre: np.ndarray  # (k,)
    below: np.ndarray  # (k,) > 0, spread of scores under the centre
    above: np.ndarray  # (k,) > 0

    def apply(self, scores: np.ndarray) -> np.ndarray:
        """Return the values of scores (..., k), float32 in [0, 1]."""
        z = np.asarray(scores, dtype=np.float64) - self.centre
        z /= np.where(z < 0, self.below, self.above)
        values: np.ndarray = (0.5 + 0.5 * z / (1 + np.abs(z))).astype(np.float32)
        return values


def fit_maps(scores: np.ndarray, weight: np.ndarray | None = None) -> MonotoneMaps:
    """Return the maps of finite scores (n, k), with a weight for each row or for each score."""
    scores = np.asarray(scores, dtype=np.float64)
    weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
    if weight.ndim == 1:
        weight = np.broadcast_to(weight[:, None], scores.shape)
    columns = range(scores.shape[1])
    quartiles = [weighted_quantiles(scores[:, j], weight[:, j], _QUARTILES) for j in columns]
    low, centre, high = np.array(quartiles).reshape(-1, 3).T
    deviation = np.abs(scores - centre).mean(axis=0)
    # Where half of the scores are equal a quartile is the median; a constant column has no spread
    # at all, and any will do.
    smallest = 1e-6 * np.maximum(np.abs(centre), deviation)
    other = np.where(deviation > smallest, deviation, 1.0)
    below = np.where(centre - low > smallest, centre - low, other)
    above = np.where(high - centre > smallest, high - centre, other)
    return MonotoneMaps(centre, below, above)


def weighted_quantiles(
    values: np.ndarray, weight: np.ndarray, levels: tuple[float, ...]
) -> np.ndarray:
    """Return quantiles of values (n,); each value stands at the middle of its own weight.

    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), (0.5,))
    array([2.])
    """
    order = np.argsort(values, kind="stable")
    share = weight[order] / weight.sum()
    quantiles: np.ndarray = np.interp(levels, np.cumsum(share) - share / 2, values[order])
    return quantiles

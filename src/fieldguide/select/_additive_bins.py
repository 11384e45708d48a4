"""Compiled sums over the bins of histograms, each bin stored as its non-zero values, ascending.

Columns are given as ``starts`` (D + 1,), ``rows`` and ``values`` (non-zeros), as of a CSC matrix
whose columns are sorted by value. A weight of 0 in ``beta`` leaves a row out.
"""

from itertools import pairwise

import numpy as np

from fieldguide._arrays import Floats, Ints
from fieldguide._jit import inner_jit, jit

CHI2, INTERSECTION, LINEAR = 0, 1, 2


def sort_columns(starts: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """Sort the entries of each column by value, in place. O(non-zeros · log n)."""
    for low, high in pairwise(starts.tolist()):  # numpy: sorting takes seconds to compile
        order = np.argsort(values[low:high], kind="stable")
        values[low:high] = values[low:high][order]
        rows[low:high] = rows[low:high][order]


@jit
def price_bins(
    op: int, starts: Ints, rows: Ints, values: Floats, bins: Ints, beta: Floats, out: Floats
) -> None:
    """Write βᵀK_kβ of each bin. O(m) for m non-zeros with a weight, O(m²) for χ²."""
    x, c = np.empty(len(beta)), np.empty(len(beta))
    for place in range(len(bins)):
        low, high = starts[bins[place]], starts[bins[place] + 1]
        total = 0.0
        if op == LINEAR:
            for t in range(low, high):
                total += beta[rows[t]] * values[t]
            total *= total
        elif op == INTERSECTION:
            above = 0.0
            for t in range(high - 1, low - 1, -1):
                b = beta[rows[t]]
                total += values[t] * b * (b + 2.0 * above)
                above += b
        else:
            m = 0
            for t in range(low, high):
                b = beta[rows[t]]
                if b != 0.0:
                    x[m] = values[t]
                    c[m] = b * values[t]
                    total += b * c[m] + 4.0 * c[m] * _sum_ratios(c, x, m, x[m])
                    m += 1
        out[place] = total


@jit
def apply_bins(
    op: int, starts: Ints, rows: Ints, values: Floats, bins: Ints, beta: Floats, out: Floats
) -> None:
    """Write K_kβ, all n entries, of each bin. O(n) each, O(n m) for χ²."""
    x, c = np.empty(len(beta)), np.empty(len(beta))
    for place in range(len(bins)):
        low, high = starts[bins[place]], starts[bins[place] + 1]
        result = out[place]
        result[:] = 0.0
        if op == LINEAR:
            total = 0.0
            for t in range(low, high):
                total += beta[rows[t]] * values[t]
            for t in range(low, high):
                result[rows[t]] = values[t] * total
        elif op == INTERSECTION:
            above = 0.0
            for t in range(low, high):
                above += beta[rows[t]]
            below = 0.0
            for t in range(low, high):
                b = beta[rows[t]]
                above -= b
                below += b * values[t]
                result[rows[t]] = below + values[t] * above
        else:
            m = 0
            for t in range(low, high):
                b = beta[rows[t]]
                if b != 0.0:
                    x[m] = values[t]
                    c[m] = b * values[t]
                    m += 1
            for t in range(low, high):
                result[rows[t]] = 2.0 * values[t] * _sum_ratios(c, x, m, values[t])


@inner_jit(fastmath={"reassoc", "contract", "nsz", "arcp"})
def _sum_ratios(c: Floats, x: Floats, m: int, own: float) -> float:
    """Return Σ_j c_j / (own + x_j) over the first m, in any order of summing. O(m)."""
    total = 0.0
    for j in range(m):
        total += np.divide(c[j], own + x[j])
    return total

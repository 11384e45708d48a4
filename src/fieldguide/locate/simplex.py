"""The capped simplex of each bag: weights that sum to one, none above its cap.

    S_i = {s ≥ 0, Σ_k s_k = 1, s_k ≤ c_i},      c_i = max(cap, 1/m_i)

A bag of m_i regions with c_i = 1/m_i has one point alone, equal weights. Bags stand one after the
other in flat arrays; ``start`` holds where each begins, and the end.
"""

from typing import Any

import numpy as np

from fieldguide._jit import jit


def find_caps(start: np.ndarray, cap: float) -> np.ndarray:
    """Return the cap of each bag, (n_bags,)."""
    return np.maximum(cap, 1 / np.diff(start))


def project(values: Any, start: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """Return the nearest point of each bag's capped simplex.

    Examples
    --------
    >>> import numpy as np
    >>> project([3.0, 0.2, 0.0, 0.0], np.array([0, 4]), np.array([0.5]))
    array([0.5, 0.3, 0.1, 0.1])
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    out: np.ndarray = np.empty_like(values)
    _project(values, start, caps, out)
    return out


def least_values(gradient: np.ndarray, start: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """Return the least g·s over each bag's capped simplex, (n_bags,)."""
    out = np.empty(len(caps))
    _least_values(gradient, start, caps, out)
    return out


@jit
def _sum_clipped(v: np.ndarray, low: int, high: int, cap: float, shift: float) -> float:
    """Return Σ clip(v − shift, 0, cap) over one bag."""
    total = 0.0
    for k in range(low, high):
        total += min(max(v[k] - shift, 0.0), cap)
    return total


@jit
def _project(v: np.ndarray, start: np.ndarray, caps: np.ndarray, out: np.ndarray) -> None:
    """Write clip(v − τ, 0, cap) with τ such that each bag sums to 1. O(m log m) a bag."""
    for b in range(len(caps)):
        low, high, cap = start[b], start[b + 1], caps[b]
        m = high - low
        if cap * m <= 1.0 + 1e-12:
            out[low:high] = 1.0 / m
            continue
        # Σ clip(v − τ, 0, cap) falls from m·cap to 0 and is linear between these points.
        points = np.empty(2 * m)
        points[:m] = v[low:high]
        points[m:] = v[low:high] - cap
        points.sort()
        left, right = 0, 2 * m - 1
        while right - left > 1:
            middle = (left + right) // 2
            if _sum_clipped(v, low, high, cap, points[middle]) >= 1.0:
                left = middle
            else:
                right = middle
        above = _sum_clipped(v, low, high, cap, points[left])
        below = _sum_clipped(v, low, high, cap, points[right])
        tau = points[left]
        if above > below:
            tau += (above - 1.0) / (above - below) * (points[right] - points[left])
        for k in range(low, high):
            out[k] = min(max(v[k] - tau, 0.0), cap)


@jit
def _least_values(g: np.ndarray, start: np.ndarray, caps: np.ndarray, out: np.ndarray) -> None:
    """Fill each bag's least entries of g up to the cap. O(m log m) a bag."""
    for b in range(len(caps)):
        order = np.sort(g[start[b] : start[b + 1]])
        left, total = 1.0, 0.0
        for value in order:
            share = min(caps[b], left)
            total += share * value
            left -= share
            if left <= 0.0:
                break
        out[b] = total

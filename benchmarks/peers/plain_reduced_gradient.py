"""The reduced-gradient method of the paper on all bins at once, as SimpleMKL does it.

Every SVM starts from the last, and S_k is priced by our own compiled kernel, so that what is
compared is the method: no column generation, and steps of first order with a line search.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fieldguide.select.additive_pricing import Columns, plain_gram, weigh_rows
from fieldguide.svm import solve_kernel

TRIALS, MOST_TRIALS = 6, 40  # halvings of a step, and while nothing is gained


class Reached(NamedTuple):
    seconds: float
    objective: float
    gap: float
    n_svms: int


def descend(
    kernel: str,
    X: np.ndarray,
    columns: Columns,
    spreads: np.ndarray,
    y: np.ndarray,
    C: float,
    *,
    is_enough: Callable[[float, float], bool],
    limit_s: float,
) -> Reached:
    """Descend until ``is_enough(objective, relative gap)`` or the time is over."""
    started = time.process_time()
    bins = np.flatnonzero(np.isfinite(spreads))
    spread = spreads[bins]
    q = np.full(len(bins), 1 / len(bins))
    upper, n_svms = np.full(len(y), C), 0

    def solve(q, beta):
        nonlocal n_svms
        n_svms += 1
        used = np.flatnonzero(q)
        K = plain_gram(kernel, weigh_rows(kernel, X[:, bins[used]], q[used] / spread[used]))
        svm = solve_kernel(K, y, upper, beta0=beta, tol=1e-4)
        return svm.primal, svm.beta, columns.price(bins, svm.beta) / spread

    def is_late() -> bool:
        return time.process_time() - started > limit_s

    J, beta, prices = solve(q, None)
    while True:
        gap = 0.5 * (prices.max() - q @ prices) / J
        if is_enough(J, gap) or is_late():
            return Reached(time.process_time() - started, J, float(gap), n_svms)
        mu = int(q.argmax())
        step = 0.5 * (prices - prices[mu])
        step[(q <= 0) & (step < 0)] = 0
        step[mu] = 0
        step[mu] = -step.sum()
        has_moved = False
        # To the wall, and on with one bin less, as long as the objective falls.
        while (step < 0).any() and not is_late():
            falling = np.flatnonzero(step < 0)
            ratios = -q[falling] / step[falling]
            v = int(falling[ratios.argmin()])
            moved = np.maximum(q + ratios.min() * step, 0)
            moved[v] = 0
            trial = solve(moved / moved.sum(), beta)
            if trial[0] >= J * (1 - 1e-9):
                break
            q, (J, beta, prices), has_moved = moved / moved.sum(), trial, True
            if v == mu:
                step[:] = 0
            else:
                step[mu] += step[v]
                step[v] = 0
        falling = step < 0
        if not falling.any():
            continue
        low, high = 0.0, float((-q[falling] / step[falling]).min())
        best = None
        for k in range(MOST_TRIALS):
            if is_late() or (k >= TRIALS and best is not None and best[1] < J):
                break
            length = 0.5 * (low + high)
            moved = np.maximum(q + length * step, 0)
            trial = (moved / moved.sum(), *solve(moved / moved.sum(), beta))
            if best is None or trial[1] < best[1]:
                best = trial
            if -0.5 * trial[3] @ step > 0:
                high = length
            else:
                low = length
        if best is not None and best[1] < J:
            q, J, beta, prices = best
        elif not has_moved:
            return Reached(time.process_time() - started, J, float(gap), n_svms)

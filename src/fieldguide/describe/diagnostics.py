"""How far several chains agree: split R-hat and the effective sample size.

Reference: A. Gelman and others, "Bayesian Data Analysis", third edition, section 11.4-11.5.
"""

from typing import Any

import numpy as np


def r_hat(values: Any) -> float:
    """Return split R-hat of values (n_chains, n_draws); near 1 when the chains agree.

    NaN with fewer than four draws; 1 where nothing varies.
    """
    values = np.asarray(values, dtype=np.float64)
    half = values.shape[1] // 2
    if half < 2:
        return float("nan")
    parts = np.concatenate([values[:, :half], values[:, -half:]])
    within = parts.var(axis=1, ddof=1).mean()
    between = half * parts.mean(axis=1).var(ddof=1)
    if between == 0:
        return 1.0
    if within == 0:
        return float("inf")
    return float(np.sqrt((half - 1) / half + between / within / half))


def effective_sample_size(values: Any) -> float:
    """Return how many independent draws the values (n_chains, n_draws) are worth.

    Autocorrelations are summed in pairs while these are positive and fall.
    """
    values = np.asarray(values, dtype=np.float64)
    n_chains, n = values.shape
    if n < 4:
        return float("nan")
    centred = values - values.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=1)[:, :n] / n
    within = (covariance[:, 0] * n / (n - 1)).mean()
    between = values.mean(axis=1).var(ddof=1) if n_chains > 1 else 0.0
    total = within * (n - 1) / n + between
    if total == 0:
        return float(n_chains * n)
    correlation = 1 - (within - covariance.mean(axis=0) * n / (n - 1)) / total
    correlation[0] = 1.0
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    stop = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: stop[0]] if len(stop) else pairs)
    return float(n_chains * n / max(2 * pairs.sum() - 1, 1 / np.log10(n_chains * n)))

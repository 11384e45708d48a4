"""Peer: scikit-learn's LinearSVC (liblinear), stopped at the same quality as Fieldguide.

It is timed on a sample of the classes, one against the rest at a time. What a fit costs before
its first iteration (checks, a copy of the rows in liblinear's layout) is counted once for all
classes, as it would be in one fit of all of them.
"""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from fieldguide.svm import primal_value

TOLERANCES = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)


def fit(X: Any, sign: np.ndarray, **settings: Any) -> LinearSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearSVC(**{"max_iter": 100_000, **settings}).fit(X, sign)


def find_settings(
    X: Any, signs: list[np.ndarray], bounds: list[float], loss: str, tol: float
) -> dict[str, Any]:
    """Return the quickest settings whose objectives are all within ``tol`` of the bounds."""
    best, least = {}, np.inf
    for dual in (True, False) if loss == "squared_hinge" else (True,):
        for peer_tol in TOLERANCES:
            settings = {"loss": loss, "dual": dual, "tol": peer_tol}
            started = time.perf_counter()
            found = [fit(X, sign, **settings) for sign in signs]
            seconds = time.perf_counter() - started
            values = [
                primal_value(X, sign, svm.coef_[0], svm.intercept_[0], loss=loss)
                for sign, svm in zip(signs, found, strict=True)
            ]
            if all((v - b) / v <= tol for v, b in zip(values, bounds, strict=True)):
                if seconds < least:
                    best, least = settings, seconds
                break
    return best


def time_all(X: Any, signs: list[np.ndarray], n_classes: int, settings: dict[str, Any]) -> float:
    """Return the seconds that all classes would take, from those of a sample."""
    per_class, before = [], []
    for sign in signs:
        started = time.perf_counter()
        fit(X, sign, **settings)
        middle = time.perf_counter()
        fit(X, sign, **{**settings, "max_iter": 0})
        before.append(time.perf_counter() - middle)
        per_class.append(middle - started - before[-1])
    return float(np.mean(before) + n_classes * np.mean(per_class))

"""Peer: scikit-learn's SVC (libsvm) on a precomputed Gram matrix, one class against the rest."""

import numpy as np
from sklearn.svm import SVC

from fieldguide.svm.smo import judge


def fit(K: np.ndarray, is_class: np.ndarray, C: float, tol: float) -> SVC:
    return SVC(C=C, kernel="precomputed", tol=tol, cache_size=500).fit(K, is_class)


def find_tolerance(K: np.ndarray, is_class: np.ndarray, C: float, gap: float) -> float:
    """Return the loosest of 1e-1, 3e-2, 1e-2, … with which the peer reaches ``gap``."""
    y = np.where(is_class, 1.0, -1.0)
    for tol in (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5):
        trained = fit(K, is_class, C, tol)
        beta = np.zeros(len(y))
        beta[trained.support_] = trained.dual_coef_[0]
        errors = y - K.astype(np.float64) @ beta
        if judge(y, np.full(len(y), C), beta, errors)[1] <= gap:
            return tol
    return tol

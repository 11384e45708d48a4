"""The judge of linear SVMs: objectives and duality gap of any solution, whoever found it.

Values are computed from the rows in double precision and plain numpy; nothing is taken from a
solver but (w, b) and α. Any α that the dual allows bounds the optimum from below, so

    (P(w, b) − D(α)) / P(w, b)

is at least the share of P by which (w, b) misses the optimum. Symbols are those of
:mod:`fieldguide.svm.coordinate_descent`. Estimators warn of gaps that were left open.
"""

import warnings
from typing import Any

import numpy as np

from fieldguide.errors import FieldguideWarning
from fieldguide.svm.coordinate_descent import clip_alpha, relative_gap


def primal_value(
    X: Any,
    y: np.ndarray,
    w: np.ndarray,
    b: float,
    *,
    C: float = 1.0,
    loss: str = "hinge",
    sample_weight: np.ndarray | None = None,
    intercept_scaling: float = 1.0,
) -> float:
    """Return P(w, b); without an intercept (``intercept_scaling=0``) b must be 0.

    Parameters
    ----------
    X : rows of shape (n, n_features)
    y : array of shape (n,)
        -1 or +1.
    w : array of shape (n_features,)
    b : float
    C : float
        Weight of the training errors.
    loss : {"hinge", "squared_hinge"}
    sample_weight : array of shape (n,), optional
    intercept_scaling : float
        The intercept is the weight of a further column of this value; 0 leaves it out.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [0.5], [2.0]]), np.array([-1, 1, 1])
    >>> primal_value(X, y, np.array([1.0]), 0.0)  # 1/2 |w|² and a slack of 1/2
    1.0
    """
    w = np.asarray(w, dtype=np.float64)
    slack = np.maximum(0, 1 - y * (_times(X, w) + b))
    weight = np.ones(len(slack)) if sample_weight is None else sample_weight
    penalty = w @ w + ((b / intercept_scaling) ** 2 if intercept_scaling else 0.0)
    return float(penalty / 2 + C * (weight @ (slack**2 if loss == "squared_hinge" else slack)))


def dual_value(
    X: Any,
    y: np.ndarray,
    alpha: np.ndarray,
    *,
    C: float = 1.0,
    loss: str = "hinge",
    sample_weight: np.ndarray | None = None,
    intercept_scaling: float = 1.0,
) -> float:
    """Return D(α), with α first clipped to what the dual allows: a lower bound of every P.

    Parameters
    ----------
    X, y, C, loss, sample_weight, intercept_scaling
        As of :func:`primal_value`.
    alpha : array of shape (n,)
        Dual variables.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [1.0]]), np.array([-1, 1])
    >>> dual_value(X, y, np.array([0.5, 0.5]))
    0.5
    >>> primal_value(X, y, np.array([1.0]), 0.0)  # the same: both are optimal
    0.5
    """
    cost = C * (np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float))
    alpha = clip_alpha(alpha, cost, loss)
    signed = alpha * y
    w = _times(X.T, signed)
    value = alpha.sum() - (w @ w + (intercept_scaling * signed.sum()) ** 2) / 2
    if loss == "squared_hinge":
        used = alpha > 0
        value -= (alpha[used] ** 2 / (4 * cost[used])).sum()
    return float(value)


def judge(
    X: Any, y: np.ndarray, w: np.ndarray, b: float, alpha: np.ndarray, **problem: Any
) -> float:
    """Return the relative duality gap of (w, b) and α.

    Parameters
    ----------
    X, y, w, b
        As of :func:`primal_value`.
    alpha : array of shape (n,)
        Dual variables.
    problem
        Keywords of :func:`primal_value`.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [1.0]]), np.array([-1, 1])
    >>> judge(X, y, np.array([1.0]), 0.0, np.array([0.5, 0.5]))
    0.0
    >>> judge(X, y, np.array([2.0]), 0.0, np.array([0.5, 0.5]))  # P is 2, D is 1/2
    0.75
    """
    return relative_gap(primal_value(X, y, w, b, **problem), dual_value(X, y, alpha, **problem))


def _times(X: Any, v: np.ndarray) -> np.ndarray:
    """Return X v in double precision, dense or CSR."""
    return np.asarray(X.astype(np.float64) @ v).ravel()


def warn_open_gaps(owner: str, gaps: Any, tol: float, remedy: str) -> None:
    """Warn once if any relative duality gap is larger than ``tol``; solvers themselves never do.

    Parameters
    ----------
    owner : str
        The estimator whose ``fit`` calls this; the warning points at the caller of ``fit``.
    gaps : float or ndarray
        What each problem reached.
    tol : float
        What was asked for.
    remedy : str
        What to change, as the end of a sentence.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_open_gaps("OneVsAll", np.array([1e-4, 0.02]), 1e-3, "raise max_iter (now 10)")
    >>> print(caught[0].message)  # doctest: +NORMALIZE_WHITESPACE
    OneVsAll stopped at a relative duality gap of 0.02 where 0.001 was asked for (1 of 2 problems);
    raise max_iter (now 10).
    """
    gaps = np.atleast_1d(np.asarray(gaps, dtype=np.float64))
    is_open = ~(gaps <= tol)  # NaN is open
    if not is_open.any():
        return
    count = f" ({is_open.sum()} of {len(gaps)} problems)" if len(gaps) > 1 else ""
    warnings.warn(
        f"{owner} stopped at a relative duality gap of {gaps[is_open].max():.2g} where {tol:.2g} "
        f"was asked for{count}; {remedy}.",
        FieldguideWarning,
        stacklevel=3,
    )

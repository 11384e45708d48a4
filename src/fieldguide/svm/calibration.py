"""Margins to probabilities: a sigmoid fitted to margins that the function was not trained on.

    p(+1 | f) = 1 / (1 + exp(−(slope · f + offset)))

The slope and offset minimise the cross-entropy to the targets (N₊ + 1) / (N₊ + 2) for positives
and 1 / (N₋ + 2) for negatives, which keep the fit finite when a margin separates the classes. The
problem is convex; Newton's method with halved steps solves it. ``fit_offset=False`` keeps the sign
of the margin the more probable side. The slope is never negative: a margin that orders held-out
rows the wrong way round says nothing. :func:`fit_scale` does the same for the scores of several
classes, with a softmax and a single number.

Reference: H.-T. Lin, C.-J. Lin, R. Weng, "A note on Platt's probabilistic outputs for support
vector machines", Machine Learning 68 (2007).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from fieldguide.errors import InvalidArgument
from fieldguide.svm.c_path import N_FOLDS, ask_two_classes, hold_out
from fieldguide.svm.problems import Problems
from fieldguide.svm.shared_rows import check_signs, check_weights

_MAX_STEPS = 100
_MOST_ROWS = 32_768  # that one scale is fitted to
_RIDGE = 1e-12
_LOG_SCALE_RANGE = (-5.0, 7.0)


class SigmoidCalibration(NamedTuple):
    """A fitted sigmoid; call :meth:`probability`.

    Examples
    --------
    >>> SigmoidCalibration(slope=2.0, offset=0.0).probability([-1.0, 0.0, 1.0]).round(2)
    array([0.12, 0.5 , 0.88])
    """

    slope: float
    offset: float

    def probability(self, margins: Any) -> np.ndarray:
        """Return p(+1) of each margin."""
        probability: np.ndarray = expit(self.slope * np.asarray(margins) + self.offset)
        return probability


def calibrate(
    X: Any,
    sign: np.ndarray,
    *,
    C: float = 1.0,
    sample_weight: np.ndarray | None = None,
    n_folds: int = N_FOLDS,
    fit_offset: bool = True,
    n_jobs: int | None = None,
    seed: int = 0,
    **settings: Any,
) -> SigmoidCalibration:
    """Return the sigmoid of a linear SVM, fitted to its cross-validated margins.

    Parameters
    ----------
    X : rows of shape (n, n_features)
    sign : array of shape (n,)
        -1 or +1.
    C : float
        Weight of the training errors.
    sample_weight : array of shape (n,), optional
    n_folds : int
        Folds of the cross-validation.
    fit_offset : bool
        Whether the sigmoid may cross a half elsewhere than at a margin of 0.
    n_jobs : int, optional
        Threads.
    seed : int
        Of the folds.
    settings
        ``loss``, ``intercept_scaling``, ``tol``, ``max_iter`` of :class:`~fieldguide.svm.Problems`.

    Examples
    --------
    >>> sign = np.repeat([-1, 1], 20)
    >>> X = np.random.default_rng(0).normal(sign[:, None], 1.0, (40, 2))
    >>> sigmoid = calibrate(X, sign, fit_offset=False)
    >>> bool(sigmoid.probability(-1.0) < sigmoid.probability(0.0) < sigmoid.probability(1.0))
    True
    >>> float(sigmoid.probability(0.0))
    0.5
    """
    sign = check_signs(sign, len(sign))
    weight = check_weights(sample_weight, len(sign))
    problems = Problems(X, n_jobs=n_jobs, seed=seed, **settings)
    train = ask_two_classes(np.arange(len(sign)), sign)
    margins = hold_out(problems, train, sign, weight=weight, grid=(C,), n_folds=n_folds, seed=seed)[
        0, :, 1
    ]
    return calibrate_margins(margins, sign, weight, fit_offset=fit_offset)


def calibrate_margins(
    margins: np.ndarray,
    sign: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    fit_offset: bool = True,
) -> SigmoidCalibration:
    """Return the sigmoid of held-out ``margins`` with signs -1 and +1.

    Parameters
    ----------
    margins : array of shape (n,)
        Of rows that were held out.
    sign : array of shape (n,)
        -1 or +1: on which side each row belongs.
    weight : array of shape (n,), optional
        How much each row counts.
    fit_offset : bool
        Whether the sigmoid may cross a half elsewhere than at a margin of 0.

    Examples
    --------
    >>> found = calibrate_margins(np.array([-2.0, -1, 1, 2]), np.array([-1, -1, 1, 1]))
    >>> bool(found.probability(2.0) > 0.7)
    True
    """
    margins = np.asarray(margins, dtype=np.float64)
    sign = check_signs(sign, len(margins))
    weight = check_weights(weight, len(margins))
    if not np.isfinite(margins).all():
        raise InvalidArgument("margins hold NaN or infinity; remove those rows.")
    # Margins of size 1 keep the Newton system well scaled whatever C was.
    scale = float(np.abs(margins).max(initial=0)) or 1.0
    n_positive, n_negative = weight[sign > 0].sum(), weight[sign < 0].sum()
    target = np.where(sign > 0, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    design = np.stack([margins / scale, np.full(len(margins), float(fit_offset))], axis=1)
    slope, offset = _fit_logistic(design, target, weight)
    if slope < 0:
        design[:, 0] = 0
        slope, offset = _fit_logistic(design, target, weight)
    return SigmoidCalibration(float(max(slope, 0.0) / scale), float(offset))


def fit_scale(scores: np.ndarray, index: np.ndarray) -> tuple[float, float]:
    """Return the s for which softmax(s · scores) fits the classes of rows best, and its loss.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
        Of rows that the functions have not seen. Of more than 32,768, so many evenly drawn are
        looked at: they are enough for one number.
    index : ndarray of shape (n,)
        Their classes.

    Examples
    --------
    >>> scores = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    >>> scale, loss = fit_scale(scores, np.array([0, 0, 0, 1]))  # right three times in four
    >>> round(float(1 / (1 + np.exp(-scale))), 3), round(loss, 3)
    (0.75, 0.562)
    """
    from scipy.optimize import minimize_scalar

    step = max(-(-len(index) // _MOST_ROWS), 1)
    scores, index = scores[::step], index[::step]
    own = scores[np.arange(len(index)), index]

    def loss(log_scale: float) -> float:
        scale = np.exp(log_scale)
        return float(np.mean(logsumexp(scale * scores, axis=1) - scale * own))

    found = minimize_scalar(loss, bounds=_LOG_SCALE_RANGE, method="bounded")
    return float(np.exp(found.x)), float(found.fun)


def _fit_logistic(design: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the two coefficients of least cross-entropy, by Newton's method."""

    def loss(theta: np.ndarray) -> float:
        z = design @ theta
        return float(weight @ (np.logaddexp(0, z) - target * z))

    theta = np.zeros(2)
    value = loss(theta)
    for _ in range(_MAX_STEPS):
        p = expit(design @ theta)
        gradient = design.T @ (weight * (p - target))
        if np.abs(gradient).max() <= 1e-10 * max(weight.sum(), 1e-300):
            break
        curved = (design * (weight * p * (1 - p))[:, None]).T @ design
        step = np.linalg.solve(curved + _RIDGE * np.eye(2), gradient)
        length = 1.0
        while loss(theta - length * step) > value and length > 1e-10:
            length /= 2
        theta = theta - length * step
        value = loss(theta)
    return theta

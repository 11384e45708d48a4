"""Attribute detectors: what the annotated images teach about those that nobody annotated.

One linear function for each attribute, and a sigmoid that turns its margin into a probability:

    f_d(x) = w_d·x + b_d            least  ½|w|² + ½b² + C Σ_i [a_id ℓ(1 − f) + (1 − a_id) ℓ(1 + f)]
    p_d(x) = 1 / (1 + exp(−(slope_d · f_d(x) + offset_d)))

| symbol | meaning |
|---|---|
| a_id | annotation of row i in [0, 1]; NaN: the row takes no part in this attribute |
| ℓ(t) | max(0, t)², the squared hinge |
| slope, offset | fitted to margins of rows that were held out, against the same a_id |

An annotation between 0 and 1, such as the share of the annotators who said yes, counts as a
positive row of weight a and a negative one of weight 1 − a. On CUB-200 the shares predicted for new
kinds are then much nearer than with a cut at one half, and the ranking is about the same
(``benchmarks/run.py --only attribute_detectors``, which also has logistic regression beside it).

The matrix of rows is shared by all attributes and folds: a problem is a list of row numbers. The
problem of all rows is solved first, and those of the folds start from its dual variables.
"""

from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from fieldguide._check import check_choice, check_number, check_seed
from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide._saving import ROWS, Array, Number, Part, Saved, Size
from fieldguide.describe.packed_rows import base_rates, check_attributes
from fieldguide.errors import InvalidArgument
from fieldguide.svm import (
    LinearFunctions,
    Rows,
    calibrate_margins,
    share_rows,
    solve_linear,
    warn_open_gaps,
)
from fieldguide.svm.c_path import N_FOLDS, PATH_TOL
from fieldguide.svm.functions import LINEAR

C_GRID = tuple(10.0 ** (k / 2) for k in range(-6, 7))
_WORTH_A_STEP = 0.005  # the share of the cross-entropy that a larger C must save
_TINY = 1e-12


class HeldOutDetectors(NamedTuple):
    """What each detector is worth on rows that it was not trained on.

    A row of annotation a counts as positive by a and as negative by 1 − a. A constant detector has
    its base rate as average precision, and a ROC area of 0.5.
    """

    average_precision: np.ndarray  # (n_attributes,)
    roc_auc: np.ndarray  # (n_attributes,)
    log_loss: np.ndarray  # (n_attributes,) mean cross-entropy, in nats


class AttributeDetectors(Saved, BaseEstimator):
    """Learn attributes from annotated rows, and give their probabilities for other rows.

    Parameters
    ----------
    C : float or "cv"
        Weight of the errors. "cv" takes one C for all attributes, that with the least held-out
        cross-entropy: it goes up from 0.001 in steps of √10 until a step saves less than half a
        per cent. That suits annotations of whole kinds, which ask for a smaller C than 1.
    min_rows : float
        Positive rows, and negative ones, that an attribute needs (soft annotations count by their
        share); with fewer its detector is constant, the base rate.
    n_folds : int
        Of the held-out margins; at most one for each row, or group.
    tol : float
        Relative duality gap to reach.
    n_jobs : int, optional
        Threads, each with an attribute at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Of the folds and of the order in which the solver visits rows.

    Attributes
    ----------
    functions_ : LinearFunctions
        One for each attribute.
    slope_, offset_ : ndarray of shape (n_attributes,)
        The sigmoids.
    base_rate_ : ndarray of shape (n_attributes,)
        Mean of the annotations of each attribute, kept off 0 and 1.
    is_constant_ : bool ndarray of shape (n_attributes,)
        Attributes with fewer than ``min_rows`` rows on one side.
    held_out_ : HeldOutDetectors
        Average precision, ROC area and cross-entropy of each attribute on held-out rows: which
        detectors are worth having.
    held_out_margins_ : ndarray of shape (n, n_attributes)
        Margin of each row by a function that has not seen it; NaN where it is not annotated, and
        for constant detectors. Not saved with the model.
    C_ : float
    n_attributes_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.describe import AttributeDetectors
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> A = np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 1, np.ones(200)])
    >>> detectors = AttributeDetectors().fit(X, A)
    >>> detectors.predict([[2, 3, 0], [-2, 0, -3]])
    array([[1, 1, 1],
           [0, 0, 1]], dtype=uint8)
    >>> detectors.is_constant_
    array([False, False,  True])
    """

    _unsaved = ("held_out_margins_",)  # as many as there are rows to learn from
    _fitted: ClassVar = {
        **ROWS,
        "n_attributes_": Size("n_functions"),
        "functions_": Part(LinearFunctions, LINEAR),
        "slope_": Array("float64", "n_functions"),
        "offset_": Array("float64", "n_functions"),
        "base_rate_": Array("float64", "n_functions", low=0, high=1),
        "is_constant_": Array("bool", "n_functions"),
        "held_out_": Part(
            HeldOutDetectors,
            {name: Array("float64", "n_functions") for name in HeldOutDetectors._fields},
        ),
        "C_": Number(above=0),
    }

    def __init__(
        self,
        C: float | str = 1.0,
        *,
        min_rows: float = 5.0,
        n_folds: int = N_FOLDS,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.min_rows = min_rows
        self.n_folds = n_folds
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, A: Any, groups: Any = None) -> Self:
        """Train on annotated rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
        A : array of shape (n, n_attributes)
            In [0, 1]; NaN where a row is not annotated.
        groups : array of shape (n,), optional
            Rows of a group are held out together. Where annotations are those of a kind and not of
            the picture, give the kind of each row: the detectors are then judged, and calibrated,
            on kinds that they have not seen.
        """
        self._check_arguments()
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            order="C",
            ensure_min_samples=2,
        )
        A = _check_annotations(A, X.shape[0])
        groups = _check_groups(groups, X.shape[0])
        rates = base_rates(A)
        train = partial(
            _train_attribute,
            share_rows(X),
            X,
            groups=groups,
            min_rows=self.min_rows,
            n_folds=self.n_folds,
            tol=self.tol,
            seed=check_seed(type(self).__name__, self.random_state),
        )

        def train_all(C: float) -> list[_Detector]:
            columns = zip(A.T, rates, strict=True)
            return list(
                map_in_order(
                    lambda column: train(*column, C=C), columns, n_jobs=self.n_jobs, travels=True
                )
            )

        # Threads of BLAS inside threads are slow, and may sum in another order.
        with one_blas_thread():
            if self.C == "cv":
                self.C_, found = _walk_up(train_all)
            else:
                self.C_ = float(self.C)
                found = train_all(self.C_)
        coef, b, slope, offset, is_constant, gaps, precision, area, loss, margins = zip(
            *found, strict=True
        )
        self.functions_ = LinearFunctions(
            np.stack(coef).astype(np.float32), np.array(b, dtype=np.float32)
        )
        self.slope_, self.offset_ = np.array(slope), np.array(offset)
        self.base_rate_, self.is_constant_ = rates, np.array(is_constant)
        self.held_out_ = HeldOutDetectors(np.array(precision), np.array(area), np.array(loss))
        self.held_out_margins_ = np.stack(margins, axis=1)
        self.n_attributes_ = A.shape[1]
        warn_open_gaps(
            type(self).__name__, gaps, self.tol, "lower C, scale the columns or raise tol"
        )
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each attribute, (n, n_attributes)."""
        margins = self.decision_function(X)
        probability: np.ndarray = expit(self.slope_ * margins + self.offset_)
        return probability

    def predict(self, X: Any) -> np.ndarray:
        """Return which attributes are more probable than not, (n, n_attributes) of 0 and 1."""
        return (self.predict_proba(X) >= 0.5).astype(np.uint8)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margin of each attribute, (n, n_attributes); 0 for constant ones."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float32, np.float64), order="C", reset=False
        )
        return self.functions_.evaluate(X)

    def _check_arguments(self) -> None:
        owner = type(self).__name__
        if isinstance(self.C, str):
            check_choice(owner, "C", self.C, ("cv",))
        else:
            check_number(owner, "C", self.C, 1e-9, 1e9)
        check_number(owner, "min_rows", self.min_rows, 1, 1e9)
        check_number(owner, "n_folds", self.n_folds, 2, 1000, integer=True)
        check_number(owner, "tol", self.tol, 1e-12, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        return tags


class _Detector(NamedTuple):
    """One trained attribute."""

    w: np.ndarray  # (n_features,)
    b: float
    slope: float
    offset: float
    is_constant: bool
    gap: float
    average_precision: float
    roc_auc: float
    log_loss: float
    held_out: np.ndarray  # (n_rows,) margin of each row, by a function that has not seen it


def _check_annotations(A: Any, n: int) -> np.ndarray:
    """Return annotations that are known to be in [0, 1] or NaN, with something in each column."""
    owner = "AttributeDetectors"
    if A is None:
        raise InvalidArgument(
            f"{owner} requires y to be passed, but the target y is None; give A, the attributes of "
            "each row."
        )
    known: np.ndarray = check_array(
        A, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan", input_name="A"
    )
    if len(known) != n:
        raise InvalidArgument(
            f"A of {owner} must have a row for each of the {n} rows of X; got {len(known)}."
        )
    check_attributes(owner, known)
    is_empty = np.isnan(known).all(axis=0)
    if is_empty.any():
        raise InvalidArgument(
            f"Attribute {int(np.argmax(is_empty))} of {owner} is annotated in no row; annotate "
            "it in some rows or leave its column out."
        )
    return known


def _check_groups(groups: Any, n: int) -> np.ndarray:
    """Return a number for the group of each row; each row its own without ``groups``."""
    if groups is None:
        return np.arange(n)
    groups = column_or_1d(groups)
    if len(groups) != n:
        raise InvalidArgument(
            f"groups of AttributeDetectors must name a group for each of the {n} rows of X; got "
            f"{len(groups)}."
        )
    names, index = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise InvalidArgument(
            "groups of AttributeDetectors must name at least 2 groups, so that one can be held "
            f"out; got {names[0]!r} for every row: leave groups out."
        )
    return index


def _walk_up(train_all: Any) -> tuple[float, list[_Detector]]:
    """Return the C after which a step saves too little cross-entropy, and what it found."""
    best, least, found = C_GRID[0], np.inf, []
    for C in C_GRID:
        tried = train_all(C)
        loss = float(np.mean([detector.log_loss for detector in tried]))
        if loss > (1 - _WORTH_A_STEP) * least:
            break
        best, least, found = C, loss, tried
    return best, found


def _train_attribute(
    matrix: Rows,
    X: Any,
    a: np.ndarray,
    rate: float,
    *,
    C: float,
    groups: np.ndarray,
    min_rows: float,
    n_folds: int,
    tol: float,
    seed: int,
) -> _Detector:
    """Return the function of one attribute, its sigmoid, and its worth on held-out rows."""
    rows = np.flatnonzero(~np.isnan(a))
    a = a[rows].astype(np.float64)
    fold = deal_groups(a, groups[rows], n_folds, seed)
    if min(a.sum(), (1 - a).sum()) < min_rows or fold.max() == 0:
        loss = -float(np.mean(a * np.log(rate) + (1 - a) * np.log1p(-rate)))
        nothing = np.zeros(X.shape[1])
        margins = np.full(X.shape[0], np.nan)
        return _Detector(nothing, 0.0, 0.0, float(logit(rate)), True, 0.0, rate, 0.5, loss, margins)
    place, sign, weight = split_soft(a)

    def solve(part: np.ndarray, tol: float, start: np.ndarray | None) -> Any:
        return solve_linear(
            matrix,
            sign[part],
            rows=rows[place[part]],
            C=C,
            loss="squared_hinge",
            sample_weight=weight[part],
            tol=tol,
            alpha0=start,
            seed=seed,
        )

    whole = solve(np.arange(len(place)), tol, None)
    margins = np.empty(len(rows))
    for k in range(fold.max() + 1):
        part = np.flatnonzero(fold[place] != k)
        found = solve(part, max(tol, PATH_TOL), whole.alpha[part])
        left = np.flatnonzero(fold == k)
        margins[left] = X[rows[left]] @ found.w + found.b
    sigmoid = calibrate_margins(margins[place], sign, weight)
    worth = judge(sigmoid.probability(margins), a)
    held_out = np.full(X.shape[0], np.nan)
    held_out[rows] = margins
    return _Detector(whole.w, whole.b, *sigmoid, False, whole.gap, *worth, held_out)


def split_soft(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, signs and weights of the positive and the negative share of each row.

    A row of annotation 0 or 1 comes once.

    Examples
    --------
    >>> split_soft(np.array([1.0, 0.25]))
    (array([0, 1, 1]), array([ 1.,  1., -1.]), array([1.  , 0.25, 0.75]))
    """
    weight = np.concatenate([a, 1 - a])
    used = np.flatnonzero(weight > 0)
    sign = np.where(used < len(a), 1.0, -1.0)
    return used % len(a), sign, weight[used]


def deal_groups(a: np.ndarray, groups: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """Return a fold for each row: groups in the order of their mean, equals shuffled, in turn."""
    _, index = np.unique(groups, return_inverse=True)
    mean = np.bincount(index, weights=a) / np.bincount(index)
    order = np.lexsort((np.random.default_rng(seed).random(len(mean)), mean))
    fold = np.empty(len(mean), dtype=np.int64)
    fold[order] = np.arange(len(mean)) % n_folds
    return fold[index]


def judge(p: np.ndarray, a: np.ndarray) -> tuple[float, float, float]:
    """Return average precision, ROC area and mean cross-entropy of probabilities ``p``.

    A row counts as positive by its annotation ``a`` and as negative by 1 − a.

    Examples
    --------
    >>> judge(np.array([0.9, 0.5, 0.1]), np.array([1.0, 0.0, 0.0]))[:2]
    (1.0, 1.0)
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    place, sign, weight = split_soft(a)
    scores = {"y_true": sign > 0, "y_score": p[place], "sample_weight": weight}
    p = np.clip(p, _TINY, 1 - _TINY)
    loss = -np.mean(a * np.log(p) + (1 - a) * np.log1p(-p))
    return float(average_precision_score(**scores)), float(roc_auc_score(**scores)), float(loss)

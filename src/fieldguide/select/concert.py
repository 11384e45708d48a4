"""Features in Concert: few features that vote well together, chosen by a convex problem.

    min_w Σ_i v_i (w·f'_i + b − t_i)²    s.t.  Σ_j w_j = 1,  0 ≤ w_j ≤ 1/k

for each class against the rest: t_i is p1 for rows of the class and p0 for the others, f' the
features in [0, 1], flipped (1 − f) where they are smaller in the class. The cap 1/k makes the
solution a vote of k features or a few more, most of them with equal weights.

The problem of the paper is ``p1=0.5, bias=False, balance=False, calibrate=False``. The defaults
were chosen by measurement (``benchmarks/problems/concert_accuracy.py``).

Reference: "Features in Concert: Discriminative Feature Selection meets Unsupervised Clustering".
"""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from fieldguide._check import check_choice, check_number, check_seed
from fieldguide._saving import Array, IfSet, Number, OrNone
from fieldguide.errors import InvalidArgument
from fieldguide.select.k_path import (
    DEFAULT_P1,
    P1_GRID,
    HeldOutVotes,
    choose_pair,
    default_k,
    hold_out_votes,
    list_k,
    list_path,
    root_k,
    spread_two_classes,
)
from fieldguide.select.mixture import MIX_TOL, Mixture, fit_mixture, list_pairs
from fieldguide.select.objective import ColumnMap
from fieldguide.select.sums import SUMS, FeatureSums, sum_rows
from fieldguide.select.votes import VoteOptions, Votes, fit_votes
from fieldguide.select.voting import LINEAR_VOTES, VotingSelector, fold_two_classes, map_to_unit
from fieldguide.svm import Problems, choose_C, fit_scale, hold_out, warn_open_gaps
from fieldguide.svm.c_path import ask_one_vs_all, ask_two_classes, score_as_is, score_two_classes

SOLVERS = ("working_set", "frank_wolfe")


class ConcertSelector(VotingSelector):
    """Select features that vote well together.

    Parameters
    ----------
    k : float, "auto" or "cv"
        The largest weight is 1/k, so that at least k features are selected for each class.
        "auto" is an eighth of the features (250 at most) or their square root, whichever has the
        better held-out votes, and "cv" the best of a longer grid; without rows to hold out it is
        an eighth.
    p0 : float
        What the vote should be for rows of other classes.
    p1 : float or "auto"
        What the vote should be for rows of the class. The larger it is, the more a feature counts
        by its own correlation with the class, and the less by how it differs from the others.
        "auto" is the one of 0.5, 1 and 2 with the best held-out votes; without rows to hold out
        (from sums, or with one row of a class) it is 2.
    bias : bool
        Fit a constant besides the vote.
    balance : bool
        Give the class and the rest the same weight.
    calibrate : bool
        Compare the votes of classes by their z-scores, not as they are.
    scale : bool
        Bring columns with values outside [0, 1] there by their range in the training rows; without
        it they are refused. Columns inside [0, 1] are never changed.
    solver : {"working_set", "frank_wolfe"}
        "frank_wolfe" is the method of the paper, with its 100 iterations.
    tol : float
        Relative duality gap to stop at.
    n_jobs : int, optional
        Threads, each with some of the classes or folds; the result does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed of the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : ndarray of shape (n_features,) or, for more than two classes, (n_classes, n_features)
        Two classes have the vote for the second.
    flips_ : ndarray of bool, of the shape of ``weights_``
        Features that vote by 1 - f.
    coef_, intercept_ : ndarray of shape (n_functions, n_features) and (n_functions,)
        The scores as functions of the features as they are given.
    k_, p1_ : float
        The values that were used.
    duality_gap_ : float
        The largest relative gap of a class.
    sums_ : FeatureSums
        After :meth:`partial_fit` or :meth:`fit_sums`: all that is kept of the rows.

    Notes
    -----
    ``fit`` costs more with more rows. ``partial_fit`` and ``fit_sums`` keep sums whose size, and
    the time to fit from them, do not depend on the number of rows: n² numbers, and n² for each
    class with ``balance``.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.select import ConcertSelector
    >>> F = np.array([[0.9, 0.8, 0.4], [0.7, 0.9, 0.5], [0.1, 0.2, 0.5], [0.2, 0.1, 0.4]])
    >>> selector = ConcertSelector(k=2, p1=1.0).fit(F, ["owl", "owl", "jay", "jay"])
    >>> selector.weights_, selector.flips_
    (array([0.5, 0.5, 0. ]), array([False, False, False]))
    >>> selector.transform(F).shape
    (4, 2)
    """

    _fitted: ClassVar = {
        **LINEAR_VOTES,
        "k_": Number(above=0),
        "p1_": Number(),
        "duality_gap_": Number(finite=False),
        "sums_": IfSet(SUMS),
    }

    def __init__(
        self,
        k: float | str = "auto",
        *,
        p0: float = 0.0,
        p1: float | str = "auto",
        bias: bool = True,
        balance: bool = False,
        calibrate: bool = True,
        scale: bool = True,
        solver: str = "working_set",
        tol: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.k = k
        self.p0 = p0
        self.p1 = p1
        self.bias = bias
        self.balance = balance
        self.calibrate = calibrate
        self.scale = scale
        self.solver = solver
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose features from the rows of ``X``, (n, n_features), with labels ``y``, (n,)."""
        self._check_arguments()
        X, index = self._read_training_rows(X, y)
        sums, rows = sum_rows(X, index, len(self.classes_), balance=bool(self.balance))
        columns = map_to_unit(type(self).__name__, sums.low, sums.high, self.scale)
        self._choose(X, index, columns)
        self._store(fit_votes(sums, self.k_, self._options(), columns, n_jobs=self.n_jobs, **rows))
        return self

    def _takes_parts(self) -> bool:
        return self.k != "cv"

    @available_if(lambda self: self._takes_parts())  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Add rows to the sums, and choose features from all rows seen.

        Parameters
        ----------
        X : array of shape (n, n_features)
        y : array of shape (n,)
        classes : array of shape (n_classes,), optional
            All classes that will ever come, at the first call; by default those of ``y``.
        """
        self._check_arguments()
        is_first = not hasattr(self, "sums_")
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), order="C", reset=is_first)
        if is_first:
            self.classes_ = np.unique(y if classes is None else classes)
        index = np.searchsorted(self.classes_, y)
        known = self.classes_[np.minimum(index, len(self.classes_) - 1)] == y
        if not known.all():
            raise InvalidArgument(
                f"y of {type(self).__name__} holds {np.asarray(y)[~known][0]!r}, which is not one "
                "of the classes of the first call; name all classes there."
            )
        if is_first:
            shape = len(self.classes_), X.shape[1]
            self.sums_ = FeatureSums(*shape, gram="per_class" if self.balance else "whole")
        self.sums_.add(X, index)
        return self._fit_from_sums()

    def fit_sums(self, sums: FeatureSums, classes: Any) -> Self:
        """Choose features from sums, for instance of parts that were computed elsewhere.

        Parameters
        ----------
        sums : FeatureSums
            With ``gram="per_class"``, or "whole" without ``balance``.
        classes : array of shape (n_classes,)
            Labels of the class numbers.
        """
        self._check_arguments()
        classes = np.asarray(classes)
        if len(np.unique(classes)) != len(sums.counts):
            raise InvalidArgument(
                f"classes must be {len(sums.counts)} different labels, one for each class of "
                f"sums; got {len(np.unique(classes))}."
            )
        needed = ("per_class",) if self.balance else ("whole", "per_class")
        check_choice("sums of " + type(self).__name__, "gram", sums.gram, needed)
        self.classes_, self.sums_ = classes, sums
        self.n_features_in_ = sums.totals.shape[1]
        return self._fit_from_sums()

    def _fit_from_sums(self) -> Self:
        sums, owner = self.sums_, type(self).__name__
        if not self._takes_parts():
            raise InvalidArgument(
                f'{owner} needs rows to hold out for k="cv", refit and probability; use fit, or '
                "leave these at their defaults."
            )
        self.k_, self.p1_ = self._read_k(sums.totals.shape[1]), self._read_p1()
        columns = map_to_unit(owner, sums.low, sums.high, self.scale)
        self._store(fit_votes(sums, self.k_, self._options(), columns, n_jobs=self.n_jobs))
        return self

    def _options(self) -> VoteOptions:
        return VoteOptions(
            *(float(self.p0), self.p1_),
            *(bool(self.bias), bool(self.balance), bool(self.calibrate)),
            *(self.solver, self.tol),
        )

    def _choose(self, X: np.ndarray, index: np.ndarray, columns: ColumnMap) -> None:
        """Set ``p1_`` and ``k_``, by held-out rows if asked."""
        n = X.shape[1]
        self.k_, self.p1_ = self._read_k(n), self._read_p1()
        k_grid = list_k(n, self.k) if isinstance(self.k, str) else (self.k_,)
        p1_grid = P1_GRID if self.p1 == "auto" else (self.p1_,)
        if len(k_grid) * len(p1_grid) > 1:
            held_out = self._hold_out(X, index, columns, p1_grid, k_grid)
            if held_out is not None:
                self.p1_, self.k_ = choose_pair(held_out, index)

    def _hold_out(
        self,
        X: np.ndarray,
        index: np.ndarray,
        columns: ColumnMap,
        p1_grid: tuple[float, ...],
        k_grid: tuple[float, ...],
    ) -> HeldOutVotes | None:
        path = list_path(p1_grid, k_grid)
        return hold_out_votes(
            *(X, index, len(self.classes_), path, self._options(), columns),
            seed=check_seed(type(self).__name__, self.random_state),
            n_jobs=self.n_jobs,
        )

    def _read_k(self, n: int) -> float:
        if isinstance(self.k, str):
            return default_k(n)
        check_number(type(self).__name__, "k", self.k, 1, n)
        return float(self.k)

    def _read_p1(self) -> float:
        return float(self.p0) + DEFAULT_P1 if isinstance(self.p1, str) else float(self.p1)

    def _store(self, votes: Votes | Mixture) -> None:
        n_classes = len(self.classes_)
        self.weights_ = fold_two_classes(votes.weights, n_classes)
        self.flips_ = fold_two_classes(votes.flips, n_classes)
        self.coef_, self.intercept_ = votes.coef, votes.intercept
        self.duality_gap_ = float(votes.gaps.max())
        if self.solver == "working_set":
            tol = max(self.tol, MIX_TOL) if isinstance(votes, Mixture) else self.tol
            warn_open_gaps(type(self).__name__, votes.gaps.ravel(), tol, "raise tol")

    def _check_arguments(self) -> None:
        owner = type(self).__name__
        if isinstance(self.k, str):
            check_choice(owner, "k", self.k, ("auto", "cv"))
        check_number(owner, "p0", self.p0, -1e6, 1e6)
        if isinstance(self.p1, str):
            check_choice(owner, "p1", self.p1, ("auto",))
        else:
            check_number(owner, "p1", self.p1, -1e6, 1e6)
        if not self.p0 < self._read_p1():
            raise InvalidArgument(
                f"p1 of {owner} must be above p0; got {self.p1!r} and {self.p0!r}."
            )
        check_choice(owner, "solver", self.solver, SOLVERS)
        check_number(owner, "tol", self.tol, 1e-12, 1.0)


class ConcertClassifier(ConcertSelector):
    """Name classes by a vote of features in concert, or by an SVM on the features it selects.

    It is a :class:`ConcertSelector` with probabilities, and with a choice of what names the class.

    Parameters
    ----------
    k, p0, p1, bias, balance, calibrate, scale, solver, tol, n_jobs, random_state
        As of :class:`ConcertSelector`.
    refit : {"mix", "svm", None}
        What is done with the selected features. "mix" adds up the votes of several concerts (of the
        given k or p1, or of several values), the vote of the features that correlate most (unless
        p1 is given) and linear SVMs on all columns, with weights chosen on held-out rows; see
        :mod:`fieldguide.select.mixture`. ``weights_`` are then those of all votes together, ``k_``
        and ``p1_`` those of the concert with the largest weight. "svm" trains SVMs on the columns
        that are selected for any class, with C by cross-validation; ``coef_`` and ``intercept_``
        are theirs. None leaves the vote of :class:`ConcertSelector` as it is; so does "mix" where
        there are sums but no rows, and with k="cv".
    probability : bool
        Fit the scale of ``predict_proba`` to held-out scores, which takes about five more fits
        where they are not known from the mixture.

    Attributes
    ----------
    inverse_temperature_ : float or None
        Probabilities are ``softmax(inverse_temperature_ · scores)``.
    shares_ : ndarray of shape (n_parts,)
        Of "mix": what each part adds to the spread of the scores, the concerts first, the SVM last.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.select import ConcertClassifier
    >>> F = np.array([[0.9, 0.8, 0.4], [0.7, 0.9, 0.5], [0.1, 0.2, 0.5], [0.2, 0.1, 0.4]])
    >>> ConcertClassifier(k=2).fit(F, ["owl", "owl", "jay", "jay"]).predict(F).tolist()
    ['owl', 'owl', 'jay', 'jay']
    """

    _fitted: ClassVar = {
        "inverse_temperature_": IfSet(OrNone(Number(above=0))).once("scale_"),
        "shares_": IfSet(Array("float64", "n_parts")),
        "C_": IfSet(Number(above=0)),
    }

    def __init__(
        self,
        k: float | str = "auto",
        *,
        p0: float = 0.0,
        p1: float | str = "auto",
        bias: bool = True,
        balance: bool = False,
        calibrate: bool = True,
        scale: bool = True,
        refit: str | None = "mix",
        probability: bool = False,
        solver: str = "working_set",
        tol: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        super().__init__(
            k,
            p0=p0,
            p1=p1,
            bias=bias,
            balance=balance,
            calibrate=calibrate,
            scale=scale,
            solver=solver,
            tol=tol,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.refit = refit
        self.probability = probability

    def fit(self, X: Any, y: Any) -> Self:
        """Train on rows ``X``, (n, n_features), with labels ``y``, (n,)."""
        self.inverse_temperature_: float | None = None
        if self.refit == "mix" and self.k != "cv":
            return self._fit_mixture(X, y)
        super().fit(X, y)
        if self.refit != "svm" and not self.probability:
            return self
        X, index = self._read_training_rows(X, y)
        if self.refit == "svm":
            scores = self._refit(X, index)
        else:
            columns = map_to_unit(type(self).__name__, X.min(axis=0), X.max(axis=0), self.scale)
            held_out = self._hold_out(X, index, columns, (self.p1_,), (self.k_,))
            scores = None if held_out is None else held_out.scores[0]
        return self._fit_scale(scores, index)

    def _fit_mixture(self, X: Any, y: Any) -> Self:
        owner = type(self).__name__
        self._check_arguments()
        X, index = self._read_training_rows(X, y)
        k, p1 = (None if isinstance(each, str) else float(each) for each in (self.k, self.p1))
        self.k_, self.p1_ = self._read_k(X.shape[1]), self._read_p1()
        pairs = list_pairs(X.shape[1], k, p1, float(self.p0))
        plain_k = root_k(X.shape[1]) if k is None else int(k)
        found = fit_mixture(
            *(X, index, len(self.classes_), pairs, self._options()),
            map_to_unit(owner, X.min(axis=0), X.max(axis=0), self.scale),
            plain_k=plain_k if p1 is None else None,
            seed=check_seed(owner, self.random_state),
            n_jobs=self.n_jobs,
        )
        self.p1_, self.k_ = found.pairs[int(found.shares[: len(found.pairs)].argmax())]
        self.shares_, self.C_ = found.shares, found.C
        self._store(found)
        return self._fit_scale(found.held_out, index)

    def _fit_scale(self, scores: np.ndarray | None, index: np.ndarray) -> Self:
        """Set the scale of probabilities by held-out scores, if it is asked for."""
        if self.probability:
            self.inverse_temperature_ = (
                1.0 if scores is None else fit_scale(spread_two_classes(scores), index)[0]
            )
        return self

    @available_if(lambda self: self.probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities; the largest belongs to :meth:`predict`."""
        scores = self._score(self._read_rows(X))
        logits = (self.inverse_temperature_ or 1.0) * spread_two_classes(scores)
        probability: np.ndarray = softmax(logits, axis=1)
        return probability

    def _refit(self, X: np.ndarray, index: np.ndarray) -> np.ndarray | None:
        """Train SVMs on the selected columns; return held-out scores if they are of use."""
        chosen = np.flatnonzero(self._get_support_mask())
        seed = check_seed(type(self).__name__, self.random_state)
        matrix = np.ascontiguousarray(X[:, chosen])
        problems = Problems(matrix, n_jobs=self.n_jobs, seed=seed)
        work: dict[str, Any] = {"seed": seed, "score": score_two_classes}
        train = ask_two_classes(np.arange(len(index)), 2.0 * index - 1)
        if len(self.classes_) > 2:
            train, work["score"] = ask_one_vs_all(index, len(self.classes_)), score_as_is
        self.C_ = choose_C(problems, train, index, **work)
        trained = train(problems, self.C_, np.ones(len(index)), None)
        self.coef_ = np.zeros((len(trained.intercept), X.shape[1]))
        self.coef_[:, chosen] = trained.coef
        self.intercept_ = np.asarray(trained.intercept, dtype=np.float64)
        if not self.probability or np.bincount(index).min() < 2:
            return None
        held_out = hold_out(problems, train, index, grid=(self.C_,), **work)
        scores: np.ndarray = held_out[0].astype(np.float64)
        return scores[:, 1:] if len(self.classes_) == 2 else scores

    def _check_opened(self) -> None:
        super()._check_opened()
        if self.probability and getattr(self, "inverse_temperature_", None) is None:
            raise InvalidArgument(
                "inverse_temperature_ must be a number where there are probabilities."
            )

    def _takes_parts(self) -> bool:
        return super()._takes_parts() and self.refit != "svm" and not self.probability

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_choice("ConcertClassifier", "refit", self.refit, ("mix", "svm", None))

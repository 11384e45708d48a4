"""Several votes and a linear SVM, mixed by how well they name rows held out.

No one vote is best for every pool and number of rows: with few rows broad votes win, with many
rows narrow ones, with few features the plain vote of those that correlate most, and with many
classes SVMs. Held-out rows tell, but few of them tell little, so nothing is picked: the shares b
of the parts minimise

    Σ_i −log softmax(Σ_m b_m s_m f_m(i))[y_i]  +  τ K Σ_m (b_m − 1/M)²,    b ≥ 0

======  =====================================================================================
f_m(i)  scores of part m for row i, from functions that have not seen it, (n_classes,)
s_m     the scale that makes softmax(s_m f_m) fit best, part by part
M, K    number of parts, and of classes
τ       how many rows of each class it takes to outweigh equal shares, about
======  =====================================================================================

Where a class has a single row nothing can be held out: two thirds are the broadest concert, the
rest is the SVM. All parts are linear in the features, and so is the mixture.

In the mixture columns are divided by their standard deviations, relative to the median one and
drawn towards it as if by 20 more rows: a pool may hold classifiers of different kinds, and a vote
with large p1 would otherwise take those that vary most.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from fieldguide.select.correlation import hold_out_correlation, vote_by_correlation
from fieldguide.select.k_path import default_k, hold_out_votes, root_k, spread_two_classes
from fieldguide.select.objective import ColumnMap
from fieldguide.select.sums import FeatureSums, sum_rows
from fieldguide.select.votes import VoteOptions, Votes, fit_votes
from fieldguide.svm import Problems, fit_scale, hold_out
from fieldguide.svm.c_path import ask_one_vs_all, ask_two_classes, score_as_is, score_two_classes

MIX_TOL = 1e-2  # of the votes: shares blur more than that
C_GRID = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
# Where nothing can be held out: C, and the shares of the broadest concert and the SVM.
_DEFAULT_C, _ALONE = 0.1, np.array([2 / 3, 1 / 3])
_TAU = 1.0
_PRIOR_ROWS = 20.0


class Mixture(NamedTuple):
    """The parts and what they add up to."""

    pairs: tuple[tuple[float, float], ...]  # (p1, k) of the concerts
    shares: np.ndarray  # (n_parts,) of the spread of scores, sum 1: concerts, plain vote, SVM
    C: float
    weights: np.ndarray  # (m, n) of the votes together, for features in [0, 1]; each sum is 1
    flips: np.ndarray  # (m, n) bool
    coef: np.ndarray  # (m, n) of the features as they are given
    intercept: np.ndarray  # (m,)
    gaps: np.ndarray  # (n_concerts, m)
    held_out: np.ndarray | None  # (N, m) scores


def list_pairs(
    n: int, k: float | None, p1: float | None, p0: float = 0.0
) -> tuple[tuple[float, float], ...]:
    """Return p1 and k of the concerts for n features, the broadest last; those given are kept."""
    eighth = default_k(n)
    pairs = ((8.0, min(float(root_k(n)), eighth)), (0.5, eighth), (2.0, eighth))
    return tuple(
        dict.fromkeys(
            (p0 + rise if p1 is None else p1, size if k is None else k) for rise, size in pairs
        )
    )


def even_columns(columns: ColumnMap, sums: FeatureSums) -> ColumnMap:
    """Return the map that also divides columns by their relative standard deviations."""
    n_rows = sums.counts.sum()
    mean = sums.totals.sum(axis=0) / n_rows
    variance = columns.slope**2 * np.maximum(sums.squares / n_rows - mean**2, 0.0)
    middle = float(np.median(variance))
    if not middle > 0:
        return columns
    drawn = (n_rows * variance + _PRIOR_ROWS * middle) / (n_rows + _PRIOR_ROWS)
    unit = np.sqrt(middle / drawn)
    return ColumnMap(unit * columns.slope, unit * columns.offset, unit * columns.top)


def fit_mixture(
    F: np.ndarray,
    index: np.ndarray,
    n_classes: int,
    pairs: tuple[tuple[float, float], ...],
    options: VoteOptions,
    columns: ColumnMap,
    *,
    plain_k: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Mixture:
    """Train every part on all rows, and share by what parts trained on some say of the others.

    Parameters
    ----------
    F : ndarray of shape (N, n)
    index : ndarray of shape (N,)
        Class numbers.
    n_classes : int
    pairs : tuple of (p1, k)
        The concerts.
    options : VoteOptions
    columns : ColumnMap
        Brings the columns to [0, 1].
    plain_k : int, optional
        Features of the plain vote; without it there is none.
    seed, n_jobs : int
    """
    sums, rows = sum_rows(F, index, n_classes, balance=options.balance)
    even = even_columns(columns, sums)
    options = options._replace(tol=max(options.tol, MIX_TOL))
    svm = _Svm(F, index, n_classes, seed=seed, n_jobs=n_jobs)
    held_out = hold_out_votes(F, index, n_classes, pairs, options, even, seed=seed, n_jobs=n_jobs)
    if held_out is None:
        pairs = pairs[-1:]
    votes: list[Votes] = []
    for p1, k in pairs:
        start = votes[-1].weights if votes else None
        asked = options._replace(p1=p1)
        votes.append(fit_votes(sums, k, asked, even, start=start, n_jobs=n_jobs, **rows))
    gaps = np.array([each.gaps for each in votes])
    scores = None
    if held_out is None:
        C, shares = _DEFAULT_C, _ALONE
        factors = shares
        parts = [(votes[0].coef, votes[0].intercept), svm.train(C)]
        parts = [_standardize(F, *part) for part in parts]
    else:
        C, margins = svm.choose()
        known = [*held_out.scores]
        if plain_k is not None:
            votes.append(vote_by_correlation(F, index, n_classes, plain_k, columns))
            known.append(hold_out_correlation(F, index, n_classes, plain_k, columns, seed=seed))
        parts = [(each.coef, each.intercept) for each in votes] + [svm.train(C)]
        scores = np.array([*known, margins])
        scales, b = share(scores, index)
        factors = scales * b
        shares = factors * scores.std(axis=1).mean(axis=1)
    coef = sum(factor * part[0] for factor, part in zip(factors, parts, strict=True))
    intercept = sum(factor * part[1] for factor, part in zip(factors, parts, strict=True))
    voted = sum(factor * np.abs(each[0]) for factor, each in zip(factors, parts[:-1], strict=False))
    inside = voted / np.where(columns.slope > 0, columns.slope, 1.0)
    total = inside.sum(axis=1, keepdims=True)
    return Mixture(
        pairs,
        shares / max(shares.sum(), 1e-300),
        C,
        np.divide(inside, total, out=votes[0].weights.copy(), where=total > 0),
        votes[0].flips,
        coef,
        intercept,
        gaps,
        None if scores is None else np.tensordot(factors, scores, 1),
    )


def share(scores: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scale s and share b of each part from its held-out scores.

    Parameters
    ----------
    scores : ndarray of shape (n_parts, N, m)
        A score for each class, or the margin of two.
    index : ndarray of shape (N,)
    """
    spread = [spread_two_classes(each) for each in scores]
    scales = np.array([fit_scale(each, index)[0] for each in spread])
    scaled = scales[:, None, None] * np.array(spread)
    equal = np.full(len(scaled), 1.0 / len(scaled))
    pull, rows = _TAU * scaled.shape[2], np.arange(len(index))

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        total = np.tensordot(b, scaled, 1)
        log_sum = logsumexp(total, axis=1, keepdims=True)
        missing = np.exp(total - log_sum)
        missing[rows, index] -= 1.0
        value = float(log_sum.sum() - total[rows, index].sum())
        gradient = np.tensordot(scaled, missing, ([1, 2], [0, 1]))
        return value + pull * float((b - equal) @ (b - equal)), gradient + 2 * pull * (b - equal)

    found = minimize(loss, equal, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(equal))
    return scales, found.x


class _Svm:
    """The SVMs of all classes on all columns."""

    def __init__(
        self, F: np.ndarray, index: np.ndarray, n_classes: int, *, seed: int, n_jobs: int | None
    ) -> None:
        self.index, self.seed, self.is_pair = index, seed, n_classes == 2
        self.problems = Problems(np.ascontiguousarray(F), n_jobs=n_jobs, seed=seed)
        self.ask = ask_one_vs_all(index, n_classes)
        if self.is_pair:
            self.ask = ask_two_classes(np.arange(len(index)), 2.0 * index - 1)

    def choose(self) -> tuple[float, np.ndarray]:
        """Return the C with the least held-out loss, and its scores, (N, m)."""
        every = hold_out(
            self.problems.changed(tol=1e-2),
            self.ask,
            self.index,
            score=score_two_classes if self.is_pair else score_as_is,
            grid=C_GRID,
            seed=self.seed,
        ).astype(np.float64)
        best = int(np.argmin([round(fit_scale(each, self.index)[1], 9) for each in every]))
        return C_GRID[best], every[best][:, 1:] if self.is_pair else every[best]

    def train(self, C: float) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts for all rows."""
        trained = self.ask(self.problems, C, np.ones(len(self.index)), None)
        return (
            np.asarray(trained.coef, dtype=np.float64),
            np.asarray(trained.intercept, dtype=np.float64),
        )


def _standardize(
    F: np.ndarray, coef: np.ndarray, intercept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the functions with mean 0 and deviation 1 over the rows."""
    values = F @ coef.T + intercept
    unit = np.maximum(values.std(axis=0), 1e-12)
    return coef / unit[:, None], (intercept - values.mean(axis=0)) / unit

"""One weight for each bin of an additive kernel: column generation with a certificate.

    min_p  SVM objective with the kernel Σ_k p_k κ_k,    p ≥ 0,  Σ_k a_k p_k = 1,
    a_k    mean squared distance, in the space of κ_k, of two rows of the same side

With q_k = a_k p_k these are the weights of the kernels κ_k/a_k on the simplex
(:mod:`fieldguide.select._multiple_weights`). Few bins get a weight, so few are looked at: the
restricted problem is solved for a working set, all bins are priced with the SVM's β, and those that
would help most join.

=====  ==========================================================================
S_k    βᵀK_kβ: ∂J/∂p_k = −½ S_k. By sorted values for the intersection, over the
       non-zero values of support rows for χ². No K_k is ever stored
gap    (J − (Σ yβ − ½ max_k S_k/a_k)) / J, over all bins, so that J is at most
       that share above the optimum
=====  ==========================================================================

χ² and intersection are homogeneous, p κ(x, z) = κ(px, pz), so the weighted kernel is the plain
kernel of scaled columns.

Reference: J. Zhao, L. Wang, R. Cabral, F. De la Torre, "Feature and region selection for visual
learning", CMU-RI-TR-12-14 (2014).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fieldguide.kernels import KERNELS
from fieldguide.select import _additive_bins
from fieldguide.select._multiple_weights import balance, lower_bound, solve_weights
from fieldguide.svm import solve_kernel

OPERATIONS = {
    "chi2": _additive_bins.CHI2,
    "intersection": _additive_bins.INTERSECTION,
    "linear": _additive_bins.LINEAR,
}
_MOST_ADDED = 50  # bins that join in a round
_FIRST_TOL = 1e-2  # of the restricted problem; halved in each round
_NEAR = 0.1
_AT_BOUND = 1e-3
_FLAT = 1e-10  # of the mean κ(x, x): the columns differ by rounding alone
_LEAST_SPREAD = 1e-3  # of the spread over all rows: a bin that separates without any spread


class Columns(NamedTuple):
    """The bins of histograms: the non-zero values of each, ascending."""

    op: int
    n: int
    starts: np.ndarray  # (D + 1,)
    rows: np.ndarray  # (non-zeros,)
    values: np.ndarray  # (non-zeros,) float64

    def price(self, bins: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return S_k of some bins."""
        out = np.empty(len(bins))
        _additive_bins.price_bins(
            self.op, self.starts, self.rows, self.values, bins, np.ascontiguousarray(beta), out
        )
        return out

    def apply(self, bins: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return K_kβ of some bins, (len(bins), n)."""
        out = np.empty((len(bins), self.n))
        _additive_bins.apply_bins(
            self.op, self.starts, self.rows, self.values, bins, np.ascontiguousarray(beta), out
        )
        return out


class Selection(NamedTuple):
    """What a problem of two sides got."""

    p: np.ndarray  # (D,) weights, Σ a_k p_k = 1
    beta: np.ndarray  # (n,) signed dual variables of the SVM with the kernel Σ p_k κ_k
    intercept: float
    objective: float
    gap: float  # relative
    n_steps: int


def store_columns(kernel: str, X: Any) -> Columns:
    """Return the columns of rows ``X``, dense or sparse."""
    compressed = sparse.csc_array(X)
    starts = compressed.indptr.astype(np.int64)
    rows = compressed.indices.astype(np.int32)
    values = compressed.data.astype(np.float64)
    _additive_bins.sort_columns(starts, rows, values)
    return Columns(OPERATIONS[kernel], X.shape[0], starts, rows, values)


def measure_spreads(columns: Columns, y: np.ndarray) -> np.ndarray:
    """Return a_k; infinity for bins that are the same in all rows.

    A bin that differs between the sides and hardly within them would have a kernel of any size:
    its spread counts as a thousandth of that over all rows.
    """
    bins = np.arange(len(columns.starts) - 1)
    own = columns.values if columns.op != _additive_bins.LINEAR else columns.values**2
    column = np.repeat(bins, np.diff(columns.starts))
    spread, n_pairs = np.zeros(len(bins)), 0

    def double(bins: np.ndarray, member: np.ndarray) -> np.ndarray:
        diagonal = np.bincount(column, own * member[columns.rows], minlength=len(spread))[bins]
        values: np.ndarray = 2 * (member.sum() * diagonal - columns.price(bins, member))
        return values

    for side in (y > 0, y <= 0):
        spread += double(bins, side.astype(np.float64))
        n_pairs += int(side.sum()) ** 2
    spread /= n_pairs
    size = np.bincount(column, own, minlength=len(bins)) / columns.n
    close = np.flatnonzero(spread <= 10 * _LEAST_SPREAD * size)
    overall = double(close, np.ones(columns.n)) / columns.n**2
    spread[close] = np.where(
        overall > _FLAT * size[close],
        np.maximum(spread[close], _LEAST_SPREAD * overall),
        np.inf,
    )
    return spread


def take_bins(X: Any, bins: np.ndarray) -> np.ndarray:
    """Return some columns of dense or CSC rows, dense and in double precision."""
    part = X[:, bins]
    part = part.toarray() if sparse.issparse(part) else part
    return np.ascontiguousarray(part, dtype=np.float64)


def weigh_rows(kernel: str, X: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return rows whose plain kernel is Σ_k p_k κ_k."""
    weighted: np.ndarray = X * (np.sqrt(p) if kernel == "linear" else p)
    return weighted


def plain_gram(kernel: str, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
    """Return the unweighted kernel of dense rows."""
    if kernel == "linear":
        products: np.ndarray = X @ (X if Y is None else Y).T
        return products
    return KERNELS[kernel](X, Y)


class _Chosen(NamedTuple):
    """The kernels κ_k/a_k of a working set of bins."""

    kernel: str
    columns: Columns
    bins: np.ndarray
    spreads: np.ndarray  # a_k of the bins
    X: np.ndarray  # their columns, (n, len(bins))

    def gram(self, q: np.ndarray) -> np.ndarray:
        """Return Σ_k q_k κ_k/a_k, (n, n)."""
        used = q > 0
        p = q[used] / self.spreads[used]
        return plain_gram(self.kernel, weigh_rows(self.kernel, self.X[:, used], p))

    def apply(self, beta: np.ndarray) -> np.ndarray:
        """Return K_kβ/a_k, (len(bins), n)."""
        applied: np.ndarray = self.columns.apply(self.bins, beta) / self.spreads[:, None]
        return applied


def select_bins(
    kernel: str,
    X: Any,
    columns: Columns,
    spreads: np.ndarray,
    y: np.ndarray,
    C: float,
    *,
    start: Selection | None = None,
    tol: float = 1e-2,
    max_iter: int = 100,
) -> Selection:
    """Solve one problem of two sides to a relative gap of ``tol`` over all bins.

    Parameters
    ----------
    kernel : {"chi2", "intersection", "linear"}
    X : ndarray or csc_array of shape (n, D)
    columns : Columns
        Of the same rows.
    spreads : ndarray of shape (D,)
        a_k, from :func:`measure_spreads`; ones make plain multiple kernel learning; infinity
        leaves a bin out.
    y : ndarray of shape (n,)
        +1 or −1.
    start : Selection, optional
        What the same rows got with another C.
    max_iter : int
        Rounds of pricing.
    """
    upper = np.full(len(y), float(C))
    every = np.flatnonzero(np.isfinite(spreads))
    q, beta = _begin(columns, spreads, every, y, C, start)
    bins, was_in, has_returned = np.flatnonzero(q), q > 0, np.zeros(len(q), dtype=bool)
    bound, inner_tol, n_steps, is_last = 0.0, _FIRST_TOL, 0, False
    for k in range(max_iter):
        chosen = _Chosen(kernel, columns, bins, spreads[bins], take_bins(X, bins))
        found = solve_weights(chosen, y, upper, q[bins], beta=beta, tol=inner_tol)
        beta, n_steps = found.beta, n_steps + found.n_steps
        prices = columns.price(every, beta) / spreads[every]
        bound = max(bound, lower_bound(y, upper, beta, float(prices.max())))
        gap = (found.primal - bound) / found.primal
        q[:] = 0
        q[bins] = found.sparse_weights()
        is_last = is_last or k == max_iter - 1
        if gap <= 0.5 * tol or is_last:
            svm = solve_kernel(chosen.gram(q[bins]), y, upper, beta0=snap(beta, C), tol=0.1 * tol)
            gap = (svm.primal - bound) / svm.primal
            if gap <= tol or is_last:
                break
            gap *= 0.2  # the restricted problem must be solved better
        order = np.argsort(-prices, kind="stable")[: len(bins) + _MOST_ADDED]
        order = order[~np.isin(every[order], bins)][:_MOST_ADDED]
        joins = every[order[prices[order] > found.t]]
        is_last = not len(joins) and found.gap > inner_tol  # rounding has ended it
        inner_tol = max(min(0.5 * inner_tol, 0.2 * gap), 1e-3 * tol)
        # A bin that was let go and came back stays, or the same ones would come and go for ever.
        has_returned[joins] |= was_in[joins]
        stays = bins[found.is_near(_NEAR) | has_returned[bins]]
        was_in[joins] = True
        bins = np.union1d(stays, joins)
    p = np.divide(q, spreads, out=np.zeros_like(q), where=q > 0)
    return Selection(p, svm.beta, svm.intercept, svm.primal, gap, n_steps)


def _begin(
    columns: Columns,
    spreads: np.ndarray,
    every: np.ndarray,
    y: np.ndarray,
    C: float,
    start: Selection | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first weights and β: of the bins whose means differ most, or of another C."""
    q = np.zeros(len(spreads))
    if start is not None:
        used = start.p > 0
        q[used] = start.p[used] * spreads[used]
        return q, start.beta * (C / max(float(np.abs(start.beta).max()), 1e-300))
    beta = balance(y, np.full(len(y), float(C)))
    prices = columns.price(every, beta) / spreads[every]
    first = every[np.argsort(-prices, kind="stable")[:_MOST_ADDED]]
    q[first] = 1 / len(first)
    return q, beta


def snap(beta: np.ndarray, C: float) -> np.ndarray:
    """Return β with what is nearly at a bound put on it, so that the support is small."""
    size = np.abs(beta)
    size = np.where(size < _AT_BOUND * C, 0.0, np.where(size > (1 - _AT_BOUND) * C, C, size))
    snapped: np.ndarray = np.sign(beta) * size
    return snapped

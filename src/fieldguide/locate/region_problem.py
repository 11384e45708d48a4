"""A support vector machine over weighted bags of regions: its solution for given weights.

    J(s) = min_{w, b}  ½ |w|² + C₁ Σ_{i∈+} ℓ(1 − Σ_k s_ik w·φ(h_ik) − b)
                              + C₂ Σ_{i∈−} Σ_k ℓ(1 + w·φ(h_ik) + b),       ℓ(t) = max(0, t)

=====  ==============================================================
h_ik   region k of image (bag) i
s_ik   its weight in a positive bag; regions of negatives stand alone
α      dual variables: of positive bags first, then of negative regions
f      w·φ(h_ik) + b, the score of a region
=====  ==============================================================

By Danskin's theorem ∂J/∂s_ik = −α_i w·φ(h_ik) = −α_i (f(h_ik) − b); the factor ½ that the reference
prints there is a misprint. Two forms have the same interface: :class:`GramProblem` on a kernel
matrix of all regions, with a free intercept, and :class:`RowProblem` on rows φ(h), whose intercept
is penalised by ½ (b/10)².

Reference: J. Zhao, L. Wang, R. Cabral, F. De la Torre, "Feature and region selection for visual
learning", CMU-RI-TR-12-14 (2014), section 4.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fieldguide.svm.coordinate_descent import solve_linear
from fieldguide.svm.shared_rows import Rows, share_rows
from fieldguide.svm.smo import solve_kernel

INTERCEPT_SCALING = 10.0


class Hyperplane(NamedTuple):
    """The solution for given weights."""

    objective: float  # J, as the primal value
    gap: float  # relative duality gap
    alpha: np.ndarray  # (n_positive_bags + n_negative_regions,), ≥ 0
    values: np.ndarray  # (n_positive_regions,) f − b
    intercept: float
    coef: np.ndarray  # w, or the kernel coefficient of every region, positive ones first


class GramProblem:
    """The problem on the kernel matrix of its regions.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Of the regions of positive bags, bag by bag, then of the negative regions.
    start : ndarray of shape (n_positive_bags + 1,)
        Where each positive bag begins, and where the last ends.
    """

    upper: np.ndarray  # (n_bags + n_negative,) the costs, set by price

    def __init__(self, K: np.ndarray, start: np.ndarray) -> None:
        self.start, self.n_positive = start, int(start[-1])
        self.bag = np.repeat(np.arange(len(start) - 1), np.diff(start))
        self.n_bags, self.n_negative = len(start) - 1, len(K) - self.n_positive
        self.K = K
        self.signs = np.repeat([1.0, -1.0], [self.n_bags, self.n_negative])
        size = self.n_bags + self.n_negative
        self._bags = np.empty((size, size), K.dtype)
        self._bags[self.n_bags :, self.n_bags :] = K[self.n_positive :, self.n_positive :]

    def price(self, positive: float, negative: float) -> None:
        """Set C₁ and C₂."""
        self.upper = np.repeat([positive, negative], [self.n_bags, self.n_negative])

    def solve(self, s: np.ndarray, alpha0: np.ndarray | None, tol: float) -> Hyperplane:
        """Return the solution for weights ``s`` (n_positive_regions,), from ``alpha0``."""
        n, m = self.n_positive, self.n_bags
        mean = sparse.csr_array((s.astype(self.K.dtype), np.arange(n), self.start), shape=(m, n))
        mixed = mean @ self.K[:n]  # bags × regions
        self._bags[:m, :m] = (mean @ mixed[:, :n].T).T
        self._bags[:m, m:] = mixed[:, n:]
        self._bags[m:, :m] = mixed[:, n:].T
        beta0 = None if alpha0 is None else alpha0 * self.signs
        found = solve_kernel(self._bags, self.signs, self.upper, beta0=beta0, tol=tol)
        coef = np.concatenate([s * found.beta[:m][self.bag], found.beta[m:]])
        values = (self.K[:n] @ coef.astype(self.K.dtype)).astype(np.float64)
        alpha = np.abs(found.beta)
        return Hyperplane(found.primal, found.gap, alpha, values, found.intercept, coef)


class RowProblem:
    """The problem on rows φ(h), dense or CSR, in the order of GramProblem.

    The rows of bags are written anew for each ``s`` where they stand, above those of the negative
    regions, which are never copied again.
    """

    upper: np.ndarray

    def __init__(self, X: Any, start: np.ndarray) -> None:
        self.start, self.n_positive = start, int(start[-1])
        self.bag = np.repeat(np.arange(len(start) - 1), np.diff(start))
        self.n_bags, self.n_negative = len(start) - 1, X.shape[0] - self.n_positive
        self.signs = np.repeat([1.0, -1.0], [self.n_bags, self.n_negative])
        self.positive = X[: self.n_positive]
        negative = X[self.n_positive :]
        if sparse.issparse(X):
            self._union = _Union(self.positive, self.bag, self.n_bags)
            self._rows: Rows = share_rows(sparse.vstack([self._union.matrix, negative], "csr"))
        else:
            self._rows = share_rows(np.concatenate([np.zeros_like(X[: self.n_bags]), negative]))

    def price(self, positive: float, negative: float) -> None:
        """Set C₁ and C₂."""
        self.upper = np.repeat([positive, negative], [self.n_bags, self.n_negative])

    def solve(self, s: np.ndarray, alpha0: np.ndarray | None, tol: float) -> Hyperplane:
        """Return the solution for weights ``s`` (n_positive_regions,), from ``alpha0``."""
        self._write_bags(s)
        found = solve_linear(
            self._rows,
            self.signs,
            sample_weight=self.upper,
            intercept_scaling=INTERCEPT_SCALING,
            tol=tol,
            alpha0=alpha0,
        )
        values = np.asarray(self.positive @ found.w, dtype=np.float64)
        return Hyperplane(found.primal, found.gap, found.alpha, values, found.b, found.w)

    def _write_bags(self, s: np.ndarray) -> None:
        """Put Σ_k s_ik φ(h_ik) into the first rows of the shared matrix, and its norms beside."""
        rows, m = self._rows, self.n_bags
        if rows.width:
            shape = (m, self.n_positive)
            weight = s.astype(self.positive.dtype)
            mean = sparse.csr_array((weight, np.arange(self.n_positive), self.start), shape=shape)
            bags = mean @ self.positive
            rows.data[: bags.size] = bags.ravel()
            rows.norms[:m] = np.einsum("ij,ij->i", bags, bags, dtype=np.float64)
            return
        values = self._union.weigh(s)
        rows.data[: len(values)] = values
        of_bag = np.repeat(np.arange(m), np.diff(rows.indptr[: m + 1]))
        rows.norms[:m] = np.bincount(of_bag, weights=values**2, minlength=m)


class _Union:
    """Weighted sums of sparse rows, bag by bag, in a pattern that no weight changes."""

    def __init__(self, rows: Any, bag: np.ndarray, n_bags: int) -> None:
        n_columns = rows.shape[1]
        self.region = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        self.data = rows.data
        code = bag[self.region].astype(np.int64) * n_columns + rows.indices
        found, place = np.unique(code, return_inverse=True)
        self.place = place.astype(np.int32 if len(found) < 2**31 else np.int64)
        indptr = np.searchsorted(found, np.arange(n_bags + 1) * n_columns)
        zeros = np.zeros(len(found), rows.dtype)
        self.matrix = sparse.csr_array(
            (zeros, found % n_columns, indptr), shape=(n_bags, n_columns)
        )

    def weigh(self, s: np.ndarray) -> np.ndarray:
        """Return the stored values of Σ_k s_k row_k."""
        weights = self.data * s[self.region]
        return np.bincount(self.place, weights=weights, minlength=self.matrix.nnz)


Problem = GramProblem | RowProblem

"""The squared error of a weighted vote, seen through rows or through sums over rows.

    J(w) = Σ_i v_i (w·f'_i − t_i)²,    f'_j = slope_j f_j + offset_j

The map of the columns holds the flips (slope −1, offset 1), a change of range, and the free bias:
a bias is the same as an offset that gives every column, and t, the mean 0. No copy of F is mapped;
maps are algebra on what F gives:

=====  ==============================================================================
F      (N, n) outputs of n features for N rows, float32 or float64, may be memory-mapped
v, t   (N,) weights and targets of the rows
G      FᵀDF with D = diag(v); G' = SGS + (Sh)oᵀ + o(Sh)ᵀ + |v| ooᵀ is that of the mapped columns
h      Fᵀv, the weighted sum of each column
c      F'ᵀDt, so that J = wᵀG'w − 2cᵀw + tᵀDt
e      c − G'w, minus half the gradient of J
=====  ==============================================================================

Solvers ask for a *table* of columns: it grows by the columns they name, holds the Gram matrix of
those, and tells J and e of weights on them.
"""

from typing import NamedTuple, Protocol

import numpy as np

from fieldguide.errors import InvalidArgument
from fieldguide.select import _steps


class ColumnMap(NamedTuple):
    """An affine map of each column."""

    slope: np.ndarray  # (n,)
    offset: np.ndarray  # (n,)
    top: np.ndarray | float = 1.0  # what 1 is mapped to: a flip is f ← top − f

    @classmethod
    def identity(cls, n: int) -> "ColumnMap":
        """Return the map that changes nothing."""
        return cls(np.ones(n), np.zeros(n))

    def flipped(self, flips: np.ndarray) -> "ColumnMap":
        """Return the map followed by f ← top − f in the columns ``flips``."""
        sign = np.where(flips, -1.0, 1.0)
        return ColumnMap(sign * self.slope, sign * self.offset + flips * self.top, self.top)

    def centred(self, h: np.ndarray, mass: float) -> "ColumnMap":
        """Return the map with the offset that gives every column the weighted mean 0."""
        return ColumnMap(self.slope, -self.slope * h / mass, self.top)


class Table(Protocol):
    """Some columns of an objective, and what they say of weights on them."""

    ids: np.ndarray
    gram: np.ndarray

    def add(self, ids: np.ndarray) -> None:
        """Take more columns into the table."""

    def look(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J and the slopes e of *all* n columns for weights on those of the table."""


class Objective(Protocol):
    """J as the solvers need it."""

    c: np.ndarray  # (n,)
    size: float  # tᵀDt
    whole_up_to: int  # with no more columns than that, choosing among them saves nothing

    def open_table(self) -> Table:
        """Return an empty table."""


class RowsObjective:
    """J from the rows of F; a look at all slopes reads F once.

    Parameters
    ----------
    F : ndarray of shape (N, n), C-contiguous
    t : ndarray of shape (N,)
    weight : ndarray of shape (N,), optional
    columns : ColumnMap, optional
    fit_bias : bool
        Leave a bias free: J is least over ``w·f' + b``.
    h, ft : ndarray of shape (n,), optional
        Fᵀv and FᵀDt where they are known; classes that share rows know them from sums.

    Examples
    --------
    >>> F = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> objective = RowsObjective(F, np.array([1.0, 0.0, 1.0]))
    >>> objective.size, objective.c.tolist()
    (2.0, [2.0, 1.0])
    """

    whole_up_to = 256

    def __init__(
        self,
        F: np.ndarray,
        t: np.ndarray,
        *,
        weight: np.ndarray | None = None,
        columns: ColumnMap | None = None,
        fit_bias: bool = False,
        h: np.ndarray | None = None,
        ft: np.ndarray | None = None,
    ) -> None:
        self.F = read_matrix(F)
        n_rows, n = self.F.shape
        t = np.asarray(t, dtype=np.float64)
        v = np.ones(n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
        if t.shape != (n_rows,) or v.shape != (n_rows,):
            raise InvalidArgument(
                f"t and weight must have one number for each of the {n_rows} rows of F; "
                f"got {t.shape} and {v.shape}."
            )
        columns = columns or ColumnMap.identity(n)
        mass, mean = v.sum(), 0.0
        if fit_bias:
            columns = columns.centred(self._project(v) if h is None else h, mass)
            mean = v @ t / mass
        self.columns, self.root = columns, np.sqrt(v)
        self.target = self.root * (t - mean)
        self.size = float(self.target @ self.target)
        # Σ_i v_i f_i (t_i − mean) = FᵀDt − mean h
        vt = v * (t - mean)
        inner = self._project(vt) if ft is None or h is None else ft - mean * h
        self.c = columns.slope * inner + columns.offset * vt.sum()

    def open_table(self) -> "RowsTable":
        """Return an empty table."""
        return RowsTable(self)

    def norms(self) -> np.ndarray:
        """Return Σ v f'² of each column."""
        squares, sums = np.empty((2, self.F.shape[1]))
        v = self.root**2
        _steps.back_project(self.F, v, sums)
        _steps.back_project(np.square(self.F, dtype=np.float64), v, squares)
        slope, offset, _ = self.columns
        norms: np.ndarray = slope**2 * squares + 2 * slope * offset * sums + offset**2 * v.sum()
        return norms

    def _project(self, q: np.ndarray) -> np.ndarray:
        out = np.empty(self.F.shape[1])
        _steps.back_project(self.F, q, out)
        return out


class RowsTable:
    """Mapped columns of F, one after the other, with their Gram matrix.

    Parameters
    ----------
    objective : RowsObjective

    Examples
    --------
    >>> F = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> table = RowsObjective(F, np.array([1.0, 0.0, 1.0])).open_table()
    >>> table.add(np.array([0]))
    >>> J, slopes = table.look(np.array([1.0]))
    >>> float(J), slopes.tolist()
    (0.0, [0.0, 0.0])
    """

    def __init__(self, objective: RowsObjective) -> None:
        self.objective = objective
        self.ids = np.empty(0, dtype=np.int64)
        self.values = np.empty((0, len(objective.F)))
        self.gram = np.empty((0, 0))

    def add(self, ids: np.ndarray) -> None:
        """Take more columns into the table. O(N m) for each."""
        own = self.objective
        # All columns at once come in order, and need no gathering.
        taken = own.F if len(ids) == own.F.shape[1] else own.F[:, ids]
        fresh = np.array(taken.T, dtype=np.float64, order="C")
        fresh *= own.columns.slope[ids, None]
        fresh += own.columns.offset[ids, None]
        fresh *= own.root
        self.gram = border(self.gram, self.values @ fresh.T, fresh @ fresh.T)
        self.values = np.concatenate([self.values, fresh])
        self.ids = np.concatenate([self.ids, ids])

    def look(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J and all slopes. O(N n)."""
        own = self.objective
        used = np.flatnonzero(w)
        missing = own.target - w[used] @ self.values[used]
        q = own.root * missing
        e = own.columns.slope * own._project(q) + own.columns.offset * q.sum()
        return float(missing @ missing), e


class GramObjective:
    """J from Gram matrices, whose size does not depend on the number of rows.

    Parameters
    ----------
    parts : sequence of (float, ndarray of shape (n, n))
        G = Σ factor · part, each part symmetric and C-contiguous.
    h, ft : ndarray of shape (n,)
        Fᵀv and FᵀDt.
    mass, sum_t, size : float
        Σv, Σvt and Σvt².
    columns : ColumnMap, optional
    fit_bias : bool

    Examples
    --------
    >>> F, t = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 0.0, 1.0])
    >>> objective = GramObjective(
    ...     [(1.0, F.T @ F)], F.sum(axis=0), F.T @ t, mass=3.0, sum_t=t.sum(), size=t @ t
    ... )
    >>> objective.c.tolist()
    [2.0, 1.0]
    """

    whole_up_to = 512

    def __init__(
        self,
        parts: list[tuple[float, np.ndarray]],
        h: np.ndarray,
        ft: np.ndarray,
        *,
        mass: float,
        sum_t: float,
        size: float,
        columns: ColumnMap | None = None,
        fit_bias: bool = False,
    ) -> None:
        # Without maps and weights there is nothing to compute; most of a small problem's time.
        self.is_plain = columns is None and not fit_bias and len(parts) == 1 and parts[0][0] == 1
        columns = columns or ColumnMap.identity(len(h))
        mean = sum_t / mass if fit_bias else 0.0
        if fit_bias:
            columns = columns.centred(h, mass)
        self.parts, self.columns, self.mass = parts, columns, mass
        self.h = columns.slope * h
        self.size = size - mean * sum_t
        self.c = columns.slope * (ft - mean * h) + columns.offset * (sum_t - mean * mass)

    def open_table(self) -> "GramTable":
        """Return an empty table."""
        return GramTable(self)


class GramTable:
    """Rows of the Gram matrices that belong to some columns.

    Parameters
    ----------
    objective : GramObjective

    Examples
    --------
    >>> F, t = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 0.0, 1.0])
    >>> table = GramObjective(
    ...     [(1.0, F.T @ F)], F.sum(axis=0), F.T @ t, mass=3.0, sum_t=t.sum(), size=t @ t
    ... ).open_table()
    >>> table.add(np.array([0, 1]))
    >>> J, slopes = table.look(np.array([1.0, 0.0]))
    >>> float(J), slopes.tolist()
    (0.0, [0.0, 0.0])
    """

    def __init__(self, objective: GramObjective) -> None:
        self.objective = objective
        self.ids = np.empty(0, dtype=np.int64)
        self.gram = np.empty((0, 0))

    def add(self, ids: np.ndarray) -> None:
        """Take more columns into the table. O(m) for each."""
        old, own = self.ids, self.objective
        if own.is_plain and len(ids) == len(own.c):
            self.gram, self.ids = own.parts[0][1], ids
            return
        self.gram = border(self.gram, self._block(old, ids), self._block(ids, ids))
        self.ids = np.concatenate([old, ids])

    def look(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J and all slopes. O(n) for each weight that is not 0."""
        own = self.objective
        used = np.flatnonzero(w)
        ids, w = self.ids[used], w[used]
        slope, offset, _ = own.columns
        product = np.zeros(len(own.c))
        for factor, part in own.parts:
            _steps.add_rows(part, ids, w if own.is_plain else factor * slope[ids] * w, product)
        if not own.is_plain:
            at_offset, at_h = float(offset[ids] @ w), float(own.h[ids] @ w)
            product = slope * product + at_offset * own.h + (at_h + own.mass * at_offset) * offset
        e = own.c - product
        return own.size - float(w @ (own.c[ids] + e[ids])), e

    def _block(self, rows: np.ndarray, ids: np.ndarray) -> np.ndarray:
        own = self.objective
        block = np.zeros((len(rows), len(ids)))
        for factor, part in own.parts:
            _steps.add_block(factor, part, rows, ids, block)
        if not own.is_plain:
            slope, offset, _ = own.columns
            _steps.map_block(slope, offset, own.h, own.mass, rows, ids, block)
        return block


def read_matrix(F: np.ndarray) -> np.ndarray:
    """Return F as compiled loops read it: floats in row order, without a copy where it is so."""
    F = np.asarray(F)
    if F.ndim != 2:
        raise InvalidArgument(f"F must have two dimensions, rows and features; got {F.ndim}.")
    if F.dtype not in (np.float32, np.float64):
        F = F.astype(np.float64)
    return np.ascontiguousarray(F).view(np.ndarray)


def border(gram: np.ndarray, side: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Return the matrix with more rows and columns."""
    if not len(gram):
        return np.ascontiguousarray(corner)
    m = len(gram)
    wider = np.empty((m + len(corner),) * 2)
    wider[:m, :m], wider[:m, m:], wider[m:, :m], wider[m:, m:] = gram, side, side.T, corner
    return wider

"""The nearest pictures of each: among all where they are few, else among those in cells nearby.

Comparing all with all takes four times as long for twice as many. Of more than a few thousand, rows
are dealt to cells, each around a middle that k-means finds in a sample; a row is then compared with
those in the 16 cells whose middles are nearest to it. There are 2 √n cells, so that time grows as
n √n. What is found is nearly always the nearest; docs/scale.md has how often.

Rows have length one, and the nearest have the largest product.
"""

from typing import NamedTuple

import numpy as np

from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide.errors import InvalidArgument
from fieldguide.features.codebook import assign_rows, cluster_rows, nearest_words
from fieldguide.features.components import find_components

EXACT = 8192  # rows up to which all are compared with all
N_DIRECTIONS = 128
_N_SAMPLE = 1024  # rows, to say which directions vary most
_PROBES = 16  # cells that a row is compared with
_CELLS = 2.0  # times √n
_DRAWN = 32  # rows for each cell, of which k-means finds the middles
_ROUNDS = 8
_CROWDED = 8  # times the mean: a cell with more rows is represented by so many
_BLOCK = 8192  # rows that are looked for at a time
_CHUNK = 1024  # rows whose products are in memory at a time


class Reduction(NamedTuple):
    """Rows in the directions that vary most.

    Examples
    --------
    >>> X = np.array([[0.0, 1], [1, 1], [5, 1]])
    >>> Reduction.fit(X).apply(X)[:, 0].tolist()
    [-1.0, -1.0, 1.0]
    """

    centre: np.ndarray  # (d,) float32
    directions: np.ndarray  # (d, at most N_DIRECTIONS) float32

    @classmethod
    def fit(cls, X: np.ndarray) -> "Reduction":
        """Return the directions of about a thousand of the rows, evenly drawn.

        Parameters
        ----------
        X : array of shape (n, d)
        """
        sample = np.asarray(X[:: -(-len(X) // _N_SAMPLE)], dtype=np.float32)
        centre, axes = find_components(sample, N_DIRECTIONS)
        return cls(centre.astype(np.float32), np.ascontiguousarray(axes.T))

    def apply(self, X: np.ndarray, *, n_jobs: int | None = 1) -> np.ndarray:
        """Return rows of length 1 in these directions, (n, at most N_DIRECTIONS).

        Parameters
        ----------
        X : array of shape (n, d)
        n_jobs : int, optional
            Threads; the answer does not depend on it.
        """
        rows = np.empty((len(X), self.directions.shape[1]), dtype=np.float32)

        def reduce_part(start: int) -> None:
            part = np.asarray(X[start : start + _CHUNK], dtype=np.float32) - self.centre
            reduced = part @ self.directions
            length = np.linalg.norm(reduced, axis=1, keepdims=True)
            rows[start : start + _CHUNK] = reduced / np.maximum(length, 1e-9)

        with one_blas_thread():  # another number of threads may sum in another order
            for _ in map_in_order(reduce_part, range(0, len(X), _CHUNK), n_jobs=n_jobs):
                pass
        return rows


def reduce_rows(X: np.ndarray, *, n_jobs: int | None = 1) -> np.ndarray:
    """Return rows of length 1 in the directions that vary most, (n, at most N_DIRECTIONS).

    Parameters
    ----------
    X : array of shape (n, d)
    n_jobs : int, optional
        Threads; the answer does not depend on it.

    Examples
    --------
    >>> reduce_rows(np.array([[0.0, 1], [1, 1], [5, 1]]))[:, 0].tolist()
    [-1.0, -1.0, 1.0]
    """
    return Reduction.fit(X).apply(X, n_jobs=n_jobs)


def find_close(
    rows: np.ndarray, k: int, asked: np.ndarray | None = None, *, n_jobs: int | None = 1
) -> np.ndarray:
    """Return the ``k`` rows nearest to each, nearest first, itself not among them.

    Parameters
    ----------
    rows : array of shape (n, d), float32
        Of length one.
    k : int
        Fewer where there are not so many others.
    asked : array of shape (n, d), float32, optional
        What is compared with the rows in place of each, such as its mirror image.
    n_jobs : int, optional
        Threads; the answer does not depend on it.

    Returns
    -------
    array of shape (n, min(k, n - 1)), int64

    Examples
    --------
    >>> find_close(np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32), 1).tolist()
    [[1], [0], [1]]
    """
    n = len(rows)
    asked = rows if asked is None else asked
    if not (np.isfinite(rows).all() and np.isfinite(asked).all()):
        raise InvalidArgument("Rows of find_close must be finite; they have NaN or infinity.")
    k = max(min(k, n - 1), 0)
    if n < 2 or k == 0:
        return np.empty((n, k), dtype=np.int64)
    if n <= EXACT:
        cells, middles, step = None, None, _CHUNK
    else:
        cells, middles = deal_cells(rows, n_jobs=n_jobs)
        step = _BLOCK

    def find_some(start: int) -> np.ndarray:
        ids = np.arange(start, min(start + step, n))
        if cells is None or middles is None:
            return _find_among_all(rows, asked, ids, k)
        near_cells, _ = nearest_words(asked[ids], middles, min(_PROBES, len(middles)))
        found = _find_in_cells(rows, asked, ids, near_cells, cells, k)
        short = np.flatnonzero((found < 0).any(axis=1))  # too few rows in all those cells
        found[short] = _find_among_all(rows, asked, ids[short], k)
        return found

    with one_blas_thread():  # another number of threads may sum in another order
        return np.concatenate(list(map_in_order(find_some, range(0, n, step), n_jobs=n_jobs)))


def find_largest(values: np.ndarray, n: int) -> np.ndarray:
    """Return the columns of the ``n`` largest of the ``values`` of each row, largest first.

    Examples
    --------
    >>> find_largest(np.array([[3, 9, 3, 5], [1, 0, 2, 0]]), 2).tolist()
    [[1, 3], [2, 0]]
    """
    part = np.argpartition(-values, min(n, values.shape[1] - 1), axis=1)[:, :n]
    part.sort(axis=1)  # so that equal values come in the order of their ids
    order = np.argsort(-np.take_along_axis(values, part, axis=1), axis=1, kind="stable")
    return np.take_along_axis(part, order, axis=1)


def deal_cells(rows: np.ndarray, *, n_jobs: int | None = 1) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the rows of each cell, and the middles of the cells."""
    n = len(rows)
    n_cells = round(_CELLS * n**0.5)
    rng = np.random.default_rng(0)
    drawn = np.sort(rng.permutation(n)[: _DRAWN * n_cells])
    with one_blas_thread():
        middles = cluster_rows(rows[drawn], n_cells, rng, n_iter=_ROUNDS, n_jobs=n_jobs)
        cell, _ = assign_rows(rows, middles, n_jobs)
    order = np.argsort(cell, kind="stable")
    cells = np.split(order, np.cumsum(np.bincount(cell, minlength=n_cells))[:-1])
    most = _CROWDED * n // n_cells
    return [ids[:: -(-len(ids) // most)] if len(ids) > most else ids for ids in cells], middles


def _find_among_all(rows: np.ndarray, asked: np.ndarray, ids: np.ndarray, k: int) -> np.ndarray:
    found = np.empty((len(ids), k), dtype=np.int64)
    for start in range(0, len(ids), _CHUNK):
        part = ids[start : start + _CHUNK]
        likeness = asked[part] @ rows.T
        likeness[np.arange(len(part)), part] = -np.inf
        found[start : start + _CHUNK] = find_largest(likeness, k)
    return found


def _find_in_cells(
    rows: np.ndarray,
    asked: np.ndarray,
    ids: np.ndarray,
    near_cells: np.ndarray,
    cells: list[np.ndarray],
    k: int,
) -> np.ndarray:
    """Return the ``k`` nearest of each in its cells, -1 where there are too few."""
    n_asked, n_probes = near_cells.shape
    likeness = np.full((n_asked, n_probes, k), -np.inf, dtype=np.float32)
    index = np.full((n_asked, n_probes, k), -1, dtype=np.int64)
    by_cell = np.argsort(near_cells, axis=None, kind="stable")
    bounds = np.searchsorted(near_cells.ravel()[by_cell], np.arange(len(cells) + 1))
    for c, members in enumerate(cells):
        places = by_cell[bounds[c] : bounds[c + 1]]
        if not len(places) or not len(members):
            continue
        at, probe = np.divmod(places, n_probes)
        values = asked[ids[at]] @ rows[members].T
        values[ids[at][:, None] == members] = -np.inf
        best = find_largest(values, min(k, len(members)))
        width = best.shape[1]
        likeness[at, probe, :width] = np.take_along_axis(values, best, axis=1)
        index[at, probe, :width] = members[best]
    index[np.isneginf(likeness)] = -1
    flat = index.reshape(n_asked, -1)
    order = np.argsort(flat, axis=1)  # of equals, the first
    values = np.take_along_axis(likeness.reshape(n_asked, -1), order, axis=1)
    best = np.take_along_axis(order, find_largest(values, k), axis=1)
    return np.take_along_axis(flat, best, axis=1)

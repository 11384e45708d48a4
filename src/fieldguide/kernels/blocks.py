"""A kernel matrix in blocks of rows: whole, streamed, or written into a file of any size.

Rows are summed in chunks whose size depends on the number of columns alone; threads take whole
chunks, so that no result depends on their number.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fieldguide._check import check_choice, check_number, check_seed
from fieldguide._parallel import map_in_order
from fieldguide.errors import InvalidArgument
from fieldguide.kernels import _compiled
from fieldguide.kernels._pairs import DEFINITIONS, Pairs, choose_pairs
from fieldguide.kernels._rows import Rows, check_pair, check_rows, compress, is_sparse

BLOCK_BYTES = 2**26


def kernel_blocks(
    X: Any,
    Y: Any = None,
    kernel: str = "chi2",
    *,
    gamma: float | None = None,
    block_rows: int | None = None,
    dtype: Any = None,
    n_jobs: int | None = None,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Return an iterator over the rows of a kernel matrix that need not fit in memory.

    Input is checked and γ is found at the call; each block is computed when it is asked for.
    To fill a file instead, pass a ``numpy.memmap`` as ``out`` of the kernel's own function.

    Parameters
    ----------
    X, Y : arrays or sparse arrays of shape (m, D) and (n, D)
        ``Y`` is ``X`` by default.
    kernel : {"chi2", "intersection", "jensen_shannon", "hellinger", "exponential_chi2", "rbf"}
    gamma : float, optional
        For the last two; by default :func:`default_gamma` of ``Y`` if given, otherwise of ``X``.
    block_rows : int, optional
        Rows of one block; by default as many as take 64 MB.
    dtype, n_jobs
        As of :func:`chi2_kernel`.

    Yields
    ------
    rows : slice
        The rows of ``X`` that the block holds, from first to last.
    block : ndarray of shape (block_rows, n)

    Examples
    --------
    >>> from fieldguide.kernels import kernel_blocks
    >>> X = [[1, 0], [0, 1], [1, 1]]
    >>> for rows, block in kernel_blocks(X, kernel="intersection", block_rows=2):
    ...     print(rows.start, rows.stop, block.tolist())
    0 2 [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    2 3 [[1.0, 1.0, 2.0]]
    """
    check_choice("kernel_blocks", "kernel", kernel, tuple(DEFINITIONS))
    if block_rows is not None:
        check_number("kernel_blocks", "block_rows", block_rows, 1, 2**62, integer=True)
    pairs, found, kind = _prepare("kernel_blocks", kernel, X, Y, gamma, dtype, is_half=False)
    n_rows, n_columns = pairs.shape
    height = block_rows or max(1, BLOCK_BYTES // max(n_columns * kind.itemsize, 1))

    def blocks() -> Iterator[tuple[slice, np.ndarray]]:
        for low in range(0, n_rows, height):
            high = min(low + height, n_rows)
            block = np.empty((high - low, n_columns), dtype=kind)
            _fill_rows(pairs, found, low, high, block, n_jobs)
            yield slice(low, high), block

    return blocks()


def fill_kernel(
    kernel: str,
    X: Any,
    Y: Any = None,
    *,
    gamma: float | None = None,
    dtype: Any = None,
    out: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return the whole matrix of a kernel, in ``out`` where that is given."""
    owner = f"{kernel}_kernel"
    # Half a symmetric matrix is mirrored in memory; a file is written in order instead.
    is_half = Y is None and not isinstance(out, np.memmap)
    if out is not None and dtype is None:
        dtype = getattr(out, "dtype", None)
    pairs, found, kind = _prepare(owner, kernel, X, Y, gamma, dtype, is_half)
    if out is None:
        out = np.empty(pairs.shape, dtype=kind)
    elif not isinstance(out, np.ndarray) or out.shape != pairs.shape or out.dtype != kind:
        got = f"{out.shape} of {out.dtype}" if isinstance(out, np.ndarray) else repr(type(out))
        raise InvalidArgument(
            f"out of {owner} must be an array of shape {pairs.shape} of {kind}; got {got}."
        )
    elif not out.flags.writeable:
        raise InvalidArgument(f"out of {owner} must be writeable; open it with mode 'r+' or 'w+'.")
    _fill_rows(pairs, found, 0, len(out), out, n_jobs)
    if is_half:
        _compiled.mirror(np.asarray(out))
    return out


def default_gamma(
    X: Any,
    kernel: str = "exponential_chi2",
    *,
    n_pairs: int | None = 200_000,
    random_state: Any = 0,
) -> float:
    """Return γ = 1 / mean distance of two different rows; 1 where all rows are equal.

    Find it once from the training rows and pass it on with every block of test rows.

    Parameters
    ----------
    X : array or sparse array of shape (n, D)
        Training rows.
    kernel : {"exponential_chi2", "rbf"}
        Which distance: Σ (x−z)²/(x+z), or Σ (x−z)².
    n_pairs : int, optional
        With more pairs than this, the mean of Σ (x−z)²/(x+z) is taken over this many drawn
        pairs (200,000 give it to about one part in a thousand); None takes all of them. The mean
        of Σ (x−z)² is always exact.
    random_state : int, Generator, RandomState or None
        Seed of the draw.

    Examples
    --------
    >>> from fieldguide.kernels import default_gamma
    >>> default_gamma([[1, 0], [0, 1]])
    0.5
    """
    check_choice("default_gamma", "kernel", kernel, ("exponential_chi2", "rbf"))
    if n_pairs is not None:
        check_number("default_gamma", "n_pairs", n_pairs, 1, 2**62, integer=True)
    rows = check_rows("default_gamma", "X", X, is_histogram=DEFINITIONS[kernel].is_histogram)
    return _find_gamma(rows, kernel, n_pairs, check_seed("default_gamma", random_state))


def _prepare(
    owner: str, kernel: str, X: Any, Y: Any, gamma: float | None, dtype: Any, is_half: bool
) -> tuple[Pairs, float | None, np.dtype]:
    """Return the pairs to sum, γ (None for additive kernels) and the type of the result."""
    definition = DEFINITIONS[kernel]
    rows = check_rows(owner, "X", X, is_histogram=definition.is_histogram)
    others = rows
    if Y is not None:
        others = check_rows(owner, "Y", Y, is_histogram=definition.is_histogram)
        rows, others = check_pair(owner, rows, others)
    kind = _check_type(owner, rows.dtype if dtype is None else dtype)
    if gamma is not None:
        if not definition.is_distance:
            raise InvalidArgument(
                f"gamma of {owner} has no meaning for the kernel {kernel!r}; leave it out."
            )
        check_number(owner, "gamma", gamma, 0, np.finfo(np.float64).max)
    elif definition.is_distance:
        gamma = _find_gamma(others, kernel, n_pairs=200_000, random_state=0)
    return choose_pairs(rows, others, definition, is_half=is_half), gamma, kind


def _check_type(owner: str, dtype: Any) -> np.dtype:
    try:
        kind: np.dtype = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidArgument(f"dtype of {owner} must be float32 or float64; got {dtype!r}.")
    return kind


def _fill_rows(
    pairs: Pairs, gamma: float | None, low: int, high: int, out: np.ndarray, n_jobs: int | None
) -> None:
    """Write rows low to high to ``out``; of half a matrix, what lies right of the diagonal."""
    height = pairs.chunk_rows()

    def fill(first: int) -> None:
        last = min(first + height, high)
        values = pairs.values(first, last, gamma)
        out[first - low : last - low, out.shape[1] - values.shape[1] :] = values

    for _ in map_in_order(fill, range(low, high, height), n_jobs=n_jobs):
        pass


def _find_gamma(rows: Rows, kernel: str, n_pairs: int | None, random_state: int) -> float:
    n = rows.shape[0]
    if n < 2:
        return 1.0
    if kernel == "rbf":
        mean = _mean_squared_distance(rows)
    elif n_pairs is None or n * (n - 1) // 2 <= n_pairs:
        mean = _mean_distance(rows, kernel)
    else:
        mean = _mean_of_drawn(rows, n_pairs, np.random.default_rng(random_state))
    return 1 / mean if mean > np.finfo(np.float64).tiny else 1.0


def _mean_squared_distance(rows: Rows) -> float:
    """Return the mean over pairs from the mean row: Σ_{i<j} |x_i − x_j|² = n Σ |x_i − mean|²."""
    n: int = rows.shape[0]
    mean = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
    if is_sparse(rows):
        squares = rows.data.astype(np.float64)
        total = max(float(squares @ squares - n * (mean @ mean)), 0.0)
    else:
        parts = (rows[low : low + 1024] - mean for low in range(0, n, 1024))
        total = sum(float(np.vdot(part, part)) for part in parts)
    return 2 * total / (n - 1)


def _mean_distance(rows: Rows, kernel: str) -> float:
    n: int = rows.shape[0]
    pairs = choose_pairs(rows, rows, DEFINITIONS[kernel], is_half=True)
    height = pairs.chunk_rows()
    total = sum(
        float(np.triu(pairs.distances(low, min(low + height, n)), k=1).sum())
        for low in range(0, n, height)
    )
    return 2 * total / (n * (n - 1))


def _mean_of_drawn(rows: Rows, n_pairs: int, rng: np.random.Generator) -> float:
    n = rows.shape[0]
    left = rng.integers(0, n, n_pairs)
    right = (left + rng.integers(1, n, n_pairs)) % n
    distances, weights = np.empty(n_pairs), np.empty(n)
    if is_sparse(rows):
        indptr, indices, data = compress(rows)
        _compiled.weigh_sparse(indptr, data, False, weights)
        _compiled.chi2_distances_sparse(indptr, indices, data, weights, left, right, distances)
    else:
        _compiled.weigh_dense(rows, weights)
        _compiled.chi2_distances_dense(rows, weights, left, right, distances)
    return float(distances.mean())

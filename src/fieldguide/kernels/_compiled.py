"""Compiled loops of the kernels: sums over bins in float64, always in the order of the bins.

One term is symmetric to the last bit in its two values and exact where they are equal, so that
halves of a symmetric matrix, blocks and whole matrices agree bit for bit. Divisions are written
``np.divide``: the operator would test for zero and keep the loops from using vector registers.
"""

import numpy as np

from fieldguide._arrays import Floats, Ints
from fieldguide._jit import jit

CHI2, INTERSECTION, JENSEN_SHANNON, DOT = range(4)


@jit
def chi2_term(x: float, z: float) -> float:
    """Return xz/(x+z) for values that are not both 0, without overflow of the product."""
    low = x if x < z else z
    high = z if x < z else x
    term: float = low * np.divide(high, low + high)
    return term


@jit
def jensen_shannon_term(x: float, z: float, log_x: float, log_z: float) -> float:
    """Return x·log2((x+z)/x) + z·log2((x+z)/z) from values and their log2 (0 for the value 0).

    With r = low/high it is high·((1+r)·log2(1+r) + r·log2(1/r)); log2(1+r) is 2·artanh(s)/ln 2
    with s = r/(2+r) ≤ 1/3. Its series in t = s², interpolated at the Chebyshev points of [0, 1/9],
    is off by 5e-17; it is summed in pairs, which wait less for each other than Horner's rule.
    """
    low = x if x < z else z
    high = z if x < z else x
    r = np.divide(low, high)
    s = np.divide(r, 2.0 + r)
    t = s * s
    t2 = t * t
    t4 = t2 * t2
    first = (2.8853900817779268 + 0.9617966939262051 * t) + t2 * (
        0.5770780162875998 + 0.41219859090498345 * t
    )
    second = (0.32059844553352324 + 0.26232321663323 * t) + t2 * (
        0.2216509953409951 + 0.19608109023253079 * t
    )
    third = 0.14254965360722935 + 0.2565221979515153 * t
    log_1_plus_r = s * (first + t4 * (second + t4 * third))
    term: float = high * ((1.0 + r) * log_1_plus_r + r * abs(log_x - log_z))
    return term


@jit
def index_columns(
    indptr: Ints, indices: Ints, data: Floats, starts: Ints, rows: Ints, values: Floats,
    places: Ints,
) -> None:  # fmt: skip
    """Turn rows into columns; places[p] is where entry p of the rows went. O(entries + D)."""
    for p in range(len(indices)):
        starts[indices[p] + 1] += 1
    for k in range(len(starts) - 1):
        starts[k + 1] += starts[k]
    next_place = starts[:-1].copy()
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            q = next_place[indices[p]]
            next_place[indices[p]] = q + 1
            rows[q] = i
            values[q] = data[p]
            places[p] = q


@jit
def sum_sparse(
    low: int, indptr: Ints, indices: Ints, data: Floats, logs: Floats, firsts: Ints, ends: Ints,
    rows: Ints, values: Floats, value_logs: Floats, op: int, start: int, sums: Floats,
) -> None:  # fmt: skip
    """Add terms of common bins to sums (m, n - start); its row 0 is row ``low``. O(common bins).

    Entry p of a row meets the entries firsts[p] to ends[its bin] of that bin's column.
    """
    for i in range(len(sums)):
        line = sums[i]
        for p in range(indptr[low + i], indptr[low + i + 1]):
            x = data[p]
            first, end = firsts[p], ends[indices[p]]
            if op == CHI2:
                for q in range(first, end):
                    line[rows[q] - start] += chi2_term(x, values[q])
            elif op == INTERSECTION:
                for q in range(first, end):
                    z = values[q]
                    line[rows[q] - start] += x if x < z else z
            elif op == JENSEN_SHANNON:
                log_x = logs[p]
                for q in range(first, end):
                    line[rows[q] - start] += jensen_shannon_term(x, values[q], log_x, value_logs[q])
            else:
                for q in range(first, end):
                    line[rows[q] - start] += x * values[q]


@jit
def sum_dense(
    X: Floats, logs: Floats, tile: Floats, tile_logs: Floats, op: int, offset: int, sums: Floats
) -> None:
    """Add terms of rows X (m, D) and a transposed tile (D, width) to sums from column offset.

    O(m · D · width), vectorised over the tile; a bin that is 0 in X is skipped, so that no
    division is 0/0.
    """
    width = tile.shape[1]
    for i in range(len(X)):
        line = sums[i, offset : offset + width]
        for k in range(X.shape[1]):
            x = X[i, k]
            if x == 0:
                continue
            bins = tile[k]
            if op == CHI2:
                for j in range(width):
                    line[j] += chi2_term(x, bins[j])
            elif op == INTERSECTION:
                for j in range(width):
                    z = bins[j]
                    line[j] += x if x < z else z
            else:
                log_x = logs[i, k]
                bin_logs = tile_logs[k]
                for j in range(width):
                    line[j] += jensen_shannon_term(x, bins[j], log_x, bin_logs[j])


@jit
def weigh_sparse(indptr: Ints, data: Floats, is_square: bool, weights: Floats) -> None:
    """Write Σx or Σx² of each row, bins in order, to weights (n,). O(entries)."""
    for i in range(len(weights)):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * data[p] if is_square else data[p]
        weights[i] = total


@jit
def weigh_dense(X: Floats, weights: Floats) -> None:
    """Write Σx of each row, bins in order, to weights (n,). O(n · D)."""
    for i in range(len(X)):
        total = 0.0
        for k in range(X.shape[1]):
            total += X[i, k]
        weights[i] = total


@jit
def to_distances(sums: Floats, weights: Floats, other_weights: Floats, scale: float) -> None:
    """Turn sums (m, n) into max(0, w_i + w_j − scale · sum) in place."""
    for i in range(len(sums)):
        weight = weights[i]
        for j in range(sums.shape[1]):
            distance = (weight + other_weights[j]) - scale * sums[i, j]
            sums[i, j] = distance if distance > 0.0 else 0.0


@jit
def redo_close(
    X: Floats, Y: Floats, weights: Floats, other_weights: Floats, share: float, distances: Floats
) -> None:
    """Sum (x−z)² anew where distances (m, n) < share · (w_i + w_j). O(m · n + close pairs · D)."""
    for i in range(len(X)):
        for j in range(len(Y)):
            if distances[i, j] < share * (weights[i] + other_weights[j]):
                total = 0.0
                for k in range(X.shape[1]):
                    gap = np.float64(X[i, k]) - np.float64(Y[j, k])
                    total += gap * gap
                distances[i, j] = total


@jit
def mirror(K: Floats) -> None:
    """Copy the upper triangle of K (n, n) to the lower one, by tiles that fit the cache."""
    n = len(K)
    size = 64
    for top in range(0, n, size):
        for left in range(top, n, size):
            for j in range(left, min(left + size, n)):
                for i in range(top, min(top + size, j)):
                    K[j, i] = K[i, j]


@jit
def chi2_distances_sparse(
    indptr: Ints, indices: Ints, data: Floats, weights: Floats, left: Ints, right: Ints,
    distances: Floats,
) -> None:  # fmt: skip
    """Write Σ(x−z)²/(x+z) of the row pairs (left, right) to distances. O(entries of each pair)."""
    for at in range(len(left)):
        p, p_end = indptr[left[at]], indptr[left[at] + 1]
        q, q_end = indptr[right[at]], indptr[right[at] + 1]
        common = 0.0
        while p < p_end and q < q_end:
            if indices[p] == indices[q]:
                common += chi2_term(data[p], data[q])
                p += 1
                q += 1
            elif indices[p] < indices[q]:
                p += 1
            else:
                q += 1
        distance = (weights[left[at]] + weights[right[at]]) - 4.0 * common
        distances[at] = max(distance, 0.0)


@jit
def chi2_distances_dense(
    X: Floats, weights: Floats, left: Ints, right: Ints, distances: Floats
) -> None:
    """Write Σ(x−z)²/(x+z) of the row pairs (left, right) of X (n, D) to distances. O(pairs · D)."""
    for at in range(len(left)):
        row, other = X[left[at]], X[right[at]]
        common = 0.0
        for k in range(X.shape[1]):
            if row[k] != 0 and other[k] != 0:
                common += chi2_term(np.float64(row[k]), np.float64(other[k]))
        distance = (weights[left[at]] + weights[right[at]]) - 4.0 * common
        distances[at] = max(distance, 0.0)

"""Compiled loops of dense SIFT: blur, gradients by direction, sums of cells, lengths of rows."""

import numpy as np

from fieldguide._jit import jit

CLIP = 0.2  # of a row of length 1; no direction of a cell counts more


@jit
def blur_into(
    grey: np.ndarray, taps: np.ndarray, rows: np.ndarray, columns: np.ndarray, out: np.ndarray
) -> None:
    """Convolve (h, w) with taps down, then across; rows and columns are mirrored places."""
    height, width = grey.shape
    n = len(taps)
    line = np.empty(width, np.float32)
    wide = np.empty(len(columns), np.float32)
    for y in range(height):
        line[:] = 0
        for d in range(n):
            source = grey[rows[y + d]]
            tap = taps[d]
            for x in range(width):
                line[x] += tap * source[x]
        for p in range(len(columns)):
            wide[p] = line[columns[p]]
        target = out[y]
        target[:] = 0
        for d in range(n):
            tap = taps[d]
            for x in range(width):
                target[x] += tap * wide[x + d]


@jit
def write_planes(grey: np.ndarray, planes: np.ndarray) -> None:
    """Share each gradient of (h, w) among two of 8 neighbouring directions: (h, w · 8)."""
    height, width = grey.shape
    planes[:] = 0
    turns = np.empty(width, np.float32)
    sizes = np.empty(width, np.float32)
    for y in range(1, height - 1):
        above, line, below = grey[y - 1], grey[y], grey[y + 1]
        for x in range(1, width - 1):
            dx = line[x + 1] - line[x - 1]
            dy = above[x] - below[x]
            across, up = abs(dx), abs(dy)
            low, high = min(across, up), max(across, up)
            # arctan(t)·4/π on [0, 1] as a polynomial that is off by less than 3e-6
            t = np.divide(low, max(high, np.float32(1e-30)))
            s = t * t
            turn = np.float32(-0.014923894) * s + np.float32(0.06704028)
            turn = turn * s + np.float32(-0.14824694)
            turn = turn * s + np.float32(0.24642716)
            turn = turn * s + np.float32(-0.42350916)
            turn = (turn * s + np.float32(1.2732106)) * t
            turn = np.float32(2) - turn if up > across else turn
            turn = np.float32(4) - turn if dx < 0 else turn
            turns[x] = np.float32(8) - turn if dy < 0 else turn
            sizes[x] = np.sqrt(dx * dx + dy * dy)
        target = planes[y]
        for x in range(1, width - 1):
            k = np.int32(turns[x])
            share = sizes[x] * (turns[x] - np.float32(k))
            target[8 * x + (k & 7)] = sizes[x] - share
            target[8 * x + ((k + 1) & 7)] = share


@jit
def pool_cells(
    planes: np.ndarray, xs: np.ndarray, ys: np.ndarray, taps: np.ndarray, out: np.ndarray
) -> None:
    """Sum planes (h, w · 8) into the 16 cells of each window, out (rows, columns, 4, 4, 8).

    O(windows · 4 · taps · 8 · (4 + step)).
    """
    height, width = planes.shape[0], planes.shape[1] // 8
    n = taps.shape[1]
    reach = n // 2
    first = np.zeros(4, np.int64)
    last = np.zeros(4, np.int64)
    for i in range(4):
        first[i] = n
        for d in range(n):
            if taps[i, d] > 0:
                first[i] = min(first[i], d)
                last[i] = d + 1
        # Rows are summed four at a time; a tap that is 0 costs less than a row by itself.
        n_taps = (last[i] - first[i] + 3) // 4 * 4
        first[i] = max(0, min(first[i], n - n_taps))
        last[i] = min(n, first[i] + n_taps)
    line = np.empty(width * 8, np.float32)
    # The cells of a column of windows lie together, so that rows of 32 fill vector registers.
    lines = np.zeros((width, 32), np.float32)
    sums = np.empty(32, np.float32)
    pairs, cells = line.reshape(width, 8), lines.reshape(width, 4, 8)
    sums_of_cell = sums.reshape(4, 8)
    for row in range(len(ys)):
        top = ys[row] - reach
        for i in range(4):
            sum_rows(planes, top, taps[i], max(first[i], -top), min(last[i], height - top), line)
            for x in range(width):
                for k in range(8):
                    cells[x, i, k] = pairs[x, k]
        for column in range(len(xs)):
            left = xs[column] - reach
            for j in range(4):
                d, high = max(first[j], -left), min(last[j], width - left)
                sums[:] = 0
                while d + 4 <= high:
                    x = left + d
                    t0, t1, t2, t3 = taps[j, d], taps[j, d + 1], taps[j, d + 2], taps[j, d + 3]
                    r0, r1, r2, r3 = lines[x], lines[x + 1], lines[x + 2], lines[x + 3]
                    for k in range(32):
                        sums[k] += (t0 * r0[k] + t1 * r1[k]) + (t2 * r2[k] + t3 * r3[k])
                    d += 4
                while d < high:
                    t0, r0 = taps[j, d], lines[left + d]
                    for k in range(32):
                        sums[k] += t0 * r0[k]
                    d += 1
                for i in range(4):
                    for k in range(8):
                        out[row, column, i, j, k] = sums_of_cell[i, k]


@jit
def sum_rows(
    rows: np.ndarray, top: int, taps: np.ndarray, low: int, high: int, line: np.ndarray
) -> None:
    """Write the sum of taps[d] · rows[top + d] over low ≤ d < high to line, four at a time."""
    line[:] = 0
    d = low
    while d + 4 <= high:
        t0, t1, t2, t3 = taps[d], taps[d + 1], taps[d + 2], taps[d + 3]
        y = top + d
        r0, r1, r2, r3 = rows[y], rows[y + 1], rows[y + 2], rows[y + 3]
        for p in range(len(line)):
            line[p] += (t0 * r0[p] + t1 * r1[p]) + (t2 * r2[p] + t3 * r3[p])
        d += 4
    while d < high:
        t0, r0 = taps[d], rows[top + d]
        for p in range(len(line)):
            line[p] += t0 * r0[p]
        d += 1


@jit
def normalize_rows(rows: np.ndarray, least_sum: float) -> None:
    """Scale rows (n, 8 · 16) to length 1, cut at 0.2, scale again; zeros where the sum is small."""
    lanes = np.empty(16, np.float32)
    for r in range(rows.shape[0]):
        row = rows[r]
        a, b, c, d = row[0], row[1], row[2], row[3]
        e, f, g, h = row[4], row[5], row[6], row[7]
        for k in range(16):
            lanes[k] = ((a[k] + b[k]) + (c[k] + d[k])) + ((e[k] + f[k]) + (g[k] + h[k]))
        total = sum_16(lanes)
        length = row_length(a, b, c, d, e, f, g, h, lanes)
        if total < least_sum or length <= np.float32(1e-10):
            rows[r] = 0
            continue
        scale = np.float32(1) / length
        for p in range(8):
            part = row[p]
            for k in range(16):
                part[k] = min(part[k] * scale, np.float32(CLIP))
        scale = np.float32(1) / row_length(a, b, c, d, e, f, g, h, lanes)
        for p in range(8):
            part = row[p]
            for k in range(16):
                part[k] *= scale


@jit
def row_length(
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    d: np.ndarray,
    e: np.ndarray,
    f: np.ndarray,
    g: np.ndarray,
    h: np.ndarray,
    lanes: np.ndarray,
) -> float:
    """Return the length of a row in 8 parts of 16, which fill vector registers."""
    for k in range(16):
        low = (a[k] * a[k] + b[k] * b[k]) + (c[k] * c[k] + d[k] * d[k])
        lanes[k] = low + ((e[k] * e[k] + f[k] * f[k]) + (g[k] * g[k] + h[k] * h[k]))
    length: float = np.sqrt(sum_16(lanes))
    return length


@jit
def sum_16(x: np.ndarray) -> float:
    """Return the sum of 16 numbers, added in pairs: they wait less for each other."""
    low = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]))
    high = ((x[8] + x[9]) + (x[10] + x[11])) + ((x[12] + x[13]) + (x[14] + x[15]))
    total: float = low + high
    return total

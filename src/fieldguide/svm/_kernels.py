"""Compiled loops of dual coordinate descent, for dense and CSR rows alike.

Rows travel as ``data, indices, indptr, width``: dense rows are the flat matrix with its ``width``
and empty index arrays; CSR rows have ``width`` 0. A problem is a list of positions 0 … m − 1 over
``rows`` (indices into the shared matrix) with a sign, a cost and a dual variable each. ``w`` has
one entry more than a row has columns: the weight of the constant column ``bias``.
"""

import numpy as np

from fieldguide._arrays import Float, Floats, Ints, Words
from fieldguide._jit import F, inner_jit, jit

# Sums in any order: a dot product in one order cannot use the vector unit. The order is fixed when
# the loop is compiled, so equal inputs still give equal sums.
_FAST = {"reassoc", "contract", "nsz"}
# A position at 0 is visited when it is violated this much of the worst one.
_WORTH = 0.3


def _inner(function: F) -> F:
    """Compile a loop that is only called from compiled code; its caller holds the cache."""
    return inner_jit(function, fastmath=_FAST)


@_inner
def row_dot(data: Floats, indices: Ints, indptr: Ints, width: int, row: int, w: Floats) -> Float:
    """Return x_row · w over the columns, without the constant one. O(non-zeros)."""
    total = data.dtype.type(0)
    if width > 0:
        x = data[row * width : (row + 1) * width]
        for j in range(width):
            total += x[j] * w[j]
    else:
        start, end = indptr[row], indptr[row + 1]
        x, columns = data[start:end], indices[start:end]
        for k in range(end - start):
            total += x[k] * w[columns[k]]
    return total


@_inner
def row_add(
    data: Floats, indices: Ints, indptr: Ints, width: int, row: int, step: Float, w: Floats
) -> None:
    """Add step · x_row to w, without the constant column. O(non-zeros)."""
    step = w.dtype.type(step)
    if width > 0:
        x = data[row * width : (row + 1) * width]
        for j in range(width):
            w[j] += step * x[j]
    else:
        start, end = indptr[row], indptr[row + 1]
        x, columns = data[start:end], indices[start:end]
        for k in range(end - start):
            w[columns[k]] += step * x[k]


@jit(counted=False)
def square_norms(
    data: Floats, indices: Ints, indptr: Ints, width: int, n: int, out: Floats
) -> None:
    """Write |x_i|² of all n rows to out. O(non-zeros)."""
    for i in range(n):
        start, end = i * width, (i + 1) * width
        if width == 0:
            start, end = indptr[i], indptr[i + 1]
        total = 0.0
        for k in range(start, end):
            total += float(data[k]) * float(data[k])
        out[i] = total


@jit
def combine(
    data: Floats, indices: Ints, indptr: Ints, width: int, rows: Ints, sign: Floats, alpha: Floats,
    bias: float, w: Floats,
) -> None:  # fmt: skip
    """Write Σ_p α_p sign_p (x_p, bias) to w, summed in double precision. O(non-zeros of α)."""
    total = np.zeros(w.shape[0])
    last = w.shape[0] - 1
    for p in range(rows.shape[0]):
        if alpha[p] != 0:
            step = alpha[p] * sign[p]
            row_add(data, indices, indptr, width, rows[p], step, total)
            total[last] += step * bias
    for j in range(w.shape[0]):
        w[j] = total[j]


@jit(counted=False)
def evaluate(
    data: Floats, indices: Ints, indptr: Ints, width: int, rows: Ints, bias: float, w: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """Write f_p = w · (x_p, bias) of every position to out. O(non-zeros)."""
    offset = w[w.shape[0] - 1] * bias
    for p in range(rows.shape[0]):
        out[p] = row_dot(data, indices, indptr, width, rows[p], w) + offset


@jit(counted=False)
def sum_objectives(
    margin: Floats, sign: Floats, cost: Floats, squared: bool, alpha: Floats, w: Floats
) -> tuple[float, float]:
    """Return primal and dual value of (w, α) for the f_p in ``margin``. O(m + columns)."""
    loss = 0.0
    linear = 0.0
    for p in range(alpha.shape[0]):
        slack = 1.0 - sign[p] * margin[p]
        a = alpha[p]
        if slack > 0:
            loss += cost[p] * (slack * slack if squared else slack)
        if a != 0:
            linear += a - (a * a / (4.0 * cost[p]) if squared else 0.0)
    half = 0.0
    for j in range(w.shape[0]):
        half += 0.5 * float(w[j]) * float(w[j])
    return half + loss, linear - half


@jit(counted=False)
def choose_active(
    margin: Floats, sign: Floats, cost: Floats, squared: bool, alpha: Floats, slack: float,
    active: Ints,
) -> int:  # fmt: skip
    """Write the positions that are not clearly at their bound to active; return their number."""
    n_active = 0
    for p in range(alpha.shape[0]):
        if cost[p] == 0:
            continue
        gradient = sign[p] * margin[p] - 1.0
        settled = alpha[p] == 0 and gradient > slack
        if not squared:
            settled = settled or (alpha[p] == cost[p] and gradient < -slack)
        if not settled:
            active[n_active] = p
            n_active += 1
    return n_active


@jit(counted=False)
def choose_worst(
    margin: Floats, sign: Floats, cost: Floats, squared: bool, alpha: Floats, is_first: bool,
    active: Ints,
) -> int:  # fmt: skip
    """Write the unsettled positions of one class to active; return their number. O(m).

    Positions at 0 that are violated much less than the worst of them wait for a later round: most
    of them are settled by then. In the first round, before any margin is worth looking at, only
    positive and support positions are taken.
    """
    worst = 0.0
    for p in range(alpha.shape[0]):
        if alpha[p] == 0 and cost[p] > 0:
            worst = max(worst, 1.0 - sign[p] * margin[p])
    n_active = 0
    for p in range(alpha.shape[0]):
        if cost[p] == 0:
            continue
        slack = 1.0 - sign[p] * margin[p]
        if alpha[p] == 0:
            is_taken = sign[p] > 0 if is_first else slack > 0 and slack >= _WORTH * worst
        else:
            is_taken = squared or alpha[p] < cost[p] or slack < 0
        if is_taken:
            active[n_active] = p
            n_active += 1
    return n_active


@jit(counted=False)
def label_rows(
    index: Ints, k: int, base: Floats, factors: Floats, sign: Floats, cost: Floats
) -> None:
    """Write the signs and costs of class k against the rest. O(n)."""
    for i in range(index.shape[0]):
        is_own = index[i] == k
        sign[i] = 1.0 if is_own else -1.0
        cost[i] = base[i] * factors[1 if is_own else 0]


@jit(counted=False)
def clip_alpha(cost: Floats, squared: bool, alpha: Floats) -> None:
    """Bring alpha to what the dual allows. O(n)."""
    for p in range(alpha.shape[0]):
        top = np.inf if squared and cost[p] > 0 else cost[p]
        alpha[p] = min(max(alpha[p], 0.0), top)


@jit(counted=False)
def descend(
    data: Floats, indices: Ints, indptr: Ints, width: int, rows: Ints, sign: Floats, cost: Floats,
    norms: Floats, squared: bool, bias: float, alpha: Floats, w: Floats, active: Ints,
    n_active: int, target: float, max_epochs: int, state: Words,
) -> int:  # fmt: skip
    """Descend over the active positions until their own gap is below ``target``.

    Changes alpha, w, the order of active, and the random state (one uint64). Positions at a bound
    that they push against harder than any position was violated in the epoch before are left out
    of later epochs. Returns the number of epochs. One epoch costs O(non-zeros of the active rows).
    """
    last = w.shape[0] - 1
    low, high = -np.inf, np.inf
    m = n_active
    for epoch in range(max_epochs):
        for i in range(m - 1, 0, -1):
            state[0] = state[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            j = np.int64((state[0] >> np.uint64(33)) % np.uint64(i + 1))
            active[i], active[j] = active[j], active[i]
        least, largest, gap = 0.0, 0.0, 0.0
        k = 0
        while k < m:
            p = active[k]
            a, c = alpha[p], cost[p]
            f = row_dot(data, indices, indptr, width, rows[p], w) + w[last] * bias
            slack = 1.0 - sign[p] * f
            curvature = norms[rows[p]] + bias * bias
            if squared:
                gradient = a / (2.0 * c) - slack
                curvature += 1.0 / (2.0 * c)
                top = np.inf
                excess = max(slack, 0.0) - a / (2.0 * c)
                gap += c * excess * excess + a * max(-slack, 0.0)
            else:
                gradient = -slack
                top = c
                gap += c * max(slack, 0.0) - a * slack
            if (a == 0 and gradient > high) or (a == top and gradient < low):
                m -= 1
                active[k] = active[m]
                active[m] = p
                continue
            projected = gradient
            if (a == 0 and gradient > 0) or (a == top and gradient < 0):
                projected = 0.0
            least, largest = min(least, projected), max(largest, projected)
            if projected != 0:
                if curvature > 0:
                    new = min(max(a - gradient / curvature, 0.0), top)
                else:
                    new = top if gradient < 0 else 0.0
                step = (new - a) * sign[p]
                alpha[p] = new
                row_add(data, indices, indptr, width, rows[p], step, w)
                w[last] += w.dtype.type(step * bias)
            k += 1
        if gap <= target:
            return epoch + 1
        high = largest if largest > 0 else np.inf
        low = least if least < 0 else -np.inf
    return max_epochs


@inner_jit(counted=False)
def place_largest(values: Floats) -> int:
    """Return the first place of the largest value. O(n); four maxima do not wait for each other."""
    n = len(values)
    a = b = c = d = values.dtype.type(-np.inf)
    for k in range(0, n - 3, 4):
        a = values[k] if values[k] > a else a
        b = values[k + 1] if values[k + 1] > b else b
        c = values[k + 2] if values[k + 2] > c else c
        d = values[k + 3] if values[k + 3] > d else d
    for k in range(n - n % 4, n):
        a = values[k] if values[k] > a else a
    largest = max(max(a, b), max(c, d))
    for k in range(n):
        if values[k] == largest:
            return k
    return 0


@inner_jit(fastmath={"reassoc", "contract", "nsz"})
def dot_single(w: Floats, x: Floats) -> Float:
    """Return w·x, summed in single precision and in any order. O(d)."""
    total = np.float32(0)
    for j in range(x.shape[0]):
        total += w[j] * x[j]
    return total

"""The attention tree in plain Python, one row and one threshold at a time, on whole weights."""

import math
from typing import Any

UNIT = 2**36
LIMIT = 2**60
PERFECT = 2.0**-40


def to_whole(weights: list[float]) -> list[int]:
    total = sum(weights)
    return [max(1, round(w / total * UNIT)) for w in weights]


def thresholds(levels: list[list[int]], rows: list[int]):
    """Yield each question that parts the rows: feature, threshold, which rows pass."""
    for j in range(len(levels[0])):
        for v in range(1, 64):
            passes = [levels[i][j] >= v for i in rows]
            if any(passes) and not all(passes):
                yield j, v, passes


def best_stump(levels, rows, signs, weights):
    """Return (error as a whole number, feature, threshold, side) of the first best stump."""
    best = None
    for j, v, passes in thresholds(levels, rows):
        for side in (1, -1):
            said = [side if yes else -side for yes in passes]
            wrong = sum(w for w, h, y in zip(weights, said, signs, strict=True) if h != y)
            if best is None or wrong < best[0]:
                best = (wrong, j, v, side)
    return best


def adaboost(levels, rows, signs, weights, n_rounds, gamma):
    """Return the stumps (feature, threshold, side, error, alpha) and H of the rows."""
    weights = to_whole(weights)
    score, stumps = [0.0] * len(rows), []
    while len(stumps) < n_rounds:
        found = best_stump(levels, rows, signs, weights)
        total = sum(weights)
        if found is None or found[0] / total > gamma:
            break
        wrong, j, v, side = found
        error = wrong / total
        alpha = 0.5 * math.log((1 - error) / error) if wrong else -0.5 * math.log(PERFECT)
        stumps.append((j, v, side, error, alpha))
        for place, i in enumerate(rows):
            said = side if levels[i][j] >= v else -side
            score[place] += alpha * said
            if said != signs[place]:
                weights[place] = round(weights[place] * ((total - wrong) / wrong))
        if not wrong:
            break
        if sum(weights) > LIMIT:
            weights = to_whole([float(w) for w in weights])
    return stumps, score


def entropy_term(count: int) -> int:
    return round(count * math.log2(count)) if count else 0


def two_groups(levels, rows, classes, weights):
    """Return feature, threshold and the side of each class, or None without a question."""
    weights = to_whole(weights)
    names = sorted(set(classes))
    best = None
    for j, v, passes in thresholds(levels, rows):
        value = 0
        shares = {}
        for where in (False, True):
            held = dict.fromkeys(names, 0)
            for yes, c, w in zip(passes, classes, weights, strict=True):
                if yes == where:
                    held[c] += w
            shares[where] = held
            value += entropy_term(sum(held.values())) - sum(map(entropy_term, held.values()))
        if best is None or value < best[0]:
            best = (value, j, v, shares)
    if best is None:
        return None
    _, j, v, shares = best
    left, right = shares[False], shares[True]
    side = {c: -1 if left[c] >= right[c] else 1 for c in names}
    if len(set(side.values())) == 1:
        other = right if side[names[0]] == -1 else left
        flipped = max(names, key=lambda c: (other[c] / (left[c] + right[c]), -c))
        side[flipped] *= -1
    return j, v, side


def grow(
    levels: list[list[int]],
    classes: list[int],
    n_classes: int,
    *,
    delta: float,
    n_rounds: int,
    gamma: float,
    max_depth: int,
    min_samples: int,
    max_kept: float,
) -> dict[str, Any]:
    """Return the tree as nested nodes; rows ascend within classes, as in the package."""

    def node(rows: list[int], weights: list[float], depth: int) -> dict[str, Any]:
        own = [classes[i] for i in rows]
        total = sum(weights)
        found: dict[str, Any] = {"rows": rows, "depth": depth, "raw": weights}
        found["weights"] = [w / total for w in weights]
        if len(set(own)) == 1 or depth > max_depth or len(rows) < min_samples:
            return found
        if n_classes == 2:
            signs = [1 if c else -1 for c in own]
        else:
            groups = two_groups(levels, rows, own, weights)
            if groups is None:
                return found
            signs = [groups[2][c] for c in own]
        _, score = adaboost(levels, rows, signs, weights, n_rounds, gamma)
        p = [1 / (1 + math.exp(-h)) for h in score]
        labels, left, right = [], [], []
        for i, q in zip(rows, p, strict=True):
            if q > delta or (delta == 0.5 and q >= 0.5):
                labels.append(1)
                right.append((i, 1.0))
            elif 1 - q > delta or delta == 0.5:
                labels.append(-1)
                left.append((i, 1.0))
            else:
                labels.append(0)
                left.append((i, 1 - q))
                right.append((i, q))
        if 1 not in labels or -1 not in labels:
            return found
        if min(len(left), len(right)) > max_kept * len(rows):
            return found
        children = [node([i for i, _ in s], [w for _, w in s], depth + 1) for s in (left, right)]
        return found | {"labels": labels, "left": children[0], "right": children[1]}

    order = sorted(range(len(classes)), key=lambda i: (classes[i], i))
    return node(order, [1.0] * len(order), 1)

"""Slow, obvious answers to the coloring of a node, and the procedure that the reference prints."""

from functools import cache
from itertools import product
from math import inf

import numpy as np


@cache
def all_colorings(n_classes):
    return np.array(list(product((-1, 0, 1), repeat=n_classes)))


def coloring_cost(colors, cost_minus, cost_plus):
    """Cost of one coloring, or of many as rows."""
    return np.where(colors < 0, cost_minus, np.where(colors > 0, cost_plus, 0)).sum(axis=-1)


def is_allowed(colors, balance, both_sides=True):
    """Whether one coloring, or each of many as rows, keeps the constraints."""
    has_both = (colors < 0).any(axis=-1) & (colors > 0).any(axis=-1)
    return (np.abs(colors.sum(axis=-1)) <= balance) & (has_both | (not both_sides))


def brute_force_coloring(cost_minus, cost_plus, balance, both_sides=True):
    """The best of all 3^K colorings; of equally good ones, the one that is promised."""
    colors = all_colorings(len(cost_minus))
    colors = colors[is_allowed(colors, balance, both_sides)]
    costs = coloring_cost(colors, cost_minus, cost_plus)
    colors = colors[costs == costs.min()]
    return min(colors, key=lambda c: (abs(c.sum()), -c.sum(), c[::-1].tolist()))


def printed_coloring(cost_minus, cost_plus, balance, both_sides=True):
    """The procedure of Gao and Koller's supplementary material, section 2 and Algorithm 1.

    It is for balance ≥ 1. Where the text leaves a choice, we take what helps it: a class that was
    just changed to fill one side is not changed again to fill the other, and the two classes of an
    exchange are different ones. May break the constraints: this is what we count.
    """
    f = [{-1: m, 0: 0, 1: p} for m, p in zip(cost_minus, cost_plus, strict=True)]
    best = [min((0, -1, 1), key=f_k.__getitem__) for f_k in f]
    total = sum(best)
    if total < -balance:  # "by symmetry"
        f = [{side: f_k[-side] for side in f_k} for f_k in f]
        return -np.array(_algorithm_1(f, [-c for c in best], -total - balance, both_sides))
    if total > balance:
        colors = _algorithm_1(f, best, total - balance, both_sides)
    else:
        colors = _fill_sides(f, best) if both_sides else best
    return np.array(colors)


def _fill_sides(f, best):
    """The case −B ≤ B′ ≤ B: the cheapest change that fills an empty side."""
    colors, changed = list(best), None
    for side in (-1, 1, -1):  # filling the right may have emptied the left
        if side not in colors:
            others = [k for k in range(len(f)) if k != changed]
            changed = min(others, key=lambda k: f[k][side] - f[k][colors[k]])
            colors[changed] = side
    return colors


def _algorithm_1(f, best, excess, both_sides):
    """The case B′ > B. An entry is (Δ, name, class); names: "k" Δ_k, "k0" Δ_k,0, "k-" Δ_k,−/2."""
    colors, d = list(best), 0
    queue, popped = [], []
    for k, f_k in enumerate(f):
        down, half = f_k[-1] - f_k[0], f_k[0] - f_k[1]
        if best[k] == 0:
            queue.append((down, "k", k))
        elif best[k] == 1 and half <= down:
            queue += [(half, "k0", k), (down, "k", k)]
        elif best[k] == 1:
            queue += [((half + down) / 2, "k-", k), (half, "k0", k)]
    queue.sort(key=lambda entry: entry[0])  # stable: Δ_k,0 stays before an equal Δ_k

    while d not in (excess, excess + 1):
        entry = queue.pop(0)
        delta, name, k = entry
        if name == "k":
            colors[k] = -1
            d += 1
        elif name == "k0":
            colors[k] = 0
            d += 1
        elif d <= excess - 2:
            colors[k] = -1
            d += 2
            queue = [other for other in queue if other[1:] != ("k0", k)]
        else:  # lines 16 to 40: one unit is missing, the next change is of two
            singles = [e for e in queue if e[1] != "k-"]
            undone = [e for e in popped if e[1] != "k-"]
            pairs = [(f[e[2]][-1] - f[e[2]][0], e[2]) for e in popped if e[1] == "k-"]
            step, step_name, j = singles[0] if singles else (inf, "", -1)
            back, _, i = max(undone, key=lambda e: e[0]) if undone else (0, "", -1)
            half_back, l_pair = max(pairs) if pairs else (0, -1)
            least = min(step, 2 * delta - back, 2 * delta - half_back)
            if least == step:
                colors[j] = -1 if step_name == "k" else 0
                d += 1
            elif least == 2 * delta - back:
                colors[k] = -1
                if undone:
                    colors[i] = best[i]  # line 31
                    d += 1
                else:
                    d += 2
            else:
                colors[l_pair], colors[k] = 0, -1
                d += 1
        popped.append(entry)

    if both_sides and -1 not in colors:
        falls = [e for e in queue if e[1] == "k"]
        if falls:
            j = falls[0][2]
            rises = [e for e in popped if e[1] == "k0" and e[2] != j]
            colors[j] = -1
            if rises:
                colors[max(rises, key=lambda e: e[0])[2]] = 1
    return colors

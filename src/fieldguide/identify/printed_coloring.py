"""The colors of a node's classes by the procedure that the reference prints, word for word.

:mod:`fieldguide.identify.coloring` has the problem, and an exact answer to it. This is Algorithm 1
of the reference with what its section 2 says of sides that would stay empty, in O(K log K). It is
exact where f_k(−1) + f_k(+1) ≥ 0 for every class (ρ ≤ 1) and both sides have a class anyway.
Elsewhere it may end dearer, uneven (its line 31 undoes a class by two steps and counts one) or with
an empty side: these are the reference's own ends, and are kept.

=================  =========================================================================
Δ_k                ``down``: what class k costs from 0 to −1
Δ_k,0              ``half``: from +1 to 0
Δ_k,− / 2          from +1 to −1 at once, for each of the two steps
S_Δ, S̄_Δ           ``waiting`` and ``done``: changes that can be made, and those that were
B′ − B             ``excess``: steps to the left that are needed; d steps are made
=================  =========================================================================

The text is for B ≥ 1 and leaves three choices: of equal costs a class takes 0 before −1 before +1;
a class that has just filled one side does not go on to fill the other; and the two classes of the
last exchange are different ones.

Reference: Gao and Koller, "Discriminative learning of relaxed hierarchy for large-scale visual
recognition", 2011, supplementary material, section 2 and Algorithm 1.
"""

import heapq
from typing import Any, NamedTuple

import numpy as np

from fieldguide._check import check_number
from fieldguide.identify.coloring import check_costs

_DOWN, _HALF, _BOTH = range(3)  # Δ_k, Δ_k,0 and Δ_k,−


class _Change(NamedTuple):
    """An entry of S_Δ. Of equal prices, the one that was put in first comes first."""

    price: float
    number: int
    kind: int
    owner: int


def color_as_printed(cost_minus: Any, cost_plus: Any, balance: int) -> np.ndarray:
    """Return the colors that the printed procedure ends with; they may break the constraints.

    Parameters
    ----------
    cost_minus, cost_plus : array-like of shape (n_classes,)
        As of :func:`~fieldguide.identify.coloring.color_classes`.
    balance : int
        Most that one side may have more classes than the other, 1 or above.

    Returns
    -------
    ndarray of int8, of shape (n_classes,)

    Examples
    --------
    Exact colors of these costs are (1, −1), which cost 3; the printed ones cost 11:

    >>> from fieldguide.identify.printed_coloring import color_as_printed
    >>> color_as_printed([1.0, 2.0], [1.0, 10.0], balance=1).tolist()
    [-1, 1]
    """
    check_number("color_as_printed", "balance", balance, 1, np.inf, integer=True)
    minus, plus = check_costs("color_as_printed", cost_minus, cost_plus)
    free = np.array([0, -1, 1])[np.argmin([np.zeros(len(minus)), minus, plus], axis=0)]
    total = int(free.sum())
    if total < -balance:  # by symmetry
        colors = -_lower(plus, minus, -free, -total - balance)
    elif total > balance:
        colors = _lower(minus, plus, free, total - balance)
    else:
        colors = _fill_sides(minus, plus, free)
    return colors.astype(np.int8)


def _fill_sides(minus: np.ndarray, plus: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Give an empty side the class that costs least there; −B ≤ B′ ≤ B."""
    colors, changed = free.copy(), -1
    for side in (-1, 1, -1):  # filling the right may have emptied the left
        if side not in colors:
            now = np.where(colors < 0, minus, np.where(colors > 0, plus, 0.0))
            rise = (minus if side < 0 else plus) - now
            if changed >= 0:
                rise[changed] = np.inf
            changed = int(rise.argmin())
            colors[changed] = side
    return colors


def _lower(minus: np.ndarray, plus: np.ndarray, free: np.ndarray, excess: int) -> np.ndarray:
    """Algorithm 1, for B′ > B, and what the text says of a left side that is empty then."""
    colors, waiting = free.copy(), _list_changes(minus, plus, free)
    heapq.heapify(waiting)
    done: list[_Change] = []
    is_gone = np.zeros(len(free), dtype=bool)  # classes whose Δ_k,0 line 15 took out
    d = 0
    while d not in (excess, excess + 1):
        change = heapq.heappop(waiting)
        k = change.owner
        if change.kind == _HALF and is_gone[k]:
            continue
        if change.kind != _BOTH:
            colors[k] = -1 if change.kind == _DOWN else 0
            d += 1
        elif d <= excess - 2:
            colors[k] = -1
            d += 2
            is_gone[k] = True
        else:
            d += _make_last_step(colors, free, plus, change, waiting, done, is_gone)
        done.append(change)
    if -1 not in colors:
        _exchange(colors, waiting, done)
    return colors


def _list_changes(minus: np.ndarray, plus: np.ndarray, free: np.ndarray) -> list[_Change]:
    """Lines 2 and 3."""
    changes: list[_Change] = []
    for k in np.flatnonzero(free >= 0):
        down, half = float(minus[k]), float(-plus[k])
        if free[k] == 0:
            kinds = [(down, _DOWN)]
        elif half <= down:
            kinds = [(half, _HALF), (down, _DOWN)]
        else:
            kinds = [((half + down) / 2, _BOTH), (half, _HALF)]
        changes += [_Change(p, len(changes) + i, kind, int(k)) for i, (p, kind) in enumerate(kinds)]
    return changes


def _make_last_step(
    colors: np.ndarray,
    free: np.ndarray,
    plus: np.ndarray,
    change: _Change,
    waiting: list[_Change],
    done: list[_Change],
    is_gone: np.ndarray,
) -> int:
    """Lines 16 to 40: one step is missing and the next change makes two. Return the steps made."""
    singles = [c for c in waiting if c.kind == _DOWN or (c.kind == _HALF and not is_gone[c.owner])]
    single = min(singles)  # Δ_k,0 of the class itself, at the least
    undone = max((c for c in done if c.kind != _BOTH), key=lambda c: c.price, default=None)
    pair = max(
        (c for c in done if c.kind == _BOTH),
        key=lambda c: 2 * c.price + plus[c.owner],  # Δ_l,− − Δ_l,0
        default=None,
    )
    prices = (
        single.price,
        2 * change.price - (undone.price if undone else 0.0),
        2 * change.price - (2 * pair.price + plus[pair.owner] if pair else 0.0),
    )
    best = prices.index(min(prices))
    if best == 0:
        colors[single.owner] = -1 if single.kind == _DOWN else 0
        return 1
    colors[change.owner] = -1
    if best == 1:
        if undone is None:
            return 2
        colors[undone.owner] = free[undone.owner]  # line 31
        return 1
    if pair is not None:
        colors[pair.owner] = 0
    return 1


def _exchange(colors: np.ndarray, waiting: list[_Change], done: list[_Change]) -> None:
    """Send the cheapest class left, and the dearest one that was stopped half-way right again."""
    falls = [c for c in waiting if c.kind == _DOWN]
    if not falls:
        return
    fall = min(falls)
    colors[fall.owner] = -1
    rises = [c for c in done if c.kind == _HALF and c.owner != fall.owner]
    if rises:
        colors[max(rises, key=lambda c: c.price).owner] = 1

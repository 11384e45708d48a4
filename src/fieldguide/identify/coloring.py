"""Which classes a node sends left, right or both ways, when its function is fixed: the μ-step.

At a node of a Relaxed Hierarchy each class takes a color: −1 (left), +1 (right) or 0 (both ways,
and no part in training the node). With the hyperplane fixed, the best colors are

    min_μ  Σ_k f_k(μ_k)    over  μ ∈ {−1, 0, +1}^K,  −B ≤ Σ_k μ_k ≤ B,  some μ_k = −1, some μ_k = +1
    f_k(±1) = C n_k (mean slack of class k on that side − ρ),    f_k(0) = 0

============  ===========================================================================
f_k(−1)       ``cost_minus[k]``
f_k(+1)       ``cost_plus[k]``
B             ``balance``, a whole number
ρ             ``rho``, what a row must gain to take part: larger, and more classes have sides
============  ===========================================================================

Two exact methods. Where −f_k(−1) ≤ f_k(+1) for every class (always so for ρ ≤ 1), start with every
class at −1: a class rises to 0 at the price −f_k(−1), then to +1 at the price f_k(+1), never less.
So the cheapest steps, in order, are the best colors for each sum, and one sort gives them all:
O(K log K). Should these leave a side empty, or should some class have the prices the other way
round, a table over (classes so far, their sum, sides that still need a class) gives the answer:
O(K (K + B)), a byte for each sum of each class.

The procedure that is printed in the reference is exact for neither of these two cases;
:mod:`fieldguide.identify.printed_coloring` has it.

Reference: Gao and Koller, "Discriminative learning of relaxed hierarchy for large-scale visual
recognition", 2011, and its supplementary material, section 2.
"""

from typing import Any

import numpy as np

from fieldguide._check import check_number
from fieldguide._jit import jit
from fieldguide.errors import InvalidArgument


def class_costs(
    slack_minus: Any, slack_plus: Any, count: Any, C: float, rho: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return what each class costs at −1 and at +1, C·(Σ slack − ρ·n); the color 0 costs nothing.

    Parameters
    ----------
    slack_minus : array-like of shape (n_classes,)
        Sum over the rows of each class of max(0, 1 + f(x)).
    slack_plus : array-like of shape (n_classes,)
        The same of max(0, 1 − f(x)).
    count : array-like of shape (n_classes,)
        Number of rows of each class.
    C : float
        Weight of the slacks in the node's objective, above 0.
    rho : float
        Reward of a row that takes part, in units of slack.

    Returns
    -------
    cost_minus, cost_plus : ndarrays of shape (n_classes,)

    Examples
    --------
    >>> from fieldguide.identify.coloring import class_costs
    >>> minus, plus = class_costs([0.5, 8.0], [6.0, 1.0], [3, 4], C=2.0, rho=0.5)
    >>> minus.tolist(), plus.tolist()
    ([-2.0, 12.0], [9.0, -2.0])
    """
    check_number("class_costs", "C", C, 0, np.inf)
    check_number("class_costs", "rho", rho, 0, np.inf)
    minus, plus, n = (np.asarray(a, dtype=np.float64) for a in (slack_minus, slack_plus, count))
    if not minus.shape == plus.shape == n.shape or n.ndim != 1:
        raise InvalidArgument(
            "slack_minus, slack_plus and count of class_costs must have one number for each "
            f"class; got shapes {minus.shape}, {plus.shape} and {n.shape}."
        )
    return C * (minus - rho * n), C * (plus - rho * n)


def color_classes(cost_minus: Any, cost_plus: Any, balance: int) -> np.ndarray:
    """Return the cheapest colors with both sides in use and a sum of at most ``balance`` in size.

    Of equally cheap colorings, it is the one whose sum is nearest to 0 (a positive sum before a
    negative one); of these, the one with the least color in the last class, then in the class
    before it, and so on. Costs whose sums differ only by rounding may count as different.

    Parameters
    ----------
    cost_minus : array-like of shape (n_classes,)
        Cost of each class at −1, as of :func:`class_costs`.
    cost_plus : array-like of shape (n_classes,)
        Cost of each class at +1. The color 0 costs nothing.
    balance : int
        Most that one side may have more classes than the other, 0 or above.

    Returns
    -------
    ndarray of int8, of shape (n_classes,)
        −1, 0 or +1 for each class.

    Examples
    --------
    Neither class gains by a side, but each side must have one; the second is dear at +1:

    >>> from fieldguide.identify.coloring import color_classes
    >>> color_classes([1.0, 2.0], [1.0, 10.0], balance=1).tolist()
    [1, -1]
    """
    check_number("color_classes", "balance", balance, 0, np.inf, integer=True)
    minus, plus = check_costs("color_classes", cost_minus, cost_plus)
    n_classes = len(minus)
    balance = min(int(balance), n_classes)
    if np.all(-minus <= plus):
        colors = _color_by_steps(minus, plus, balance)
        if colors.min() < 0 < colors.max():
            return colors
    reach = min(n_classes, (n_classes + balance) // 2)
    colors = np.empty(n_classes, dtype=np.int8)
    value = np.full((2, 4, 2 * reach + 3), np.inf)
    choice = np.zeros((n_classes, 2 * reach + 1), dtype=np.uint8)
    color_by_table(minus, plus, balance, value, choice, colors)
    return colors


def check_costs(owner: str, cost_minus: Any, cost_plus: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return both costs as arrays; refuse what are no costs of two classes or more."""
    minus = np.ascontiguousarray(cost_minus, dtype=np.float64)
    plus = np.ascontiguousarray(cost_plus, dtype=np.float64)
    if minus.ndim != 1 or minus.shape != plus.shape:
        raise InvalidArgument(
            f"cost_minus and cost_plus of {owner} must have one number for each class; "
            f"got shapes {minus.shape} and {plus.shape}."
        )
    if len(minus) < 2:
        raise InvalidArgument(
            f"{owner} needs at least 2 classes, one for each side; "
            f"got {len(minus)}, which is a leaf."
        )
    if not (np.isfinite(minus).all() and np.isfinite(plus).all()):
        raise InvalidArgument(
            f"cost_minus and cost_plus of {owner} must be finite; "
            "got NaN or infinity, which a function that did not converge can give."
        )
    return minus, plus


def _color_by_steps(minus: np.ndarray, plus: np.ndarray, balance: int) -> np.ndarray:
    """Return the best colors within the balance, sides empty or not, if no class steps cheaper."""
    n_classes = len(minus)
    steps = np.stack([-minus, plus], axis=1).ravel()
    order = np.argsort(steps, kind="stable")  # of equal prices, the earlier class rises first
    # The sum of the colors is the number of steps − K. Every step below 0 saves, none above 0 does.
    n_steps = min(max(n_classes, np.count_nonzero(steps < 0)), np.count_nonzero(steps <= 0))
    n_steps = min(max(n_steps, n_classes - balance), n_classes + balance)
    rises = np.bincount(order[:n_steps] // 2, minlength=n_classes)
    return (rises - 1).astype(np.int8)


@jit
def color_by_table(
    cost_minus: np.ndarray,
    cost_plus: np.ndarray,
    balance: int,
    value: np.ndarray,
    choice: np.ndarray,
    colors: np.ndarray,
) -> None:
    """Fill ``colors`` with the cheapest of all colorings; O(K (K + B)).

    With reach = min(K, (K + B) // 2), value is (2, 4, 2 reach + 3) of infinity and choice is
    (K, 2 reach + 1) of 0. value[k % 2, needs, 1 + reach + s] is the least cost of the first k
    classes with sum s, of which some are at +1 if needs has bit 1, and at −1 if it has bit 2;
    choice keeps the color + 1 of the last of them, in two bits for each of the four needs.
    """
    n_classes = cost_minus.shape[0]
    middle = choice.shape[1] // 2
    value[0, 0, middle + 1] = 0.0
    for k in range(n_classes):
        minus, plus = cost_minus[k], cost_plus[k]
        old, new = value[k % 2], value[(k + 1) % 2]
        # A sum that the classes to come cannot bring back within the balance is of no use.
        span = min(k + 1, balance + n_classes - 1 - k)
        for needs in range(4):
            fallen, stayed, risen = old[needs & 1], old[needs], old[needs & 2]
            for s in range(middle - span, middle + span + 1):
                best, color = fallen[s + 2] + minus, 0
                if stayed[s + 1] < best:
                    best, color = stayed[s + 1], 1
                if risen[s] + plus < best:
                    best, color = risen[s] + plus, 2
                new[needs, s + 1] = best
                choice[k, s] |= color << (2 * needs)

    last = value[n_classes % 2, 3]
    s = middle
    for size in range(1, balance + 1):
        for candidate in (middle + size, middle - size):
            if last[candidate + 1] < last[s + 1]:
                s = candidate
    needs = 3
    for k in range(n_classes - 1, -1, -1):
        color = int((choice[k, s] >> (2 * needs)) & 3) - 1
        colors[k] = color
        s -= color
        if color > 0:
            needs &= 2
        elif color < 0:
            needs &= 1

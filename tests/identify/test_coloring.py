"""Colors of a node's classes, against all 3^K of them and against the printed procedure."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.brute_force_coloring import (
    brute_force_coloring,
    coloring_cost,
    is_allowed,
    printed_coloring,
)

from fieldguide.errors import InvalidArgument
from fieldguide.identify.coloring import (
    _color_by_steps,
    class_costs,
    color_by_table,
    color_classes,
)
from fieldguide.identify.printed_coloring import color_as_printed

WHOLE = st.integers(-6, 6)
CASES = st.tuples(
    st.lists(st.tuples(WHOLE, WHOLE), min_size=2, max_size=6), st.sampled_from([0, 1, 2, 3, 99])
)


def draw_costs(rng, kind, n_classes):
    """Whole costs, so that many are equal: of one kind of class or with one side unwanted."""
    minus, plus = rng.integers(-5, 6, (2, n_classes))
    if kind == "convex":  # f(−1) + f(+1) ≥ 0, as for ρ ≤ 1
        return minus, np.maximum(plus, -minus)
    if kind == "concave":  # every class gains on either side, as for a large ρ
        return -np.abs(minus), -np.abs(plus)
    if kind == "no side gains":  # the free optimum is all 0
        return np.abs(minus), np.abs(plus)
    if kind == "all to the right":
        return 7 + np.abs(minus), -np.abs(plus)
    if kind == "all to the left":
        return -np.abs(minus), 7 + np.abs(plus)
    return minus, plus


def color_by_force_of_table(minus, plus, balance, function=color_by_table):
    """The answer of the table alone, with room for every sum."""
    n_classes = len(minus)
    balance = min(balance, n_classes)
    reach = min(n_classes, (n_classes + balance) // 2)
    colors = np.empty(n_classes, dtype=np.int8)
    value = np.full((2, 4, 2 * reach + 3), np.inf)
    choice = np.zeros((n_classes, 2 * reach + 1), dtype=np.uint8)
    function(np.asarray(minus, float), np.asarray(plus, float), balance, value, choice, colors)
    return colors


@pytest.mark.parametrize("balance", [0, 1, 2, 100])
@pytest.mark.parametrize(
    "kind", ["any", "convex", "concave", "no side gains", "all to the right", "all to the left"]
)
def test_equals_the_best_of_all_colorings(kind, balance, seed):
    rng = np.random.default_rng([seed, balance, len(kind)])
    for case in range(140):
        n_classes = 2 + case % 5
        minus, plus = draw_costs(rng, kind, n_classes)
        colors = color_classes(minus, plus, balance)
        assert colors.dtype == np.int8
        assert colors.shape == (n_classes,)
        expected = brute_force_coloring(minus, plus, balance)
        assert colors.tolist() == expected.tolist(), (minus, plus, balance)


@pytest.mark.parametrize("n_classes", [7, 8])
@pytest.mark.parametrize("balance", [0, 1, 2, 100])
def test_equals_the_best_of_all_colorings_of_more_classes(n_classes, balance, seed):
    rng = np.random.default_rng([seed, balance, n_classes])
    for kind in ["any", "convex", "concave", "no side gains", "all to the right"] * 3:
        minus, plus = draw_costs(rng, kind, n_classes)
        expected = brute_force_coloring(minus, plus, balance)
        assert color_classes(minus, plus, balance).tolist() == expected.tolist()


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9, 1.0, 1.3, 3.0])
def test_costs_of_real_margins(rho, seed):
    rng = np.random.default_rng([seed, int(10 * rho)])
    is_above_free = 0
    for case in range(60):
        n_classes, balance = 2 + case % 5, case % 4
        owner = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 20)])
        f = rng.normal(0, 1.5, n_classes)[owner] + rng.normal(0, 0.5, len(owner))
        slack = [np.bincount(owner, np.maximum(0, 1 + side * f)) for side in (1, -1)]
        minus, plus = class_costs(*slack, np.bincount(owner), 0.7, rho)
        if rho < 1:
            assert (minus + plus > 0).all()
        colors = color_classes(minus, plus, balance)
        assert is_allowed(colors, balance)
        least = coloring_cost(brute_force_coloring(minus, plus, balance), minus, plus)
        assert coloring_cost(colors, minus, plus) == pytest.approx(least, rel=1e-12, abs=1e-12)
        is_above_free += least > np.minimum(0, np.minimum(minus, plus)).sum() + 1e-9
    assert is_above_free > 10  # the constraints did bind


def test_class_costs_by_the_formula():
    f, k = np.array([-2.0, 0.5, 3.0, -0.25, 0.0]), np.array([0, 0, 1, 1, 1])
    minus, plus = np.maximum(0, 1 + f), np.maximum(0, 1 - f)
    costs = class_costs(np.bincount(k, minus), np.bincount(k, plus), np.bincount(k), 2.0, 0.4)
    for cost, slack in zip(costs, (minus, plus), strict=True):
        expected = [2.0 * (k == c).sum() * (slack[k == c].mean() - 0.4) for c in (0, 1)]
        np.testing.assert_allclose(cost, expected, rtol=1e-14)


@given(CASES)
def test_equals_brute_force_on_any_costs(case):
    pairs, balance = case
    minus, plus = np.array(pairs).T
    expected = brute_force_coloring(minus, plus, balance)
    assert color_classes(minus, plus, balance).tolist() == expected.tolist()


@given(CASES)
def test_the_sorted_steps_are_exact_for_convex_costs(case):
    pairs, balance = case
    minus, plus = np.array(pairs, dtype=float).T
    plus = np.maximum(plus, -minus)
    colors = _color_by_steps(minus, plus, min(balance, len(minus)))
    expected = brute_force_coloring(minus, plus, balance, both_sides=False)
    assert colors.tolist() == expected.tolist()
    if is_allowed(colors, balance):
        assert color_by_force_of_table(minus, plus, balance).tolist() == colors.tolist()


@given(CASES)
def test_the_compiled_table_equals_its_plain_twin(case):
    pairs, balance = case
    minus, plus = np.array(pairs[:4]).T
    plain = color_by_force_of_table(minus, plus, balance, color_by_table.py_func)
    assert color_by_force_of_table(minus, plus, balance).tolist() == plain.tolist()


@given(CASES, st.randoms(use_true_random=False))
def test_cost_does_not_depend_on_the_order_or_the_names_of_the_sides(case, random):
    pairs, balance = case
    minus, plus = np.array(pairs).T
    cost = coloring_cost(color_classes(minus, plus, balance), minus, plus)
    order = list(range(len(pairs)))
    random.shuffle(order)
    shuffled = color_classes(minus[order], plus[order], balance)
    assert coloring_cost(shuffled, minus[order], plus[order]) == cost
    assert coloring_cost(color_classes(plus, minus, balance), plus, minus) == cost


@given(CASES)
def test_more_freedom_never_costs_more(case):
    pairs, balance = case
    minus, plus = np.array(pairs).T
    costs = [
        coloring_cost(color_classes(minus, plus, b), minus, plus) for b in (balance, balance + 1)
    ]
    assert costs[1] <= costs[0]


@pytest.mark.parametrize("kind", ["any", "convex", "no side gains", "all to the right"])
def test_many_classes_against_a_table_of_whole_numbers(kind, seed):
    """A hundred classes, where 3^K is out of reach: a set of (sum, sides) kept class by class."""
    rng = np.random.default_rng([seed, len(kind)])
    for balance in (0, 3, 100):
        minus, plus = (100 * costs for costs in draw_costs(rng, kind, 100))
        minus = minus + rng.integers(0, 50, 100)
        plus = plus + rng.integers(0, 50, 100)
        least = {(0, False, False): 0}
        for m, p in zip(minus.tolist(), plus.tolist(), strict=True):
            grown: dict = {}
            for (total, has_plus, has_minus), cost in least.items():
                for state, c in (
                    ((total, has_plus, has_minus), cost),
                    ((total + 1, True, has_minus), cost + p),
                    ((total - 1, has_plus, True), cost + m),
                ):
                    grown[state] = min(c, grown.get(state, c))
            least = grown
        expected = min(c for (t, p, m), c in least.items() if abs(t) <= balance and p and m)
        colors = color_classes(minus, plus, balance)
        assert is_allowed(colors, balance)
        assert coloring_cost(colors, minus, plus) == expected


def test_two_classes_that_cost_least_on_the_same_side():
    costs = np.array([1, 2]), np.array([1, 10])
    assert color_classes(*costs, 1).tolist() == [1, -1]
    assert coloring_cost(color_classes(*costs, 1), *costs) == 3
    assert coloring_cost(printed_coloring(*costs, 1), *costs) == 11


def test_all_colors_cost_the_same():
    assert color_classes([0, 0, 0, 0], [0, 0, 0, 0], 0).tolist() == [1, 1, -1, -1]
    assert color_classes([0, 0, 0], [0, 0, 0], 5).tolist() == [1, 0, -1]


def tally(kind, both_sides, balances, seed):
    """How the printed procedure ends, over 1,500 random cases of 3 to 7 classes."""
    rng = np.random.default_rng(seed)
    ends: Counter = Counter()
    for case in range(1500):
        minus, plus = rng.integers(-20, 21, (2, 3 + case % 5))
        if kind == "convex":
            plus = np.maximum(plus, -minus)
        else:  # every class wants the right, some the left nearly as much
            plus = -np.abs(plus)
        balance = balances[case % len(balances)]
        free = brute_force_coloring(minus, plus, balance, both_sides=False)
        ends["a side is empty at first"] += not is_allowed(free, balance)
        printed = printed_coloring(minus, plus, balance, both_sides)
        best = brute_force_coloring(minus, plus, balance, both_sides)
        if not is_allowed(printed, balance, both_sides=False):
            ends["not balanced"] += 1
        elif not is_allowed(printed, balance, both_sides):
            ends["a side is empty"] += 1
        else:
            costs = [coloring_cost(colors, minus, plus) for colors in (printed, best)]
            assert costs[0] >= costs[1]
            ends["dearer"] += costs[0] > costs[1]
    return ends


@pytest.mark.parametrize("balances", [[1], [2, 3]])
def test_the_printed_procedure_is_exact_for_the_balance_of_convex_costs(balances):
    ends = tally("convex", both_sides=False, balances=balances, seed=0)
    assert ends["dearer"] == ends["not balanced"] == 0


@pytest.mark.parametrize("balances", [[1], [2, 3]])
def test_the_printed_procedure_can_break_the_balance_of_other_costs(balances):
    ends = tally("leaning right", both_sides=False, balances=balances, seed=0)
    assert 0 < ends["not balanced"] < 30
    assert ends["dearer"] == 0


@pytest.mark.parametrize("kind", ["any", "convex", "concave", "no side gains", "all to the left"])
def test_the_printed_option_is_the_printed_procedure(kind, seed):
    """Two programs from one page: of costs without ties each colour, of whole ones the cost."""
    rng = np.random.default_rng([seed, len(kind)])
    for case in range(300):
        minus, plus = draw_costs(rng, kind, 2 + case % 8)
        balance = 1 + case % 3
        found = color_as_printed(minus, plus, balance)
        expected = printed_coloring(minus, plus, balance)
        assert found.dtype == np.int8
        assert coloring_cost(found, minus, plus) == coloring_cost(expected, minus, plus)
        minus, plus = (costs + rng.uniform(0, 0.01, len(costs)) for costs in (minus, plus))
        found = color_as_printed(minus, plus, balance)
        assert found.tolist() == printed_coloring(minus, plus, balance).tolist()


def test_the_printed_option_refuses_what_the_text_is_not_for():
    with pytest.raises(InvalidArgument, match=r"balance of color_as_printed .* in \[1, inf\]"):
        color_as_printed([1, 2], [1, 2], 0)
    with pytest.raises(InvalidArgument, match="color_as_printed needs at least 2 classes"):
        color_as_printed([1], [1], 1)


def test_line_31_of_the_printed_procedure():
    """The first class has fallen by two steps; to give back one, it is put back by two."""
    costs = np.array([2.0, -5.5, 200.0, 200.0]), np.array([-1.0, -10.0, -100.0, -100.0])
    assert printed_coloring(*costs, 1).tolist() == [1, -1, 1, 1]
    assert color_as_printed(*costs, 1).tolist() == [1, -1, 1, 1]
    assert color_classes(*costs, 1).tolist() == [0, -1, 1, 1]


@pytest.mark.parametrize("balances", [[1], [2, 3]])
@pytest.mark.parametrize("kind", ["convex", "leaning right"])
def test_the_printed_procedure_is_not_exact_when_a_side_is_empty(kind, balances):
    ends = tally(kind, both_sides=True, balances=balances, seed=0)
    n_wrong = ends["dearer"] + ends["a side is empty"]
    assert 0 < n_wrong < ends["a side is empty at first"]


@pytest.mark.parametrize(
    ("minus", "plus", "balance", "message"),
    [
        ([1.0], [1.0], 1, "at least 2 classes, one for each side; got 1"),
        ([], [], 1, "at least 2 classes"),
        ([1, 2], [1, 2, 3], 1, r"got shapes \(2,\) and \(3,\)"),
        ([[1, 2]], [[1, 2]], 1, r"got shapes \(1, 2\)"),
        ([1, np.nan], [1, 2], 1, "must be finite"),
        ([1, 2], [np.inf, 2], 1, "must be finite"),
        ([1, 2], [1, 2], -1, r"balance of color_classes must be a whole number in \[0, inf\]"),
        ([1, 2], [1, 2], 0.5, "balance of color_classes must be a whole number"),
    ],
)
def test_what_cannot_be_colored_is_refused_in_one_sentence(minus, plus, balance, message):
    with pytest.raises(InvalidArgument, match=message):
        color_classes(minus, plus, balance)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1], [3, 3], 1.0, 0.5), r"got shapes \(2,\), \(1,\) and \(2,\)"),
        (([1], [1], [3], -1.0, 0.5), "C of class_costs"),
        (([1], [1], [3], 1.0, -0.5), "rho of class_costs"),
    ],
)
def test_bad_slacks_are_refused_in_one_sentence(arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        class_costs(*arguments)


def test_arguments_are_left_alone():
    minus, plus = np.array([3.0, -1.0, 2.0]), np.array([-1.0, 4.0, -5.0])
    before = minus.copy(), plus.copy()
    color_classes(minus, plus, 0)
    assert np.array_equal(minus, before[0])
    assert np.array_equal(plus, before[1])

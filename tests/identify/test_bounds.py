"""The two margin bounds: by hand, their laws, and what they refuse."""

from math import e, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.errors import InvalidArgument
from fieldguide.identify.bounds import bound_from_margins, margin_bound

GAMMAS = st.lists(st.floats(0.01, 100), min_size=1, max_size=20)

# Three classes: the root parts a from c and sends b both ways; its children part b from the rest.
COLORS = np.array([[-1, 0, 1], [-1, 1, 2], [2, -1, 1]], dtype=np.int8)
INDEX = np.array([0, 0, 1, 1, 2])
MARGINS = np.array(
    [
        [-2.0, -1.0, 0.1],
        [-4.0, -3.0, 0.1],
        [0.1, 2.0, -6.0],  # b is not colored at the root: its 0.1 is no margin
        [-0.1, 5.0, -4.5],
        [1.0, 0.1, 9.0],  # and c is absent from the second node
    ]
)
NORMS = np.array([2.0, 4.0, 3.0])


def by_hand(sum_of_inverse_squares, n_nodes, radius, m, delta):
    inner = sum_of_inverse_squares * log(4 * e * m) * log(4 * m) + n_nodes * log(2 * m)
    return 130 * radius**2 / m * (inner - log(delta / 2))


def test_a_small_key_by_hand():
    bound = bound_from_margins(MARGINS, NORMS, COLORS, INDEX, radius=1.5, delta=0.1)
    assert bound.node_margins.tolist() == [0.5, 0.25, 1.5]
    root, second, third = 4.0, 16.0, 4 / 9
    assert bound.overall == pytest.approx(by_hand(root + second + third, 3, 1.5, 5, 0.1))
    expected = [
        by_hand(root + second, 2, 1.5, 5, 0.1),
        by_hand(second + third, 2, 1.5, 5, 0.1),
        by_hand(root + third, 2, 1.5, 5, 0.1),
    ]
    np.testing.assert_allclose(bound.per_class, expected, rtol=1e-12)
    assert bound.is_valid is True
    assert bound.is_class_valid.tolist() == [True, True, True]


def test_a_number_worked_out_on_paper():
    # m = 100, one node at distance 1: log(400e) = 6.991465, log(400) = 5.991465,
    # log(200) = 5.298317, log(0.025) = −3.688879; 1.3 (41.889114 + 5.298317 + 3.688879).
    assert margin_bound([1.0], radius=1.0, n_rows=100, delta=0.05) == pytest.approx(
        66.1392, abs=1e-3
    )


def test_only_the_nodes_of_a_class_count_for_it():
    margins = MARGINS.copy()
    margins[:, 0] *= 2  # the root, where b has no side
    before = bound_from_margins(MARGINS, NORMS, COLORS, INDEX, 1.0)
    after = bound_from_margins(margins, NORMS, COLORS, INDEX, 1.0)
    assert after.per_class[1] == before.per_class[1]
    assert after.per_class[0] < before.per_class[0]
    assert after.per_class[2] < before.per_class[2]
    assert (after.per_class < after.overall).all()


def test_a_row_on_the_wrong_side_voids_the_bounds_of_the_classes_of_that_node():
    margins = MARGINS.copy()
    margins[2, 1] *= -1  # a row of b at the second node, between a and b
    bound = bound_from_margins(margins, NORMS, COLORS, INDEX, 1.0)
    assert bound.is_valid is False
    assert bound.is_class_valid.tolist() == [False, False, True]
    margins = MARGINS.copy()
    margins[4, 1] *= -1  # c is absent there, and free to be anywhere
    margins[2, 0] *= -1  # b goes both ways
    assert bound_from_margins(margins, NORMS, COLORS, INDEX, 1.0).is_valid is True


def test_a_row_on_the_hyperplane_makes_the_bound_infinite():
    margins = MARGINS.copy()
    margins[0, 0] = 0.0
    bound = bound_from_margins(margins, NORMS, COLORS, INDEX, 1.0)
    assert bound.node_margins[0] == 0
    assert bound.overall == inf
    assert np.isinf(bound.per_class).tolist() == [True, False, True]
    assert bound.is_class_valid.tolist() == [False, True, False]


def test_a_function_without_direction_has_no_margin():
    bound = bound_from_margins(MARGINS, [0.0, 4.0, 3.0], COLORS, INDEX, 1.0)
    assert bound.node_margins[0] == 0
    assert bound.overall == inf


def test_a_node_without_rows_adds_only_to_the_count():
    some = np.isin(INDEX, [0, 2])
    bound = bound_from_margins(
        MARGINS[some][:, :1], NORMS[:1], [[2, 1, 2]], INDEX[some], 1.0, delta=0.1
    )
    assert bound.node_margins.tolist() == [inf]
    assert bound.overall == pytest.approx(by_hand(0.0, 1, 1.0, 3, 0.1))
    assert bound.per_class[0] == pytest.approx(by_hand(0.0, 0, 1.0, 3, 0.1))


def test_rows_and_functions_on_another_scale_change_nothing():
    one = bound_from_margins(MARGINS, NORMS, COLORS, INDEX, 1.0)
    two = bound_from_margins(7 * MARGINS, 7 * NORMS, COLORS, INDEX, 1.0)
    np.testing.assert_allclose(two.node_margins, one.node_margins, rtol=1e-14)
    assert two.overall == pytest.approx(one.overall)


@given(GAMMAS, st.integers(1, 10**9), st.floats(0.001, 0.999), st.floats(0.1, 50))
def test_doubled_margins_divide_the_first_term_by_four(gammas, n_rows, delta, radius):
    rest = margin_bound([inf] * len(gammas), radius, n_rows, delta)
    one = margin_bound(gammas, radius, n_rows, delta) - rest
    two = margin_bound(2 * np.array(gammas), radius, n_rows, delta) - rest
    assert two == pytest.approx(one / 4, rel=1e-6, abs=1e-9 * rest)


@given(GAMMAS, st.integers(10, 10**9), st.floats(0.001, 0.9))
def test_the_laws_of_the_bound(gammas, n_rows, delta):
    bound = margin_bound(gammas, 1.0, n_rows, delta)
    assert 0 < bound < inf
    assert margin_bound(gammas, 3.0, n_rows, delta) == pytest.approx(9 * bound)
    assert margin_bound(gammas[::-1], 1.0, n_rows, delta) == pytest.approx(bound)
    assert margin_bound(gammas, 1.0, 2 * n_rows, delta) < bound
    assert margin_bound(gammas, 1.0, n_rows, delta * 1.1) < bound
    assert margin_bound([*gammas, 100.0], 1.0, n_rows, delta) > bound
    assert margin_bound([*gammas, 0.0], 1.0, n_rows, delta) == inf


def test_ten_nodes_need_fifty_million_rows():
    assert margin_bound([0.1] * 10, 1.0, 40_000_000) > 1
    assert margin_bound([0.1] * 10, 1.0, 60_000_000) < 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norms": [1.0]}, r"got \(5, 3\), \(1,\), \(3, 3\), \(5,\)"),
        ({"index": INDEX[:4]}, "must have the shapes"),
        ({"colors": COLORS[:2]}, "must have the shapes"),
        ({"colors": COLORS[0]}, "must have the shapes"),
        ({"norms": [[1.0]]}, "must have the shapes"),
        ({"colors": 3 * COLORS}, r"got \[-3, 0, 3, 6\]"),
        ({"index": INDEX + 1}, r"from 0 to 2, the columns of colors; got \[1, 2, 3\]"),
        ({"index": INDEX - 1}, "from 0 to 2"),
        ({"index": INDEX.astype(float)}, "whole numbers"),
        ({"margins": np.full((5, 3), np.nan)}, "must be finite"),
        ({"norms": [1.0, -1.0, 1.0]}, "norms 0 or above"),
        ({"delta": 0.0}, r"must be a number in \(0, 1\); got 0.0"),
        ({"delta": 1.0}, r"must be a number in \(0, 1\)"),
        ({"radius": 0.0}, "must be a finite number above 0"),
        ({"radius": inf}, "must be a finite number above 0"),
    ],
)
def test_what_cannot_be_bounded_is_refused_in_one_sentence(change, message):
    arguments = {
        "margins": MARGINS,
        "norms": NORMS,
        "colors": COLORS,
        "index": INDEX,
        "radius": 1.0,
        "delta": 0.05,
    }
    with pytest.raises(InvalidArgument, match=message):
        bound_from_margins(**arguments | change)


@pytest.mark.parametrize(
    ("gammas", "n_rows", "message"),
    [
        ([1.0, -1.0], 10, "0 or above"),
        ([1.0, np.nan], 10, "0 or above"),
        ([[1.0]], 10, "a list of distances"),
        ([1.0], 0, "n_rows of margin_bound"),
    ],
)
def test_bad_margins_are_refused_in_one_sentence(gammas, n_rows, message):
    with pytest.raises(InvalidArgument, match=message):
        margin_bound(gammas, 1.0, n_rows)

"""The mean accuracy over kinds, against scikit-learn and by hand."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from fieldguide.errors import FieldguideError
from fieldguide.metrics import mean_class_accuracy, measure_reliability

PAIRS = st.lists(st.tuples(st.integers(-2, 4), st.integers(-2, 4)), min_size=1, max_size=40)


@given(PAIRS)
def test_equals_scikit_learn(pairs):
    y_true, y_pred = map(list, zip(*pairs, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of kinds that are only predicted
        expected = balanced_accuracy_score(y_true, y_pred)
    assert mean_class_accuracy(y_true, y_pred) == pytest.approx(expected, abs=1e-12)


@given(PAIRS)
def test_names_order_and_copies_do_not_matter(pairs):
    y_true, y_pred = np.array(pairs).T
    value = mean_class_accuracy(y_true, y_pred)
    assert mean_class_accuracy(y_true[::-1], y_pred[::-1]) == pytest.approx(value)
    assert mean_class_accuracy(np.tile(y_true, 3), np.tile(y_pred, 3)) == pytest.approx(value)
    names = np.array(["wren", "owl", "duck", "teal", "jay", "rook", "crow"])
    assert mean_class_accuracy(names[y_true], names[y_pred]) == pytest.approx(value)


def test_a_rare_kind_counts_as_much_as_a_common_one():
    y_true = ["owl"] * 98 + ["wren"] * 2
    y_pred = ["owl"] * 98 + ["owl", "wren"]
    assert mean_class_accuracy(y_true, y_pred) == 0.75


def test_a_kind_that_is_only_predicted_is_no_kind_of_its_own():
    assert mean_class_accuracy([0, 0, 1], [0, 7, 1]) == 0.75


@pytest.mark.parametrize("kind", [object, str])
def test_names_may_be_objects_on_either_side(kind):
    y_true = np.array(["owl", "wren"], dtype=object)
    assert mean_class_accuracy(y_true, np.array(["owl", "owl"], dtype=kind)) == 0.5


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([], [], "not empty; got shapes"),
        ([1, 2], [1], r"got shapes \(2,\) and \(1,\)"),
        ([[1], [2]], [[1], [2]], r"got shapes \(2, 1\)"),
        (1, 1, r"got shapes \(\) and \(\)"),
        (["owl"], [1], "both numbers; got 'owl' and 1"),
        (np.array(["owl", 1], dtype=object), ["owl", "owl"], "all names or all numbers"),
        (np.array(["owl", None], dtype=object), ["owl", "owl"], "all names or all numbers"),
        ([1.0, np.nan], [1.0, 1.0], "must not be NaN"),
        ([1.0, 1.0], [1.0, np.nan], "must not be NaN"),
    ],
)
def test_bad_labels_are_refused_in_one_sentence(y_true, y_pred, message):
    with pytest.raises(FieldguideError, match=message):
        mean_class_accuracy(y_true, y_pred)


ANSWERS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


@given(ANSWERS, st.integers(1, 20))
def test_it_is_the_mean_over_bins(answers, n_bins):
    told = measure_reliability([p for p, _ in answers], [r for _, r in answers], n_bins)
    expected = 0.0
    for k in range(n_bins):
        inside = [a for a in answers if min(int(a[0] * n_bins), n_bins - 1) == k]
        if inside:
            p, r = np.mean([a[0] for a in inside]), np.mean([a[1] for a in inside])
            expected += len(inside) / len(answers) * abs(p - r)
    assert told.error == pytest.approx(expected)
    assert told.n_answers.sum() == len(answers)


@pytest.mark.parametrize(("sure", "right"), [([], []), ([0.5], [True, False]), ([1.5], [True])])
def test_bad_input_is_one_sentence(sure, right):
    with pytest.raises(FieldguideError, match="measure_reliability"):
        measure_reliability(sure, right)

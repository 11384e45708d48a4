"""The key that is chosen is the cheapest that is good enough, and equal to one trained alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.errors import FieldguideError
from fieldguide.identify import (
    AttentionTreeClassifier,
    OneVsAllClassifier,
    OperatingPoint,
    RelaxedHierarchyClassifier,
    choose_key,
)
from fieldguide.identify.auto_key import measure_entropy
from fieldguide.identify.growing import LEAST_DRAWN, draw_rows
from fieldguide.identify.operating_points import choose_point, measure_point


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(16), 14)
    return rng.normal(0, 1, (16, 24))[y] + rng.normal(0, 0.6, (len(y), 24)), y


def test_it_is_the_key_that_its_class_would_train(rows):
    X, y = rows
    choice = choose_key(X, y)
    assert isinstance(choice.key, RelaxedHierarchyClassifier)
    alone = RelaxedHierarchyClassifier(rho=choice.key.rho, search=choice.key.search).fit(X, y)
    np.testing.assert_array_equal(choice.key.predict_proba(X), alone.predict_proba(X))
    flat = next(each for each in choice.tried if each.name == "OneVsAllClassifier")
    assert flat.points[0].accuracy == OneVsAllClassifier().fit(X, y).held_out_.accuracy
    assert choice.point.accuracy == choice.key.held_out_.accuracy
    assert choice.point.relative_cost < 0.5


def test_threads_change_nothing(rows):
    X, y = rows
    one, two = (choose_key(X, y, n_jobs=n).key for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.held_out_.accuracy == two.held_out_.accuracy


def test_two_classes_are_one_function(rows):
    X, y = rows
    few = y < 2
    choice = choose_key(X[few], y[few])
    assert choice.point.evaluations == 1
    # As good and as cheap as one-vs-all, and it has a couplet to show.
    assert isinstance(choice.key, RelaxedHierarchyClassifier)


def test_without_rows_to_hold_out_it_is_one_vs_all():
    choice = choose_key(np.eye(3), ["a", "b", "c"])
    assert isinstance(choice.key, OneVsAllClassifier)
    assert choice.point is None


def test_a_cost_that_is_asked_for_is_kept_to(rows):
    X, y = rows
    for share in (0.3, 0.5):
        point = choose_key(X, y, max_cost=share).point
        assert point.relative_cost <= share


def test_a_kernel_is_used_by_every_key(rows):
    X, y = rows
    choice = choose_key(np.abs(X), y, kernel="chi2", C=10.0)
    assert choice.key.kernel == "chi2"
    assert len(choice.tried) >= 2


def test_bad_arguments_are_one_sentence(rows):
    with pytest.raises(FieldguideError, match="C of OneVsAllClassifier"):
        choose_key(*rows, C="best")
    with pytest.raises(FieldguideError, match="precomputed"):
        choose_key(*rows, kernel="precomputed")


def test_boosting_may_ask_about_some_columns(rows):
    X, y = rows
    key = AttentionTreeClassifier(max_columns=5, random_state=1).fit(X, y)
    _, _, plan = key._grown
    assert key.score(X, y) > 0.8
    drawn = np.sort(np.random.default_rng(1).permutation(24)[:5])
    other = AttentionTreeClassifier(random_state=1).fit(X[:, drawn], y)
    np.testing.assert_array_equal(plan.leaf_rows, other._grown[2].leaf_rows)


def test_entropy_is_in_bits():
    assert measure_entropy(np.repeat(np.arange(8), 3)) == pytest.approx(3)
    assert measure_entropy(np.array([0, 0, 0, 2])) == pytest.approx(0.8112781)


def test_the_way_down_is_the_mean_depth_of_the_rows(rows):
    X, y = rows
    key = AttentionTreeClassifier(delta=0.5).fit(X, y)
    depths, _ = key.graph_.leaf_depths()
    counts = np.asarray(key.graph_.leaf_counts.sum(axis=1)).ravel()
    assert key._grown[2].mean_way() == pytest.approx(counts @ depths / counts.sum())


shares = st.floats(0.01, 1, allow_nan=False)
POINTS = st.lists(
    st.builds(
        lambda cost, accuracy, gain, doubt: OperatingPoint(
            0.0, 100 * cost, cost, accuracy, gain, doubt
        ),
        shares,
        shares,
        st.floats(-0.2, 0.1),
        st.floats(0, 0.05),
    ),
    min_size=1,
    max_size=8,
)


@given(POINTS, st.floats(0, 0.2), st.one_of(st.none(), st.floats(0, 1)))
def test_no_point_that_will_do_is_better(points, max_loss, max_cost):
    chosen = points[choose_point(points, max_loss, max_cost)]
    if max_cost is not None:
        cheap = [p for p in points if p.relative_cost <= max_cost]
        assert all(p.accuracy <= chosen.accuracy for p in cheap)
        assert not cheap or chosen in cheap
    else:
        good = [p for p in points if p.gain - p.standard_error >= -max_loss]
        assert all(p.evaluations >= chosen.evaluations for p in good)
        assert not good or chosen in good


def test_a_difference_is_judged_row_by_row():
    flat, own = np.array([1, 1, 1, 0, 1], bool), np.array([1, 1, 0, 0, 1], bool)
    point = measure_point(1.0, 4.0, 10.0, own, flat)
    assert (point.relative_cost, point.accuracy, point.gain) == pytest.approx((0.4, 0.6, -0.2))
    assert point.standard_error == pytest.approx(np.std([0, 0, -1, 0, 0], ddof=1) / np.sqrt(5))


def test_of_many_rows_a_part_is_enough_to_plan_by(rows, monkeypatch):
    X, y = rows
    whole = RelaxedHierarchyClassifier(C=10.0).fit(X, y)
    monkeypatch.setattr("fieldguide.identify.relaxed_hierarchy._MOST_PLANNED", 100)
    monkeypatch.setattr("fieldguide.identify.growing.LEAST_DRAWN", 4)
    part = RelaxedHierarchyClassifier(C=10.0).fit(X, y)
    assert not np.array_equal(part.graph_.left, whole.graph_.left)  # found by fewer rows
    assert set(part.predict(X)) == set(y.tolist())
    assert part.held_out_.accuracy == pytest.approx(whole.held_out_.accuracy, abs=0.05)
    again = RelaxedHierarchyClassifier(C=10.0, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(part.predict_proba(X), again.predict_proba(X))


def test_of_many_rows_a_part_tells_whether_an_attention_tree_may_do_better(monkeypatch):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(12), 20)
    X = rng.normal(0, 1, (12, 8))[y] + rng.normal(0, 1.5, (len(y), 8))  # hard: the way is long
    monkeypatch.setattr("fieldguide.identify.auto_key._MOST_TRIED", 100)
    planned, plan = [], AttentionTreeClassifier._plan_trees

    def count(self, problems, index):
        planned.append(len(index))
        return plan(self, problems, index)

    monkeypatch.setattr(AttentionTreeClassifier, "_plan_trees", count)
    choice = choose_key(X, y)
    is_trained = any(t.name == "AttentionTreeClassifier" and t.points for t in choice.tried)
    assert 0 < planned[0] < len(y)
    assert planned[1:] == ([len(y)] if is_trained else [])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=200), st.integers(1, 100))
def test_drawn_rows_hold_each_class(labels, n):
    index = np.unique(labels, return_inverse=True)[1]
    rows = draw_rows(index, n, seed=0)
    counts, drawn = np.bincount(index), np.bincount(index[rows], minlength=index.max() + 1)
    assert (np.diff(rows) > 0).all()
    assert (drawn >= np.minimum(counts, LEAST_DRAWN)).all()
    assert (drawn <= np.maximum(LEAST_DRAWN, np.round(counts * n / len(index)))).all()

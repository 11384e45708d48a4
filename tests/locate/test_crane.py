"""CRANE beside a loop in which every negative looks for its nearest positives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.locate.test_bag_classifiers import draw_bags
from tests.reference.slow_clips import crane_penalties

from fieldguide.errors import FieldguideError
from fieldguide.locate import CRANE
from fieldguide.locate.crane import penalties, rank_regions, split_best


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([0.7, 2.0]))
@settings(max_examples=40)
def test_penalties_are_those_of_loops(seed, n_nearest, cutoff):
    rng = np.random.default_rng(seed)
    positive, negative = rng.standard_normal((5, 3)), rng.standard_normal((8, 3))
    bag = np.arange(8) // 2
    kept = rank_regions(positive, negative, bag, n_nearest, cutoff)
    found = penalties(positive, negative, kept.reach, kept.radius)
    expected = crane_penalties(positive, negative, n_nearest, cutoff)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    # a new region is judged as if it had come with the others
    new = rng.standard_normal(3)
    (alone,) = penalties(new[None], negative, kept.reach, kept.radius)
    total = 0.0
    for row in negative:
        order = np.sort(np.linalg.norm(positive - row, axis=1))
        distance = np.linalg.norm(new - row)
        if distance <= order[min(n_nearest, 5) - 1]:
            total += max(0.0, 1 - distance / kept.radius)
    total += max(0.0, 1 - np.linalg.norm(negative - new, axis=1).min() / kept.radius)
    assert alone == pytest.approx(total / 8, abs=1e-6)


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([0.7, 2.0]))
@settings(max_examples=40)
def test_without_the_last_term_each_negative_speaks_once(seed, n_nearest, cutoff):
    rng = np.random.default_rng(seed)
    positive, negative = rng.standard_normal((5, 3)), rng.standard_normal((8, 3))
    kept = rank_regions(positive, negative, np.arange(8) // 2, n_nearest, cutoff, own_nearest=False)
    found = penalties(positive, negative, kept.reach, kept.radius, own_nearest=False)
    expected = crane_penalties(positive, negative, n_nearest, cutoff, own_nearest=False)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_printed_penalty_is_one_of_the_estimator():
    bags, y, _ = draw_bags(20)
    model = CRANE(1, own_nearest=False).fit(bags, y)
    (kept,) = model.exemplars_
    rows = np.sqrt(np.concatenate(bags).astype(float))
    expected = (
        kept.threshold - penalties(rows, kept.rows, kept.reach, kept.radius, own_nearest=False)
    ) / kept.scale
    np.testing.assert_allclose(np.concatenate(model.instance_scores(bags)), expected)
    ours = np.concatenate(CRANE(1).fit(bags, y).instance_scores(bags))
    assert len(np.unique(expected)) < len(np.unique(ours))  # most are nobody's nearest


def test_negatives_do_not_speak_of_their_own_bag():
    rng = np.random.default_rng(0)
    positive, negative = rng.standard_normal((6, 3)), rng.standard_normal((9, 3))
    bag = np.arange(9) // 3
    kept = rank_regions(positive, negative, bag, 2, 2.0)
    found = penalties(negative, negative, kept.reach, kept.radius, bag)
    for i in range(9):
        others = bag != bag[i]
        (alone,) = penalties(negative[[i]], negative[others], kept.reach[others], kept.radius)
        assert found[i] == pytest.approx(alone, abs=1e-9)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=8),
    st.lists(st.integers(0, 9), min_size=1, max_size=8),
)
def test_no_threshold_splits_better(positive, negative):
    a, b = np.array(positive, float), np.array(negative, float)

    def right(cut):
        return (a < cut).mean() + (b >= cut).mean()

    best = right(split_best(a, b))
    assert best >= max(right(cut) for cut in np.arange(0.5, 11)) - 1e-12


def test_what_no_negative_comes_near_to_is_found():
    model = CRANE(n_nearest=3).fit(*draw_bags(40)[:2])
    bags, y, marks = draw_bags(40, seed=1)
    scores = np.concatenate(model.instance_scores(bags))
    is_mark = np.concatenate(marks)
    assert (scores[is_mark][:, None] > scores[~is_mark]).mean() > 0.8
    ranked = model.decision_function(bags)
    above = (ranked[y == 1][:, None] > ranked[y == -1]).mean()
    assert above > 0.8


def test_three_classes_have_a_function_each():
    classes = ("none", "owl", "wren")
    model = CRANE(n_nearest=3).fit(*draw_bags(45, classes=classes)[:2])
    bags, _, _ = draw_bags(9, classes=classes, seed=1)
    assert model.decision_function(bags).shape == (9, 3)
    assert len(model.exemplars_) == 3
    assert set(model.predict(bags)) <= set(classes)


def test_equal_regions_everywhere_are_survived():
    bags = [np.ones((2, 3))] * 4
    model = CRANE().fit(bags, [1, 1, -1, -1])
    assert np.isfinite(model.decision_function(bags)).all()


def test_negative_values_need_the_euclidean_metric():
    bags, y, _ = draw_bags(12)
    shifted = [bag - 0.5 for bag in bags]
    with pytest.raises(FieldguideError, match="use the metric 'euclidean'"):
        CRANE().fit(shifted, y)
    CRANE(metric="euclidean").fit(shifted, y)

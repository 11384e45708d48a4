"""Binning, AdaBoost with stumps and the split of classes, against slow and known versions."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import entropy
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.reference.slow_attention_tree import adaboost, two_groups

from fieldguide.errors import InvalidArgument
from fieldguide.identify import _boosting
from fieldguide.identify.binning import Binned, bin_features
from fieldguide.identify.boosting import (
    _LEAST_ERROR,
    _list_raised,
    boost,
    choose_sides,
    count_weights,
    gather,
    probability,
    split_classes,
)


def to_binned(levels) -> Binned:
    """Levels as they are, cut half a unit below each whole number."""
    levels = np.asarray(levels, dtype=np.uint8)
    return Binned(levels, np.tile(np.arange(63) + 0.5, (levels.shape[1], 1)))


def draw_rows(seed, n, d, n_levels, n_classes=2):
    """Levels that say something about the classes, and weights that are no round numbers."""
    rng = np.random.default_rng(seed)
    index = rng.integers(0, n_classes, n)
    centre = rng.uniform(0, n_levels, (n_classes, d))
    levels = np.clip(centre[index] + rng.normal(0, n_levels / 3, (n, d)), 0, n_levels - 1)
    return levels.astype(np.uint8), index, rng.uniform(0.2, 1, n)


@st.composite
def small_problems(draw):
    """Few rows of few levels, so that equal columns, equal stumps and constants are common."""
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    rows = st.lists(st.sampled_from([0, 0, 0, 1, 2, 3]), min_size=d, max_size=d)
    levels = draw(st.lists(rows, min_size=n, max_size=n))
    classes = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    weights = draw(st.lists(st.sampled_from([1.0, 1.0, 0.5, 0.3]), min_size=n, max_size=n))
    return levels, classes, weights


# ---- levels ----


def test_every_distinct_value_has_its_level_while_there_are_enough():
    X = np.array([[3.0, -1, 7], [3.0, 5, 7], [0.0, 2, 7], [9.0, -1, 7]])
    binned = bin_features(X)
    assert binned.levels.tolist() == [[1, 0, 0], [1, 2, 0], [0, 1, 0], [2, 0, 0]]
    np.testing.assert_array_equal(binned.value([0, 0, 1], [1, 2, 1]), [1.5, 6.0, 0.5])
    assert binned.value(0, 0) == -np.inf
    assert np.isinf(binned.cuts[2]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_values_are_cut_into_even_parts(dtype):
    X = np.random.default_rng(0).normal(size=(1000, 70)).astype(dtype)
    levels = bin_features(X).levels
    counts = np.stack([np.bincount(column, minlength=64) for column in levels.T])
    assert (counts >= 15).all()
    assert (counts <= 16).all()


def test_a_frequent_value_does_not_take_levels_from_the_others():
    column = np.concatenate([np.zeros(900), np.random.default_rng(0).uniform(1, 2, 630)])
    counts = np.bincount(bin_features(column[:, None]).levels[:, 0], minlength=64)
    assert counts.tolist() == [900] + [10] * 63


@given(st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=200), st.integers(2, 64))
def test_levels_are_ordered_and_cuts_lead_back_to_values(values, n_levels):
    column = np.array(values)
    binned = bin_features(column[:, None], n_levels)
    levels = binned.levels[:, 0]
    assert levels.max() < n_levels
    order = np.argsort(column)
    assert (np.diff(levels[order].astype(int)) >= 0).all()
    n_distinct = len(np.unique(column))
    assert len(np.unique(levels)) == min(n_distinct, n_levels)
    for level in range(1, levels.max() + 1):
        np.testing.assert_array_equal(levels >= level, column >= binned.value(0, level))


def test_levels_of_neighbouring_floats_differ():
    column = np.array([1.0, np.nextafter(1.0, 2)])
    assert bin_features(column[:, None]).levels.ravel().tolist() == [0, 1]


def test_sparse_rows_and_threads_give_the_same_levels():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((50, 130)) < 0.2, rng.random((50, 130)), 0)
    dense, sparse, threads = bin_features(X), bin_features(csr_array(X)), bin_features(X, n_jobs=2)
    for other in (sparse, threads):
        np.testing.assert_array_equal(dense.levels, other.levels)
        np.testing.assert_array_equal(dense.cuts, other.cuts)


@pytest.mark.parametrize("n_levels", [1, 65, 2.5])
def test_bin_features_refuses_other_numbers_of_levels(n_levels):
    with pytest.raises(InvalidArgument, match=r"n_levels of bin_features must be .* \[2, 64\]"):
        bin_features(np.zeros((2, 1)), n_levels)


# ---- boosting ----


@given(small_problems(), st.integers(1, 12))
def test_stumps_are_those_of_the_slow_version(problem, n_rounds):
    levels, classes, weights = problem
    signs = [1 if c % 2 else -1 for c in classes]
    rows = list(range(len(levels)))
    found = boost(gather(to_binned(levels), np.array(rows)), signs, weights, n_rounds=n_rounds)
    stumps, score = adaboost(levels, rows, signs, weights, n_rounds, 0.48)
    table = np.array(stumps).reshape(-1, 5)
    for place, name in enumerate(found.stumps._fields):
        np.testing.assert_array_equal(getattr(found.stumps, name), table[:, place], name)
    np.testing.assert_allclose(found.score, score, rtol=1e-14, atol=1e-14)


def test_stumps_of_many_rounds_are_those_of_the_textbook(seed):
    """Normalised floats, no whole numbers: 60 rounds, so that weights are counted anew twice."""
    levels, index, weight = draw_rows(seed, 80, 70, 9)
    signs = np.where(index, 1, -1)
    found = boost(gather(to_binned(levels), np.arange(80)), signs, weight, n_rounds=60)
    w = weight / weight.sum()
    passes = levels[None] >= np.arange(1, 9)[:, None, None]  # threshold, row, feature
    score = np.zeros(80)
    for error, alpha in zip(found.stumps.error, found.stumps.alpha, strict=True):
        edges = np.einsum("i,vij->jv", w * signs, np.where(passes, 1, -1))
        is_asked = (passes.any(axis=1) & ~passes.all(axis=1)).T
        edges = np.where(is_asked, edges, 0)
        j, v = np.unravel_index(np.argmax(np.abs(edges)), edges.shape)
        assert (1 - abs(edges[j, v])) / 2 == pytest.approx(error, abs=1e-6)
        said = np.where(passes[v, :, j], 1, -1) * np.sign(edges[j, v])
        score += alpha * said
        w = w * np.exp(-alpha * signs * said)
        w /= w.sum()
    assert len(found.stumps.alpha) == 60
    np.testing.assert_allclose(found.score, score, atol=1e-4)


@given(small_problems(), st.integers(1, 8))
def test_training_error_obeys_the_bound_of_equation_1(problem, n_rounds):
    levels, classes, weights = problem
    signs = np.where(np.array(classes) % 2, 1, -1)
    rows = np.arange(len(levels))
    found = boost(gather(to_binned(levels), rows), signs, weights, n_rounds=n_rounds)
    share = np.array(weights) / np.sum(weights)
    missed = share[np.sign(found.score) != signs].sum()
    errors = found.stumps.error
    assert missed <= np.prod(2 * np.sqrt(errors * (1 - errors))) + 1e-9
    assert (errors <= 0.48).all()
    np.testing.assert_allclose(
        found.stumps.evaluate(np.array(levels)), found.score, rtol=1e-12, atol=1e-12
    )


def test_training_error_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 40))
    y = X[:, :8].sum(axis=1) + rng.normal(size=600) > 0
    peer = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=40).fit(X, y)
    found = boost(gather(bin_features(X), np.arange(600)), np.where(y, 1, -1), n_rounds=40)
    ours = np.mean((found.score > 0) != y)
    assert ours == pytest.approx(1 - peer.score(X, y), abs=0.02)
    assert ours < 0.15


def test_rows_of_a_list_are_all_that_counts():
    levels, index, weight = draw_rows(0, 60, 80, 7)
    rows = np.array([5, 3, 40, 41, 59, 7, 20, 21, 8, 13])
    some = boost(gather(to_binned(levels), rows), 2 * index[rows] - 1, weight[rows], n_rounds=5)
    alone = gather(to_binned(levels[rows]), np.arange(10))
    copied = boost(alone, 2 * index[rows] - 1, weight[rows], n_rounds=5)
    for ours, theirs in zip(some.stumps, copied.stumps, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_perfect_stump_is_the_only_one_and_is_sure():
    binned = to_binned([[0, 5], [1, 5], [0, 9], [1, 9]])
    found = boost(gather(binned, np.arange(4)), [-1, -1, 1, 1], n_rounds=10)
    assert found.stumps.feature.tolist() == [1]
    assert found.stumps.threshold.tolist() == [6]
    assert found.stumps.error.tolist() == [0.0]
    assert found.stumps.alpha[0] == pytest.approx(-0.5 * np.log(_LEAST_ERROR))
    np.testing.assert_allclose(probability(found.score), [0, 0, 1, 1], atol=1e-5)


def test_equal_stumps_lowest_feature_and_threshold():
    levels = np.array([[7, 2, 2], [7, 2, 2], [7, 6, 6], [7, 6, 6]])
    found = boost(gather(to_binned(levels), np.arange(4)), [1, 1, -1, -1])
    assert (found.stumps.feature[0], found.stumps.threshold[0], found.stumps.side[0]) == (1, 3, -1)


def test_no_stump_is_better_than_chance():
    binned = to_binned([[0, 0], [0, 1], [1, 0], [1, 1]])
    found = boost(gather(binned, np.arange(4)), [1, -1, -1, 1])
    assert len(found.stumps.alpha) == 0
    assert found.score.tolist() == [0.0] * 4
    assert probability(found.score).tolist() == [0.5] * 4


def test_gamma_is_the_largest_error_that_is_taken():
    binned = to_binned([[0], [0], [0], [1], [1]])
    signs = [-1, -1, 1, 1, 1]
    subset = gather(binned, np.arange(5))
    assert len(boost(subset, signs, n_rounds=1, gamma=0.21).stumps.alpha) == 1
    assert len(boost(subset, signs, n_rounds=1, gamma=0.19).stumps.alpha) == 0


def test_constant_columns_and_equal_rows_ask_nothing():
    subset = gather(to_binned(np.full((4, 3), 8)), np.arange(4))
    assert subset.blocks.shape == (0, 4 * _boosting.WIDTH)
    assert len(boost(subset, [1, -1, 1, -1]).stumps.alpha) == 0
    assert split_classes(subset, np.array([0, 1, 2, 0]), 3) is None


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("fieldguide.identify.boosting._WORTH_THREADS", 0)
    levels, index, weight = draw_rows(1, 120, 300, 30, 5)
    subset = gather(to_binned(levels), np.arange(120))
    one = boost(subset, np.where(index % 2, 1, -1), weight, n_rounds=20)
    split = split_classes(subset, index, 5, weight)
    for n_jobs in (2, 3, 9):
        other = boost(subset, np.where(index % 2, 1, -1), weight, n_rounds=20, n_jobs=n_jobs)
        np.testing.assert_array_equal(one.score, other.score)
        found = split_classes(subset, index, 5, weight, n_jobs=n_jobs)
        assert found[:3] == split[:3]
        np.testing.assert_array_equal(found.side, split.side)


def test_lists_of_raised_entries_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 9, (200, 150))
    levels[:, 64:] *= rng.random((200, 86)) < 0.1  # the first block is dense
    levels[:, 70] = np.maximum(levels[:, 70], 2)  # and not every lowest level is 0
    signs = np.where(levels[:, [3, 66, 80, 90, 149]].sum(axis=1) + rng.normal(0, 3, 200) > 8, 1, -1)
    subset = gather(to_binned(levels), np.arange(200))
    found = {}
    for rare in (-1.0, 0.4, 1.0):
        monkeypatch.setattr("fieldguide.identify.boosting._RARE", rare)
        entries, starts = _list_raised(subset)
        is_listed = (starts[:, -1] > starts[:, 0]).tolist()
        assert is_listed == {-1.0: [False] * 3, 0.4: [False, True, True], 1.0: [True] * 3}[rare]
        if rare == 1.0:
            low = levels.min(axis=0)
            assert starts[-1, -1] == (levels > low).sum() == len(entries) - 1
        found[rare] = boost(subset, signs, n_rounds=40)
    for rare in (0.4, 1.0):
        for ours, theirs in zip(found[rare].stumps, found[-1.0].stumps, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert len(np.unique(found[0.4].stumps.feature // 64)) == 3


@pytest.mark.parametrize("bad", [[1.0, 0.0], [1.0, -1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_weights_must_be_above_0(bad):
    with pytest.raises(InvalidArgument, match="finite and above 0"):
        count_weights(np.array(bad))


def test_light_rows_keep_a_weight():
    assert count_weights(np.array([1e-300, 1.0])).tolist() == [1, 2**36]


# ---- two super-classes ----


def test_the_term_of_entropy_is_that_of_the_mathematics_library():
    rng = np.random.default_rng(0)
    counts = np.unique(np.concatenate([np.arange(3000), 2 ** rng.uniform(0, 36, 5000)]) // 1)
    found = np.array([_boosting.rank_entropy(c) for c in counts])
    exact = counts * np.log2(np.maximum(counts, 1))
    np.testing.assert_array_equal(found, np.rint(exact))
    assert _boosting.rank_entropy.py_func(12345.0) == _boosting.rank_entropy(12345.0)


def test_the_split_has_the_least_entropy(seed):
    levels, index, weight = draw_rows(seed, 90, 7, 20, 6)
    found = split_classes(gather(to_binned(levels), np.arange(90)), index, 6, weight)

    def judge(j, v):
        sides = [levels[:, j] < v, levels[:, j] >= v]
        held = [np.bincount(index[s], weights=weight[s], minlength=6) for s in sides]
        return sum(h.sum() * entropy(h, base=2) for h in held if h.sum()) / weight.sum()

    values = {(j, v): judge(j, v) for j in range(7) for v in range(1, 20)}
    best = min(values, key=values.get)
    assert (found.feature, found.threshold) == best
    assert found.entropy == pytest.approx(values[best], abs=1e-8)
    j, v = best
    for k in range(6):
        left = weight[(index == k) & (levels[:, j] < v)].sum()
        right = weight[(index == k) & (levels[:, j] >= v)].sum()
        assert found.side[k] == (-1 if left >= right else 1)


@given(small_problems(), st.permutations(range(4)))
def test_the_split_is_that_of_the_slow_version_also_among_equals(problem, names):
    levels, classes, weights = problem
    assume(len(set(classes)) > 1)
    classes = [names[c] for c in classes]
    subset = gather(to_binned(levels), np.arange(len(levels)))
    found = split_classes(subset, np.array(classes), 4, weights)
    slow = two_groups(levels, range(len(levels)), classes, weights)
    if slow is None:
        assert found is None
        return
    side = np.zeros(4)
    for k, where in slow[2].items():
        side[k] = where
    assert (found.feature, found.threshold) == slow[:2]
    np.testing.assert_array_equal(found.side, side)


def test_where_all_classes_agree_the_one_with_the_largest_share_elsewhere_is_flipped():
    assert choose_sides(np.array([5.0, 6, 10]), np.array([1.0, 3, 4])).tolist() == [-1, 1, -1]
    assert choose_sides(np.array([1.0, 3, 4]), np.array([5.0, 6, 10])).tolist() == [1, -1, 1]
    assert choose_sides(np.array([2.0, 2]), np.array([2.0, 2])).tolist() == [1, -1]
    assert choose_sides(np.array([3.0, 1]), np.array([1.0, 1.5])).tolist() == [-1, 1]

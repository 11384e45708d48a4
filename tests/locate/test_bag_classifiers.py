"""Classifiers of bags: one contract for all, then what each must find."""

import json
import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from fieldguide.errors import FieldguideError, FieldguideWarning, ModelError
from fieldguide.kernels import KERNELS, AdditiveKernelMap
from fieldguide.locate import (
    CRANE,
    MISVM,
    MILBoost,
    RegionSelector,
    find_objects,
    to_regions,
)
from fieldguide.locate.finding import score_bags
from fieldguide.locate.kernel_bags import choose_clearly_better
from fieldguide.locate.mil_boost import bin_columns, boost, log_likelihood, slopes
from fieldguide.video import to_supervoxels

ESTIMATORS = [
    RegionSelector("chi2", C=5.0, cap=0.5),
    RegionSelector("linear", C=5.0, n_starts=3, C_negative="balanced"),
    RegionSelector("chi2", C="cv", cap="cv", map_above=0, tol=0.05),
    RegionSelector("rbf", C=5.0, cap=1.0),
    MISVM("intersection", C=5.0),
    MILBoost(n_rounds=20),
    CRANE(n_nearest=3),
]
IDS = ["chi2", "linear", "cv-map", "rbf", "MISVM", "MILBoost", "CRANE"]


def draw_bags(n_bags=24, classes=(-1, 1), d=8, seed=0):
    """Histograms; a bag of class k > 0 has two or three regions with much of bin k."""
    rng = np.random.default_rng(seed)
    y = np.array(classes)[np.arange(n_bags) % len(classes)]
    bags, marks = [], []
    for label in y:
        m = int(rng.integers(4, 8))
        bag, is_mark = rng.dirichlet(np.full(d, 0.7), m), np.zeros(m, bool)
        k = list(classes).index(label)
        bag[:, 1 : len(classes)] *= 0.1
        if k:
            is_mark[rng.choice(m, int(rng.integers(2, 4)), replace=False)] = True
            bag[is_mark, k] += 1.5
        bags.append((bag / bag.sum(axis=1, keepdims=True)).astype(np.float32))
        marks.append(is_mark)
    return bags, y, marks


def check_bag_classifier(estimator):
    """Hold ``estimator`` to the contract of classifiers of bags."""
    bags, y, _ = draw_bags()
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    fitted = clone(estimator).fit(bags, y)
    scores = fitted.decision_function(bags)
    assert scores.shape == (len(bags),)
    assert np.isfinite(scores).all()
    assert fitted.classes_.tolist() == [-1, 1]
    assert fitted.n_features_in_ == 8
    np.testing.assert_array_equal(fitted.predict(bags), np.where(scores > 0, 1, -1))
    instances = fitted.instance_scores(bags)
    assert [len(f) for f in instances] == [len(bag) for bag in bags]
    # the same again: a second fit, a copy through pickle, other numbers of threads, sparse bags
    np.testing.assert_array_equal(fitted.fit(bags, y).decision_function(bags), scores)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(fitted)).decision_function(bags), scores
    )
    other = clone(estimator).set_params(n_jobs=2).fit(bags, y)
    np.testing.assert_array_equal(other.decision_function(bags), scores)
    thin = [sparse.csr_array(bag) for bag in bags]
    np.testing.assert_allclose(fitted.decision_function(thin), scores, rtol=1e-4, atol=1e-5)
    # one bag at a time; regions in another order
    alone = np.concatenate([fitted.decision_function([bag]) for bag in bags])
    np.testing.assert_allclose(alone, scores, rtol=1e-4, atol=1e-5)
    turned = fitted.decision_function([bag[::-1] for bag in bags])
    np.testing.assert_allclose(turned, scores, rtol=1e-4, atol=1e-5)
    check_bad_input(estimator, fitted, bags, y)


def check_bad_input(estimator, fitted, bags, y):
    """Bad input is refused in one sentence that says what is wrong."""
    empty = np.zeros((0, 8), np.float32)
    for bad_bags, bad_y, message in (
        ([], [], "at least one bag"),
        ([*bags[:-1], empty], y, "has no region"),
        (bags, np.ones(len(bags)), "at least 2 classes"),
        (bags, y[:-1], "one label for each of the 24 bags"),
        ([*bags[:-1], np.ones((2, 3))], y, "the same columns"),
        (np.ones((4, 8)), y[:4], "a sequence of arrays"),
        ([*bags[:-1], np.full((2, 8), np.nan)], y, "NaN or infinity"),
        ([*bags[:-1], np.full((2, 8), "x")], y, "must hold numbers"),
    ):
        with pytest.raises(FieldguideError, match=message) as caught:
            clone(estimator).fit(bad_bags, bad_y)
        assert "\n" not in str(caught.value)
    for bad, message in (
        ([empty], "has no region"),
        ([np.ones((2, 3))], "must have the 8 columns"),
        ([], "at least one bag"),
    ):
        with pytest.raises(FieldguideError, match=message):
            fitted.decision_function(bad)


@pytest.mark.filterwarnings("ignore::fieldguide.errors.FieldguideWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=IDS)
def test_contract(estimator):
    check_bag_classifier(estimator)


@pytest.mark.parametrize(
    "estimator",
    [RegionSelector("chi2", C=10.0), MISVM("chi2", C=10.0), MILBoost(n_rounds=40)],
    ids=["RegionSelector", "MISVM", "MILBoost"],
)
def test_new_bags_are_told_apart_and_their_regions_too(estimator):
    model = clone(estimator).fit(*draw_bags(40)[:2])
    bags, y, marks = draw_bags(40, seed=1)
    assert (model.predict(bags) == y).mean() >= 0.9
    scores = np.concatenate(model.instance_scores(bags))
    is_mark = np.concatenate(marks)
    assert scores[is_mark].mean() > scores[~is_mark].mean() + 0.5
    assert ((scores > np.quantile(scores, 1 - is_mark.mean())) == is_mark).mean() > 0.9


def test_three_classes_have_a_function_each():
    bags, y, _ = draw_bags(45, classes=("none", "owl", "wren"))
    for estimator in (RegionSelector("chi2", C=10.0), MISVM("chi2", C=10.0), MILBoost(40)):
        model = clone(estimator).fit(bags, y)
        new, labels, marks = draw_bags(45, classes=("none", "owl", "wren"), seed=2)
        scores = model.decision_function(new)
        assert scores.shape == (45, 3)
        bird = labels != "none"
        assert (model.predict(new)[bird] == labels[bird]).mean() > 0.85
        first = int(np.flatnonzero(labels == "owl")[0])
        m = len(new[first])
        regions = to_regions(np.arange(m)[None])
        (found,) = model.locate([new[first]], [regions], target="owl")
        column = model.instance_scores([new[first]])[0][:, 1]
        np.testing.assert_array_equal(found.region_scores, column)
        assert found.score == pytest.approx(scores[first, 1], rel=1e-4)
        assert marks[first][column.argmax()]
        with pytest.raises(FieldguideError, match="one of the classes"):
            model.locate([new[first]], [regions], target="eagle")
        with pytest.raises(FieldguideError, match="one of the classes"):
            model.locate([new[first]], [regions])


def test_weights_keep_to_the_cap_and_find_the_regions():
    bags, y, marks = draw_bags(40)
    positive = [mark for mark, label in zip(marks, y, strict=True) if label == 1]
    for cap in (1.0, 0.5, 0.2):
        model = RegionSelector("chi2", C=10.0, cap=cap).fit(bags, y)
        weights = model.weights_[0]
        assert len(weights) == 20
        hits = []
        for s, mark in zip(weights, positive, strict=True):
            assert s.sum() == pytest.approx(1)
            assert s.max() <= max(cap, 1 / len(s)) + 1e-9
            hits.append(s[mark].sum())
        assert np.mean(hits) > (0.9 if cap >= 0.5 else 0.45)


@pytest.mark.parametrize("kernel", ["linear", *KERNELS])
def test_every_kernel(kernel):
    bags, y, _ = draw_bags(40)
    new, labels, _ = draw_bags(40, seed=1)
    model = RegionSelector(kernel, C=100.0 if kernel == "linear" else 10.0, tol=0.05).fit(bags, y)
    assert (model.predict(new) == labels).mean() >= 0.85
    assert (model.gamma_ is None) == (kernel not in ("rbf", "exponential_chi2"))


def test_the_explicit_map_gives_nearly_the_exact_kernel():
    bags, y, _ = draw_bags(40)
    new = draw_bags(40, seed=1)[0]
    exact = RegionSelector("chi2", C=5.0, tol=1e-3, max_iter=300).fit(bags, y)
    mapped = RegionSelector("chi2", C=5.0, tol=1e-3, max_iter=300, map_above=0, map_order=4)
    mapped.fit(bags, y)
    assert mapped.objectives_[0][0] == pytest.approx(exact.objectives_[0][0], rel=0.05)
    a, b = exact.decision_function(new), mapped.decision_function(new)
    assert np.corrcoef(a, b)[0, 1] > 0.99
    # scores are those of the map's own columns
    X = AdditiveKernelMap("chi2", order=4).fit_transform(np.concatenate(new))
    f = X @ mapped._functions.coef[0] + mapped._functions.intercept[0]
    np.testing.assert_allclose(np.concatenate(mapped.instance_scores(new)), f, atol=1e-4)


def test_starts_are_reported_and_the_best_is_kept():
    bags, y, _ = draw_bags(30)
    model = RegionSelector("chi2", C=3.0, cap=1.0, n_starts=5).fit(bags, y)
    one = RegionSelector("chi2", C=3.0, cap=1.0).fit(bags, y)
    ends = model.objectives_[0]
    assert len(ends) == 5
    assert ends[0] == one.objectives_[0][0]
    assert min(ends) <= ends[0]
    best = RegionSelector("chi2", C=3.0, cap=1.0, n_starts=5, random_state=7).fit(bags, y)
    assert best.objectives_[0][0] == ends[0]
    assert best.objectives_[0][1:] != ends[1:]


def test_c_and_cap_are_chosen_by_held_out_bags():
    bags, y, _ = draw_bags(30)
    model = RegionSelector("chi2", C="cv", cap="cv", tol=0.05).fit(bags, y)
    table = model.cv_scores_
    assert len(table) == 9
    assert next(iter(table)) == (1.0, 1 / 3)
    assert table[model.C_, model.cap_] >= table[1.0, 1 / 3]
    assert RegionSelector(C="cv", cap=1.0).fit(bags, y).cap_ == 1
    with pytest.raises(FieldguideError, match="at least 2 bags of each class"):
        RegionSelector(C="cv").fit(bags[:3], [1, -1, -1])


def test_a_setting_is_left_for_one_that_is_clearly_better():
    assert choose_clearly_better(np.array([[0.5, 0.5], [0.5, 0.5]])) == 0
    assert choose_clearly_better(np.array([[0.5, 0.6], [0.5, 0.7]])) == 1
    assert choose_clearly_better(np.array([[0.5, 0.9], [0.5, 0.4]])) == 0  # better, not clearly
    assert choose_clearly_better(np.array([[0.5, 0.6, 0.8], [0.5, 0.6, 0.8]])) == 2


def test_the_costs_of_both_sides_are_their_own():
    bags, y, _ = draw_bags(30)
    low, high = (
        RegionSelector("chi2", C=1.0, C_negative=cost).fit(bags, y) for cost in (0.01, 10.0)
    )
    assert low.decision_function(bags).mean() > high.decision_function(bags).mean() + 0.5
    equal = RegionSelector("chi2", C=2.0).fit(bags, y)
    same = RegionSelector("chi2", C=2.0, C_negative=2.0).fit(bags, y)
    assert equal.objectives_ == same.objectives_


def test_an_unfinished_search_warns():
    bags, y, _ = draw_bags(30)
    with pytest.warns(FieldguideWarning, match=r"stopped at a gap of .* raise max_iter \(now 1\)"):
        RegionSelector("chi2", C=10.0, cap=1.0, tol=1e-4, max_iter=1).fit(bags, y)


def test_negative_values_need_a_kernel_of_vectors():
    bags, y, _ = draw_bags(12)
    shifted = [bag - 0.5 for bag in bags]
    with pytest.raises(FieldguideError, match="must not be negative"):
        RegionSelector("chi2").fit(shifted, y)
    RegionSelector("linear").fit(shifted, y)


def test_kernels_without_a_map_have_a_limit_in_training_alone(monkeypatch):
    bags, y, _ = draw_bags(12)
    n_regions = sum(map(len, bags))
    monkeypatch.setattr("fieldguide.locate.kernel_bags.MOST_GRAM_ROWS", n_regions)
    model = RegionSelector("rbf", map_above=0).fit(bags, y)
    assert len(model.predict([*bags, *bags])) == 24
    monkeypatch.setattr("fieldguide.locate.kernel_bags.MOST_GRAM_ROWS", n_regions - 1)
    with pytest.raises(FieldguideError, match="keeps a matrix of all pairs"):
        RegionSelector("rbf", map_above=0).fit(bags, y)


def test_both_sides_of_two_classes_can_be_looked_for():
    bags, y, _ = draw_bags(12)
    model = RegionSelector("chi2").fit(bags, y)
    regions = [to_regions(np.arange(len(bag))[None]) for bag in bags]
    for one, other in zip(
        model.locate(bags, regions), model.locate(bags, regions, target=-1), strict=True
    ):
        np.testing.assert_array_equal(one.region_scores, -other.region_scores)
    with pytest.raises(FieldguideError, match="as many as the 12 bags"):
        model.locate(bags, regions[:-1])


def test_what_stands_out_is_found_as_find_objects_does():
    bags, y, _ = draw_bags(12)
    model = RegionSelector("linear").fit(bags, y)
    regions = [to_regions(np.arange(len(bag))[None]) for bag in bags]
    contrast = [np.linspace(0, 1, len(bag)) for bag in bags]
    located = model.locate(bags, regions, contrast=contrast)
    for found, scores, r, c in zip(
        located, model.instance_scores(bags), regions, contrast, strict=True
    ):
        np.testing.assert_array_equal(found.mask, find_objects(r, scores, contrast=c).mask)
    assert any(
        (found.mask != plain.mask).any()
        for found, plain in zip(located, model.locate(bags, regions), strict=True)
    )
    with pytest.raises(FieldguideError, match=r"contrast of .* as many as the 12 bags; got 11"):
        model.locate(bags, regions, contrast=contrast[:-1])
    clip = to_supervoxels(np.arange(len(bags[0]))[None, None])
    with pytest.raises(FieldguideError, match="the regions of bag 0 are those of a clip"):
        model.locate(bags[:1], [clip], contrast=contrast[:1])


@pytest.mark.parametrize("estimator", [RegionSelector("linear"), MISVM("linear")])
@pytest.mark.parametrize("classes", [(-1, 1), ("none", "owl", "wren")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_linear_function_is_its_coefficients(estimator, classes, dtype):
    bags, y, _ = draw_bags(24, classes=classes)
    model = clone(estimator).fit([bag.astype(dtype) for bag in bags], y)
    n_functions = 1 if len(classes) == 2 else 3
    assert model.coef_.shape == (n_functions, 8)
    assert model.intercept_.shape == (n_functions,)
    assert model.coef_.dtype == model.intercept_.dtype == dtype
    by_hand = bags[0] @ model.coef_.T + model.intercept_
    by_hand = by_hand[:, 0] if n_functions == 1 else by_hand
    np.testing.assert_allclose(model.instance_scores(bags[:1])[0], by_hand, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", ["chi2", "hellinger", "rbf"])
def test_other_kernels_have_no_coefficients(kernel):
    model = RegionSelector(kernel, map_above=0)
    assert not hasattr(model, "coef_")
    model.fit(*draw_bags(12)[:2])
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match=f"intercept_ .* fitted with '{kernel}'"):
        _ = model.intercept_


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (RegionSelector("cosine"), "kernel of RegionSelector must be one of"),
        (RegionSelector(C=-1), "C of RegionSelector must be a number"),
        (RegionSelector(C="best"), "C of RegionSelector must be a number"),
        (RegionSelector(cap=0), "cap of RegionSelector must be a number"),
        (RegionSelector(n_starts=0), "n_starts of RegionSelector"),
        (RegionSelector(C_negative="same"), "C_negative of RegionSelector"),
        (MISVM(max_iter=0), "max_iter of MISVM"),
        (MILBoost(n_bins=1000), "n_bins of MILBoost"),
        (CRANE(n_nearest=0), "n_nearest of CRANE"),
        (CRANE(metric="cosine"), "metric of CRANE must be one of"),
    ],
)
def test_bad_arguments_are_one_sentence(estimator, message):
    with pytest.raises(FieldguideError, match=message):
        estimator.fit(*draw_bags(6)[:2])


def test_the_score_of_a_bag():
    scores, start = np.array([2.0, 1.0, -3.0, -1.0, -2.0, 4.0]), np.array([0, 3, 5, 6])
    np.testing.assert_allclose(score_bags(scores, start), [5 / 3, -1, 4])


def test_the_slopes_of_boosting_are_finite_differences():
    rng = np.random.default_rng(0)
    score, start = rng.standard_normal(9), np.array([0, 3, 5, 9])
    is_positive, h = np.array([True, False, True]), 1e-6
    found = slopes(score, start, is_positive)
    for k in range(9):
        move = h * (np.arange(9) == k)
        up, down = (log_likelihood(score + t * move, start, is_positive) for t in (1, -1))
        assert found[k] == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-8)


def test_boosting_takes_the_steepest_stump_and_never_falls():
    bags, y, _ = draw_bags(20)
    X = np.concatenate(bags).astype(np.float64)
    start = np.concatenate([[0], np.cumsum([len(bag) for bag in bags])])
    cuts, bins = bin_columns(X, 8)
    stumps, trace = boost(cuts, bins, start, y == 1, 15)
    assert (np.diff(trace) >= -1e-9).all()
    constant = stumps.height[0]
    slope = slopes(np.full(len(X), constant), start, y == 1)
    assert slope.sum() == pytest.approx(0, abs=1e-9)  # no other constant is better
    gains = {
        (d, cut): abs((slope * np.where(X[:, d] > cut, 1, -1)).sum())
        for d in range(X.shape[1])
        for cut in cuts[d]
    }
    first = gains[int(stumps.feature[1]), stumps.threshold[1]]
    assert first == pytest.approx(max(gains.values()))
    score = stumps.evaluate(X)
    assert log_likelihood(score, start, y == 1) == pytest.approx(trace[-1])


def boost_slowly(X, start, y, n_rounds):
    """The method of Viola, Platt and Zhang with every value as a threshold, bag by bag."""
    bags = [slice(a, b) for a, b in pairwise(start)]

    def measure(f):
        some = np.array([1 - np.prod(1 / (1 + np.exp(f[bag]))) for bag in bags])
        return np.log(np.where(y, some, 1 - some)).sum(), some

    def search(side, f, most):
        grid = np.linspace(-most, most, 41)
        for _ in range(5):
            best = grid[np.argmax([measure(f + a * side)[0] for a in grid])]
            grid = best + (grid - grid.mean()) / 10
        return best

    f = np.full(len(X), search(np.ones(len(X)), np.zeros(len(X)), 8.0))
    for _ in range(n_rounds):
        p, some = 1 / (1 + np.exp(-f)), measure(f)[1]
        w = np.concatenate(
            [p[bag] * ((1 - s) / s if t else -1) for bag, s, t in zip(bags, some, y, strict=True)]
        )
        sides = [np.where(X[:, [d]] > X[:, d], 1.0, -1.0).T for d in range(X.shape[1])]
        side = max(np.concatenate(sides), key=lambda side: abs(w @ side))
        f = f + search(side, f, 4.0) * side
    return f


@pytest.mark.parametrize("draw", range(3))
def test_boosting_is_that_of_the_slow_version(draw):
    rng = np.random.default_rng(draw)
    sizes = rng.integers(1, 5, 16)
    start = np.concatenate([[0], np.cumsum(sizes)])
    y = np.arange(16) % 2 == 0
    X = rng.standard_normal((sizes.sum(), 4))
    X[start[:-1][y], 1] += 1.0
    cuts, bins = bin_columns(X, 255)
    stumps, _ = boost(cuts, bins, start, y, 3)
    np.testing.assert_allclose(stumps.evaluate(X), boost_slowly(X, start, y, 3), atol=2e-3)


def test_boosting_does_not_depend_on_the_order_of_columns():
    rng = np.random.default_rng(0)
    bags = [rng.dirichlet(np.full(30, 0.1), 40) for _ in range(24)]
    y, turned = np.arange(24) % 2, rng.permutation(30)
    new = [rng.dirichlet(np.full(30, 0.1), 40) for _ in range(6)]
    model = MILBoost(n_rounds=20).fit(bags, y)
    other = MILBoost(n_rounds=20).fit([bag[:, turned] for bag in bags], y)
    np.testing.assert_allclose(
        other.decision_function([bag[:, turned] for bag in new]), model.decision_function(new)
    )


MODELS = {
    "linear": RegionSelector("linear", C=2.0, cap=0.5),
    "chi2": RegionSelector("chi2"),
    "mapped": RegionSelector("chi2", map_above=0),
    "rbf": RegionSelector("rbf"),
    "hellinger": MISVM("hellinger", map_above=0),
    "misvm": MISVM("intersection"),
    "milboost": MILBoost(n_rounds=5),
    "crane": CRANE(n_nearest=2),
}


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    made = [rng.random((rng.integers(2, 6), 5)) for _ in range(18)]
    for i, bag in enumerate(made):
        bag[0, i % 3] += 2
    return made, np.array(["ash", "elm", "oak"])[np.arange(18) % 3]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_saved_and_opened_it_is_the_same(bags, name, n_classes):
    kept = np.flatnonzero(np.arange(18) % 3 < n_classes)
    rows, y = [bags[0][i] for i in kept], bags[1][kept]
    model = MODELS[name].fit(rows[:10], y[:10])
    arrays, settings = model.to_state()
    again = type(model).from_state(arrays, json.loads(json.dumps(settings)))
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    for one, other in zip(again.instance_scores(rows), model.instance_scores(rows), strict=True):
        np.testing.assert_array_equal(one, other)
    if name == "linear":
        np.testing.assert_array_equal(again.coef_, model.coef_)
        np.testing.assert_array_equal(again.intercept_, model.intercept_)


@pytest.mark.parametrize("name", ["linear", "chi2", "mapped", "milboost", "crane"])
def test_functions_that_do_not_fit_are_refused(bags, name):
    model = MODELS[name].fit(bags[0][:10], bags[1][:10])
    for key, value in (("classes_", {"str3": ["ash", "elm"]}), ("n_features_in_", 1)):
        arrays, record = model.to_state()
        record["model"]["fitted"][key] = value
        with pytest.raises(ModelError, match=f"of {type(model).__name__} "):
            type(model).from_state(arrays, record)

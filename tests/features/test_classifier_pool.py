import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC
from tests.conftest import draw_blobs
from tests.features.contract import check_image_transformer, odd_images
from tests.features.test_deep import make_network

from fieldguide._random import spawn_generators
from fieldguide.errors import EmbedderError, InvalidArgument, ModelError
from fieldguide.features import DeepFeatures
from fieldguide.features._pool_training import (
    balance,
    group_rows,
    train_on_clusters,
    train_on_window,
)
from fieldguide.features.classifier_pool import ELEVEN, ClassifierPool
from fieldguide.features.components import find_components
from fieldguide.features.network import SIX
from fieldguide.features.pool_maps import fit_maps, weighted_quantiles
from fieldguide.features.vocabulary import class_names
from fieldguide.svm import primal_value


@pytest.fixture(scope="module")
def noisy():
    """Blobs whose descriptors all differ: HOG does not see the phase of a stripe."""
    return draw_noisy(0)


@pytest.fixture(scope="module")
def union(noisy):
    """A pool of all three kinds, on two windows."""
    pool = ClassifierPool(
        ("clusters", "windows", "outputs"),
        n_clusters=2,
        n_components=4,
        windows=("whole", "centre"),
        n_jobs=1,
    )
    return pool.fit(*noisy)


def draw_noisy(seed, n_per_kind=8):
    rng = np.random.default_rng(seed)
    images, kinds = draw_blobs(seed, n_per_kind)
    noise = rng.integers(-30, 30, (len(images), *images[0].shape))
    return list(np.clip(noise + images, 0, 255).astype(np.uint8)), kinds


def draw_rows(seed, n=90, d=12, n_classes=3):
    rng = np.random.default_rng(seed)
    index = rng.integers(0, n_classes, n)
    centres = 2 * rng.normal(size=(n_classes, d))
    return (centres[index] + rng.normal(size=(n, d))).astype(np.float32), index


# --- the contract


def test_contract_of_an_estimator_over_images(blobs, tmp_path):
    images, kinds = blobs[0][::4], blobs[1][::4]
    for kind in ("clusters", "windows"):
        folder = tmp_path / kind
        folder.mkdir()
        pool = ClassifierPool(
            kind, n_clusters=2, n_components=3, windows=("whole", "top-left"), n_jobs=-1
        )
        check_image_transformer(pool, images, folder, kinds)


def test_contract_of_outputs(blobs, tmp_path):
    images = blobs[0][:2]
    check_image_transformer(ClassifierPool("outputs", windows=("centre",)), images, tmp_path)


def test_odd_images_get_finite_values(union):
    values = union.transform([pixels for _, pixels in odd_images()])
    assert np.isfinite(values).all()
    assert values.min() >= 0
    assert values.max() <= 1


def test_odd_images_can_be_fitted():
    images = [pixels for _, pixels in odd_images()]
    kinds = ["a", "b", "a", "b", "a", "b"]
    values = ClassifierPool(("clusters", "windows"), n_jobs=1).fit(images, kinds).transform(images)
    assert np.isfinite(values).all()


# --- columns


def test_default_sizes_are_those_of_the_paper(noisy):
    images, kinds = noisy
    # ten classes would make 50 and 110: here there are three
    assert ClassifierPool().fit(images, kinds).transform(images[:1]).shape == (1, 5 * 3)
    assert ClassifierPool("windows").fit(images, kinds).transform(images[:1]).shape == (1, 11 * 3)
    pool = ClassifierPool("outputs").fit(images[:2])
    assert pool.classes_ is None
    assert pool.transform(images[:1]).shape == (1, 6000)


def test_names_and_windows_say_which_classifier_and_which_window(union):
    names = union.get_feature_names_out()
    assert list(names[:12]) == [
        "disc, cluster 1 of 2, whole picture",
        "disc, cluster 2 of 2, whole picture",
        "square, cluster 1 of 2, whole picture",
        "square, cluster 2 of 2, whole picture",
        "stripe, cluster 1 of 2, whole picture",
        "stripe, cluster 2 of 2, whole picture",
        "disc in the whole picture",
        "square in the whole picture",
        "stripe in the whole picture",
        "disc in the centre",
        "square in the centre",
        "stripe in the centre",
    ]
    assert names[12] == f"{class_names()[0]} in the whole picture"
    assert names[1012] == f"{class_names()[0]} in the centre"
    windows = union.get_feature_windows_out()
    np.testing.assert_array_equal(windows[9:12], [ELEVEN["centre"]] * 3)
    np.testing.assert_array_equal(windows[1012], SIX["centre"])
    assert len(ELEVEN) == 11
    assert len(set(ELEVEN.values())) == 11


def test_a_class_named_like_an_imagenet_class_keeps_names_apart(blobs):
    kinds = ["flamingo" if kind == "disc" else kind for kind in blobs[1]]
    pool = ClassifierPool(("windows", "outputs"), windows=("centre",), n_jobs=1)
    names = pool.fit(blobs[0][::3], kinds[::3]).get_feature_names_out()
    assert len(set(names)) == len(names)
    assert "flamingo in the centre" in names
    assert "flamingo (outputs) in the centre" in names


def test_a_union_is_its_parts_side_by_side(union, noisy):
    found = union.transform(noisy[0][:2])
    for kind, columns in (
        ("clusters", slice(0, 6)),
        ("windows", slice(6, 12)),
        ("outputs", slice(12, 2012)),
    ):
        part = ClassifierPool(
            kind, n_clusters=2, n_components=4, windows=("whole", "centre"), n_jobs=1
        ).fit(*noisy)
        np.testing.assert_array_equal(part.transform(noisy[0][:2]), found[:, columns])


def test_a_column_fires_for_its_own_class(union, noisy):
    images, kinds = draw_noisy(seed=5)  # other pictures than the pool's
    pool = clone(union).set_params(kind=("clusters", "windows")).fit(*noisy)
    values, names = pool.transform(images), pool.get_feature_names_out()
    for j in range(12):
        own = np.array([names[j].startswith(kind) for kind in kinds])
        assert values[own, j].mean() > values[~own, j].mean() + 0.1, names[j]
    # columns 6 to 8 are the classes in the whole picture, in the order of classes_
    guess = pool.classes_[values[:, 6:9].argmax(axis=1)]
    assert (guess == kinds).mean() > 0.9


def test_a_window_looks_nowhere_else():
    rng = np.random.default_rng(0)
    images, kinds = draw_blobs(n_per_kind=4)
    pool = ClassifierPool("windows", n_jobs=1).fit(images, kinds)
    before = images[0].copy()
    after = before.copy()
    after[54:, 54:] = rng.integers(0, 255, (18, 18, 3))
    is_same = (pool.transform([before]) == pool.transform([after]))[0]
    for name, same in zip(pool.get_feature_names_out(), is_same, strict=True):
        is_away = any(place in name for place in ("top-left", "left half", "top half", "very"))
        # resampling reaches a pixel or two past the edge of a window, which is at most 50.4
        assert same or not is_away, name
        if "bottom-right" in name or "whole" in name:
            assert not same, name


def test_outputs_keep_the_order_of_the_logits(blobs):
    images = blobs[0][::2]
    pool = ClassifierPool("outputs", windows=("whole",), n_jobs=1).fit(images[:8])
    logits = DeepFeatures("logits", n_jobs=1).transform(images)
    values = pool.transform(images)
    for j in range(0, 1000, 37):
        assert spearmanr(logits[:, j], values[:, j]).statistic == pytest.approx(1)
    # the middle of its own eight images is the middle of [0, 1]
    own = np.sort(values[:8], axis=0)
    assert (own[3] < 0.5).all()
    assert (own[4] > 0.5).all()


@pytest.mark.parametrize("windows", [None, ("centre", "whole")])
def test_known_outputs_are_as_good_as_pictures(blobs, windows):
    images = blobs[0][:5]
    pool = ClassifierPool("outputs", windows=windows, n_jobs=1).fit(images)
    outputs = DeepFeatures("logits", windows or "six", n_jobs=1).transform(images)
    known = ClassifierPool("outputs", windows=windows).fit_outputs(outputs, pool.network_)
    np.testing.assert_array_equal(known.transform_outputs(outputs), pool.transform(images))
    np.testing.assert_array_equal(known.transform(images[:1]), pool.transform(images[:1]))
    assert known.get_feature_names_out().tolist() == pool.get_feature_names_out().tolist()
    copy = ClassifierPool.from_state(*known.to_state())
    np.testing.assert_array_equal(copy.transform_outputs(outputs), pool.transform(images))


def test_outputs_of_some_windows_are_those_columns():
    outputs = np.random.default_rng(0).normal(size=(7, 6000)).astype(np.float32)
    pool = ClassifierPool("outputs").fit_outputs(outputs, "a network")
    some = ("bottom-right", "whole")
    columns = np.concatenate([1000 * list(SIX).index(w) + np.arange(1000) for w in some])
    np.testing.assert_array_equal(
        pool.transform_outputs(outputs[:2, columns], some),
        pool.transform_outputs(outputs)[:2, columns],
    )


def test_bad_outputs_are_one_sentence(noisy):
    outputs = np.random.default_rng(0).normal(size=(4, 1000))
    pool = ClassifierPool("outputs", windows=("centre",))
    with pytest.raises(NotFittedError):
        pool.transform_outputs(outputs)
    pool.fit_outputs(outputs, "a network")
    missing = outputs.copy()
    missing[1, 5] = np.nan
    for bad, message in (
        (outputs[:, :-1], r"1,000 columns, .* windows centre, .* got shape \(4, 999\)"),
        (outputs[0], r"got shape \(1000,\)"),
        (outputs[:0], r"got shape \(0, 1000\)"),
        (missing, "finite"),
        (outputs.astype(str), "finite"),
    ):
        for ask in (pool.transform_outputs, lambda rows: pool.fit_outputs(rows, "a network")):
            with pytest.raises(InvalidArgument, match=message):
                ask(bad)
    with pytest.raises(InvalidArgument, match=r"windows of .* must be one of"):
        pool.transform_outputs(outputs, ("whole",))
    clusters = ClassifierPool(n_clusters=1, n_jobs=1)
    with pytest.raises(InvalidArgument, match="this one is of kind 'clusters'"):
        clusters.fit_outputs(outputs, "a network")
    with pytest.raises(InvalidArgument, match="this one is of kind 'clusters'"):
        clusters.fit(*noisy).transform_outputs(outputs)


def test_few_images_make_fewer_clusters():
    images, kinds = draw_noisy(0, n_per_kind=6)
    kept = [i for i, kind in enumerate(kinds) if kind != "disc"] + [0, 1]
    images, kinds = [images[i] for i in kept], [kinds[i] for i in kept]
    pool = ClassifierPool(n_clusters=4, n_jobs=1).fit(images, kinds)
    names = list(pool.get_feature_names_out())
    assert names[:2] == [f"disc, cluster {k} of 2, whole picture" for k in (1, 2)]
    assert len(names) == 2 + 4 + 4
    twins = ClassifierPool(n_clusters=3, n_jobs=1).fit(
        [images[0]] * 5 + [images[-1]], [0] * 5 + [1]
    )
    assert list(twins.get_feature_names_out()) == [
        "0, cluster 1 of 1, whole picture",
        "1, cluster 1 of 1, whole picture",
    ]


# --- saving


def test_a_saved_pool_gives_the_same_values(union, blobs):
    arrays, settings = union.to_state()
    copy = ClassifierPool.from_state(arrays, json.loads(json.dumps(settings)))
    assert copy.get_params() == union.get_params()
    np.testing.assert_array_equal(copy.transform(blobs[0][:3]), union.transform(blobs[0][:3]))
    np.testing.assert_array_equal(copy.get_feature_names_out(), union.get_feature_names_out())
    np.testing.assert_array_equal(copy.classes_, union.classes_)


def test_arrays_that_do_not_fit_are_refused(union):
    arrays, settings = union.to_state()
    with pytest.raises(ModelError, match=r"parts_.1.intercept of ClassifierPool must have"):
        ClassifierPool.from_state({**arrays, "parts_.1.coef": arrays["parts_.0.coef"]}, settings)
    settings["model"]["parameters"]["kind"] = "windows"
    with pytest.raises(ModelError, match="not those of the kind"):
        ClassifierPool.from_state(arrays, settings)


def test_another_network_than_the_pools_own_is_refused(union, blobs):
    arrays, settings = union.to_state()
    settings["model"]["fitted"]["network_"] = "another (0123)"
    copy = ClassifierPool.from_state(arrays, settings)
    with pytest.raises(EmbedderError, match="another \\(0123\\)"):
        copy.transform(blobs[0][:1])


@pytest.mark.parametrize("output", ["embedding", "logits"])
def test_a_network_without_a_thousand_outputs_is_refused(tmp_path, blobs, output):
    path = make_network(tmp_path / "small.onnx", outputs=(output,))
    with pytest.raises(EmbedderError, match="has no output of 1000"):
        ClassifierPool("outputs", embedder=path).fit(blobs[0][:2])


# --- arguments


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"kind": "cluster"}, "kind"),
        ({"kind": ()}, "kind"),
        ({"kind": 3}, "kind"),
        ({"kind": ("windows", "windows")}, "each once"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_components": 1.5}, "n_components"),
        ({"windows": "whole"}, "tuple"),
        ({"windows": ()}, "tuple"),
        ({"windows": 3}, "tuple"),
        ({"windows": ("whole", "whole")}, "different"),
        ({"windows": ("middle",)}, "very centre"),
        ({"C": 0}, "C of"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_arguments_are_one_sentence(blobs, arguments, match):
    with pytest.raises(InvalidArgument, match=match) as caught:
        ClassifierPool(**arguments).fit(*blobs)
    assert "\n" not in str(caught.value)


def test_bad_labels_are_one_sentence(blobs):
    images = blobs[0][:4]
    for y, match in (
        (None, "needs y"),
        (["a"] * 4, "at least 2 classes"),
        (["a", "b"], "4 images and 2 labels"),
        (["a", "b", None, "a"], "none missing"),
        ([0, 1, np.nan, 1], "none missing"),
        ([["a"], ["b"], ["a"], ["b"]], "flat list"),
    ):
        with pytest.raises(InvalidArgument, match=match) as caught:
            ClassifierPool(n_jobs=1).fit(images, y)
        assert "\n" not in str(caught.value)
    with pytest.raises(InvalidArgument, match="needs images"):
        ClassifierPool("outputs").fit()
    with pytest.raises(NotFittedError):
        ClassifierPool().transform(images)


# --- maps


@given(
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=30),
    st.lists(st.floats(-1e4, 1e4, width=32), min_size=2, max_size=10, unique=True),
)
def test_maps_never_change_the_order(fitted, scores):
    maps = fit_maps(np.array(fitted)[:, None])
    scores = np.sort(scores)
    values = maps.apply(scores[:, None])[:, 0]
    assert values.dtype == np.float32
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values) >= 0).all()
    # in double precision two scores that differ are never one value
    z = (scores - maps.centre) / np.where(scores < maps.centre, maps.below, maps.above)
    steps = np.diff(z) / ((1 + np.abs(z[:-1])) * (1 + np.abs(z[1:])))
    assert (np.diff(values)[steps > 1e-6] > 0).all()


@given(st.lists(st.integers(-50, 50), min_size=4, max_size=40, unique=True))
def test_quartiles_of_the_fitted_scores_become_quarters(scores):
    scores = np.array(scores, dtype=float)
    quartiles = np.quantile(scores, [0.25, 0.5, 0.75], method="hazen")
    values = fit_maps(scores[:, None]).apply(quartiles[:, None])[:, 0]
    np.testing.assert_allclose(values, [0.25, 0.5, 0.75], atol=1e-6)


def test_scores_ten_spreads_outside_the_fitted_range_stay_apart():
    maps = fit_maps(np.linspace(-1, 1, 101)[:, None])
    far = maps.apply(np.array([[8.0], [9.0], [10.0], [1000.0], [1001.0]]))
    assert (np.diff(far[:, 0]) > 0).all()


def test_a_whole_weight_is_a_repeated_row():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=20), rng.integers(1, 4, 20)
    found = weighted_quantiles(values, weight, (0.5,))
    order = np.argsort(values)
    middle = np.repeat(values[order], weight[order])
    # a value of weight 3 stands once in the middle of its three copies
    assert middle[0] <= found[0] <= middle[-1]
    assert np.abs(np.mean(middle <= found[0]) - 0.5) < 3 / len(middle)


def test_balanced_weights_put_the_median_where_both_sides_err_equally():
    rng = np.random.default_rng(0)
    own = rng.normal(2, 1, 200)
    other = rng.normal(-1, 2, 4000)
    scores = np.concatenate([own, other])
    weight = balance((np.arange(4200) < 200)[:, None])
    centre = fit_maps(scores[:, None], weight).centre[0]
    assert (own < centre).mean() == pytest.approx((other > centre).mean(), abs=0.01)


def test_constant_and_half_constant_columns_have_a_map():
    columns = np.stack([np.full(8, 3.0), [0, 0, 0, 0, 0, 0, 0, 5.0]], axis=1)
    maps = fit_maps(columns)
    assert (maps.below > 0).all()
    assert (maps.above > 0).all()
    values = maps.apply(columns)
    assert values[0, 0] == 0.5
    assert values[7, 1] > values[0, 1]


# --- training


def test_clusters_are_as_tight_as_those_of_scikit_learn(seed):
    X, _ = draw_rows(seed, n=120, n_classes=4)
    label = group_rows(X, 4, spawn_generators(seed, 1)[0])
    peer = KMeans(4, n_init=10, random_state=0).fit(X)
    inertia = sum(((X[label == k] - X[label == k].mean(axis=0)) ** 2).sum() for k in range(4))
    assert inertia <= 1.02 * peer.inertia_
    sizes = np.bincount(label)
    assert (np.diff(sizes) <= 0).all()


def test_clusters_of_equal_rows():
    X = np.repeat(np.eye(3, dtype=np.float32), [5, 3, 1], axis=0)
    label = group_rows(X, 8, np.random.default_rng(0))
    np.testing.assert_array_equal(label, [0] * 5 + [1] * 3 + [2])
    assert (group_rows(X[:1], 5, np.random.default_rng(0)) == 0).all()


@pytest.mark.parametrize(("n", "d"), [(60, 20), (20, 60)])
def test_components_are_those_of_scikit_learn(n, d):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, d)) * np.linspace(3, 0.1, d) + 5).astype(np.float32)
    mean, axes = find_components(X, 6)
    peer = PCA(6, svd_solver="full").fit(X.astype(np.float64))
    np.testing.assert_allclose(mean, peer.mean_, rtol=1e-5)
    np.testing.assert_allclose(np.abs(axes @ peer.components_.T), np.eye(6), atol=1e-3)
    assert find_components(X, 1000).axes.shape == (min(n - 1, d), d)


def test_cluster_functions_reach_the_optimum_of_scikit_learn(seed):
    X, index = draw_rows(seed)
    counts, found = train_on_clusters(X, index, 3, 2, C=0.5, n_jobs=1, seed=seed)
    assert counts == [2, 2, 2]
    generators = spawn_generators(seed, 3)
    for c in range(3):
        own = np.flatnonzero(index == c)
        label = group_rows(X[own], 2, generators[c])
        for k in range(2):
            rows = np.concatenate([own[label == k], np.flatnonzero(index != c)])
            sign = np.where(index[rows] == c, 1.0, -1.0)
            weight = balance(sign[:, None] > 0)[:, 0]
            peer = LinearSVC(C=0.5, loss="hinge", dual=True, tol=1e-6, max_iter=100_000)
            peer.fit(X[rows], sign, sample_weight=weight)
            settings = {"C": 0.5, "sample_weight": weight}
            best = primal_value(X[rows], sign, peer.coef_[0], peer.intercept_[0], **settings)
            j = 2 * c + k
            ours = primal_value(X[rows], sign, found.coef[j], float(found.intercept[j]), **settings)
            assert ours <= 1.011 * best


def test_window_functions_are_those_of_pca_and_svm():
    X, index = draw_rows(0, n=150, d=20)
    found = train_on_window(X, index, 3, 5, C=0.5, seed=0)
    pca = PCA(5, svd_solver="full").fit(X.astype(np.float64))
    Z = pca.transform(X)
    margins = X @ found.coef.T + found.intercept
    for c in range(3):
        sign = np.where(index == c, 1.0, -1.0)
        weight = balance(sign[:, None] > 0)[:, 0]
        peer = LinearSVC(C=0.5, loss="hinge", dual=True, tol=1e-6, max_iter=100_000)
        peer.fit(Z, sign, sample_weight=weight)
        settings = {"C": 0.5, "sample_weight": weight}
        best = primal_value(Z, sign, peer.coef_[0], peer.intercept_[0], **settings)
        # the function in the columns of HOG has its weights in the space of the axes
        w = found.coef[c] @ pca.components_.T
        b = float(found.intercept[c] + found.coef[c] @ pca.mean_)
        np.testing.assert_allclose(Z @ w + b, margins[:, c], atol=1e-3)
        assert primal_value(Z, sign, w, b, **settings) <= 1.011 * best


def test_maps_come_from_rows_that_were_held_out():
    # labels without any meaning: training margins separate them, held-out margins cannot
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200)).astype(np.float32)
    index = np.arange(60) % 2
    _, found = train_on_clusters(X, index, 2, 1, C=10.0, n_jobs=1, seed=0)
    values = found.maps.apply(X @ found.coef.T + found.intercept)
    fresh = rng.normal(size=(400, 200)).astype(np.float32)
    spread = found.maps.apply(fresh @ found.coef.T + found.intercept)
    assert np.quantile(spread, 0.75) - np.quantile(spread, 0.25) > 0.35
    assert values[index == 0, 0].min() > 0.6


def test_pool_features_tell_apart_classes_that_the_pool_has_never_seen(noisy):
    pool = ClassifierPool(("clusters", "windows"), n_clusters=3, n_jobs=1).fit(*noisy)
    images, kinds = draw_new_kinds(n_per_kind=10)
    values = pool.transform(images)
    train = np.arange(len(kinds)) % 2 == 0
    learner = LinearSVC(C=0.3).fit(values[train], kinds[train])
    assert learner.score(values[~train], kinds[~train]) > 0.7  # chance is a quarter


def draw_new_kinds(n_per_kind, size_px=72):
    """Rings, crosses, diagonals and boards; none of them is among the blobs."""
    rng = np.random.default_rng(1)
    yy, xx = np.mgrid[:size_px, :size_px] / size_px
    images, kinds = [], []
    for kind in ("ring", "cross", "diagonal", "board"):
        for _ in range(n_per_kind):
            x, y = rng.uniform(0.4, 0.6, 2)
            if kind == "ring":
                mask = np.abs(np.hypot(xx - x, yy - y) - 0.3) < 0.05
            elif kind == "cross":
                mask = (np.abs(xx - x) < 0.06) | (np.abs(yy - y) < 0.06)
            elif kind == "diagonal":
                mask = np.sin((xx + yy + x) * 20) > 0
            else:
                mask = np.sin((xx + x) * 25) * np.sin((yy + y) * 25) > 0
            noise = rng.integers(0, 60, (size_px, size_px, 1))
            images.append(np.repeat(np.where(mask[..., None], 160, 40) + noise, 3, axis=2))
            kinds.append(kind)
    return list(np.array(images, dtype=np.uint8)), np.array(kinds)

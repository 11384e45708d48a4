import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import pairwise_distances
from tests.features.contract import check_image_transformer, odd_images

from fieldguide.datasets import load_specimens
from fieldguide.errors import FieldguideError, InvalidArgument, ModelError
from fieldguide.features import BagOfWords, FoundWords, draw_words_plate
from fieldguide.features.bag_of_words import pick_different, soft_shares
from fieldguide.features.codebook import assign_rows, cluster_rows, nearest_words, select_least
from fieldguide.features.transformer import draw_sources
from fieldguide.kernels import AdditiveKernelMap

SMALL = {"n_words": 30, "step_px": 6, "bin_sizes_px": (4, 6), "n_descriptors": 4000, "n_iter": 5}


@pytest.fixture(scope="module")
def drawings():
    return load_specimens(n_per_kind=1, size_px=96).images[:16]


@pytest.fixture(scope="module")
def bag(drawings):
    return BagOfWords(**SMALL, n_jobs=1).fit(drawings)


def naive_row(bag, pixels):
    """Return the histogram of one picture, window by window."""
    found, frames = bag.descriptors(pixels)
    height, width = pixels.shape[:2]
    parts = []
    for nx, ny in bag.pyramid:
        counts = np.zeros((ny, nx, bag.n_words))
        for x, (left, top, _) in zip(found.astype(np.float64), frames, strict=True):
            cell = counts[int((top + 0.5) / height * ny), int((left + 0.5) / width * nx)]
            if not x.any():
                cell[-1] += 1
                continue
            squares = ((bag.words_[:-1] - x) ** 2).sum(axis=1)
            near = np.argsort(squares)[: bag.n_nearest if bag.assignment == "soft" else 1]
            share = np.exp(-squares[near] / bag.radius_**2)
            cell[near] += share / share.sum()
        parts.append(counts.ravel() / len(found) / len(bag.pyramid))
    return np.concatenate(parts)


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_rows_are_the_histograms_of_the_definition(bag, drawings, assignment):
    bag = BagOfWords.from_state(*bag.to_state()).set_params(assignment=assignment)
    rows = bag.transform(drawings[:3])
    for row, pixels in zip(rows, drawings, strict=False):
        np.testing.assert_allclose(row, naive_row(bag, pixels), atol=2e-5)


def test_each_grid_has_an_equal_share_of_the_sum(bag, drawings):
    rows = bag.transform(drawings)
    assert rows.shape == (16, 30 * 21)
    assert rows.min() >= 0
    levels = np.split(rows, [30, 150], axis=1)
    for level in levels:
        np.testing.assert_allclose(level.sum(axis=1), 1 / 3, rtol=1e-5)
    # what a cell holds is what the cells inside it hold together
    quarters = levels[1].reshape(-1, 4, 30).sum(axis=1)
    np.testing.assert_allclose(quarters, levels[0], atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(arrays(np.uint8, st.tuples(st.integers(1, 60), st.integers(1, 60), st.just(3))))
def test_any_picture_sums_to_one(bag, pixels):
    row = bag.transform([pixels])[0]
    assert row.sum() == pytest.approx(1, abs=1e-4)
    assert row.min() >= 0


@pytest.mark.parametrize(("what", "pixels"), odd_images())
def test_odd_pictures(bag, what, pixels):
    row = bag.transform([pixels])[0]
    assert row.sum() == pytest.approx(1, abs=1e-4)
    if what in ("constant", "black", "one pixel"):  # then every window is plain
        assert row[29] == pytest.approx(1 / 3)
        assert row[:29].sum() == 0


def test_mirrored_picture_counts_mirrored_cells(bag):
    # Nothing but noise on one side: its words are counted on that side alone.
    picture = np.full((96, 96, 3), 128, np.uint8)
    noise = np.random.default_rng(0).integers(0, 255, (96, 30, 3), dtype=np.uint8)
    picture[:, :30] = noise
    left = bag.transform([picture])[0][30:150].reshape(2, 2, 30)
    right = bag.transform([picture[:, ::-1]])[0][30:150].reshape(2, 2, 30)
    assert left[:, 0, :-1].sum() > 4 * left[:, 1, :-1].sum()
    assert right[:, 1, :-1].sum() > 4 * right[:, 0, :-1].sum()


def test_names_and_windows(bag):
    names, windows = bag.get_feature_names_out(), bag.get_feature_windows_out()
    assert names[12] == "word 12"
    assert windows[12].tolist() == [0, 0, 1, 1]
    assert names[30 + 2 * 30 + 7] == "word 7 in bottom-left quarter (2×2)"
    assert windows[30 + 2 * 30 + 7].tolist() == [0, 0.5, 0.5, 1]
    assert names[-1] == "word 29 in row 4, column 4 (4×4)"
    assert windows[-1].tolist() == [0.75, 0.75, 1, 1]
    oblong = BagOfWords(n_words=2, pyramid=((3, 1),))
    assert oblong.get_feature_names_out()[5] == "word 1 in row 1, column 3 (3×1)"


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_contract(drawings, tmp_path, assignment):
    grids = ((1, 1), (2, 1))
    small = BagOfWords(12, step_px=8, bin_sizes_px=(4,), pyramid=grids, assignment=assignment)
    check_image_transformer(small, drawings[:5], tmp_path)


def test_words_do_not_depend_on_threads_or_on_the_kind_of_source(bag, drawings, tmp_path):
    paths = [tmp_path / f"{i:02d}.png" for i in range(len(drawings))]
    for image, path in zip(drawings, paths, strict=True):
        Image.fromarray(image).save(path)
    few = {**SMALL, "n_images": 7}
    first = BagOfWords(**few, n_jobs=1).fit(drawings)
    for other in (
        BagOfWords(**few, n_jobs=2).fit(list(drawings)),
        BagOfWords(**few, n_jobs=3).fit(paths),
        BagOfWords(**few, n_jobs=1).fit(iter(drawings)),
    ):
        np.testing.assert_array_equal(other.words_, first.words_)
        np.testing.assert_array_equal(other.patches_, first.patches_)
    assert not np.array_equal(BagOfWords(**few, random_state=1).fit(drawings).words_, first.words_)


def test_state_survives_json(bag, drawings):
    held, values = bag.to_state()
    again = BagOfWords.from_state(held, json.loads(json.dumps(values)))
    assert again.get_params() == bag.get_params()
    np.testing.assert_array_equal(again.transform(drawings[:3]), bag.transform(drawings[:3]))
    np.testing.assert_array_equal(again.patches_, bag.patches_)
    for name in held:
        with pytest.raises(ModelError, match=f"{name} of BagOfWords must have the shape"):
            BagOfWords.from_state({**held, name: held[name][:-1]}, values)


def test_frequencies_are_those_of_the_sample(bag):
    assert bag.frequency_.sum() == pytest.approx(1, abs=1e-5)
    assert (np.diff(bag.frequency_[:-1]) <= 0).all()
    assert not bag.words_[-1].any()


def test_patches_look_like_their_word(bag, drawings):
    assert bag.patches_.shape == (30, 6, 32, 32, 3)
    assert (bag.n_patches_[:-1] == 6).all()
    assert bag.n_patches_[-1] == 0
    closer = 0
    for word, patches in zip(bag.words_[:-1], bag.patches_, strict=False):
        for patch in patches[:3]:
            found = clone(bag).set_params(step_px=99, bin_sizes_px=(8,)).descriptors(patch)[0][0]
            ranks = np.argsort(((bag.words_[:-1] - found) ** 2).sum(axis=1))
            closer += bool((bag.words_[ranks[:3]] == word).all(axis=1).any())
    assert closer > 0.65 * 3 * 29  # of 29 words, the patch's own is among the 3 nearest


def test_examples_are_of_different_pictures_where_possible():
    rows, picture = np.array([5, 2, 0, 4, 1, 3]), np.array([7, 8, 7, 9, 7, 7])
    assert pick_different(rows, picture, 3) == [5, 1, 3]  # pictures 7, 8, 9
    assert pick_different(rows, picture, 5) == [5, 1, 3, 2, 0]
    assert pick_different(rows[:2], picture, 4) == [5, 2]
    assert pick_different(rows[:0], picture, 4) == []


def test_words_tell_patterns_apart(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(40) % 4
    images = np.stack([draw_pattern(kind, rng) for kind in y])
    bag = BagOfWords(**SMALL, pyramid=((1, 1),)).fit(images[:20])
    rows = AdditiveKernelMap("chi2").fit_transform(bag.transform(images))
    key = RidgeClassifier(0.01).fit(rows[:20], y[:20])
    assert key.score(rows[20:], y[20:]) > 0.9


def draw_pattern(kind, rng):
    """Return upright stripes, lying stripes, checks or slanted stripes, shifted and noisy."""
    y, x = np.mgrid[:64, :64] + rng.integers(0, 40, (2, 1, 1))
    wave = (
        np.sin(x / 2.5),
        np.sin(y / 2.5),
        np.sin(x / 2.5) * np.sin(y / 2.5),
        np.sin(x / 3 + y / 3),
    )
    grey = 120 + rng.uniform(20, 60) * wave[kind] + rng.normal(0, 10, (64, 64))
    return np.repeat(grey.clip(0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def test_nearest_words_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    X, words = rng.random((700, 128), np.float32), rng.random((40, 128), np.float32)
    expected = pairwise_distances(X.astype(np.float64), words) ** 2
    word, distance = nearest_words(X, words, 4)
    np.testing.assert_array_equal(word, np.argsort(expected, axis=1)[:, :4])
    np.testing.assert_allclose(distance, np.sort(expected, axis=1)[:, :4], rtol=1e-4)
    one, least = assign_rows(X, words)
    np.testing.assert_array_equal(one, word[:, 0])
    np.testing.assert_allclose(least, distance[:, 0], rtol=1e-4)
    products = (X @ words.T)[:20]
    half = 0.5 * (words**2).sum(axis=1)
    index, score = np.empty((20, 4), np.int64), np.empty((20, 4), np.float32)
    select_least.py_func(products, half, index, score)
    np.testing.assert_array_equal(index, word[:20])


def test_clusters_are_as_tight_as_those_of_scikit_learn(drawings, seed):
    sift = BagOfWords(**SMALL)
    X = np.concatenate([sift.descriptors(image)[0] for image in drawings])
    X = X[X.any(axis=1)]
    ours = cluster_rows(X, 50, np.random.default_rng(seed), n_iter=20)
    theirs = KMeans(50, n_init=1, init="random", max_iter=20, tol=0, random_state=seed).fit(X)
    assert assign_rows(X, ours)[1].sum() < 1.03 * theirs.inertia_


def test_an_empty_cluster_moves_to_a_far_row():
    X = np.zeros((60, 128), np.float32)
    X[:50, 0], X[50:, 1] = 1, 1
    X[59, 2] = 3
    for seed in range(5):  # most seeds draw three equal rows to begin with
        middles = cluster_rows(X, 3, np.random.default_rng(seed), n_iter=5)
        assert assign_rows(X, middles)[1].sum() == pytest.approx(0, abs=1e-5)


def test_every_picture_is_as_likely_to_be_drawn():
    rng = np.random.default_rng(0)
    times = np.zeros(10)
    for _ in range(2000):
        chosen = [i for i, _ in draw_sources("abcdefghij", 4, rng)]
        assert chosen == sorted(set(chosen))
        times[chosen] += 1
    assert np.abs(times / 2000 - 0.4).max() < 0.05
    assert draw_sources("ab", 4, rng) == [(0, "a"), (1, "b")]


def test_soft_shares_and_pooling_by_hand():
    share = soft_shares(np.array([[0.0, 1.0], [2.0, 2.0]]), 1.0)
    np.testing.assert_allclose(share, [[0.731059, 0.268941], [0.5, 0.5]], rtol=1e-5)
    word = np.array([[0, 2], [1, 0]])
    x, y = np.array([0.2, 1.0]), np.array([0.9, 0.5])
    found = FoundWords(word, share, x, y, np.array([0.1, 0.1]))
    row = found.histogram(3, ((1, 1), (2, 1)))
    expected = [1.231059, 0.5, 0.268941, 0.731059, 0, 0.268941, 0.5, 0.5, 0]
    np.testing.assert_allclose(row, np.array(expected) / 4, rtol=1e-5)


def test_plate_shows_the_patches(bag):
    plate = draw_words_plate(bag, words=[3, 5], title="Words of the drawings")
    assert plate.mode == "RGB"
    assert plate.size == draw_words_plate(bag, words=[7, 2], title="Words of the drawings").size
    pixels = np.asarray(plate)
    patch = np.asarray(
        Image.fromarray(bag.patches_[3, 0]).resize((64, 64), Image.Resampling.BICUBIC)
    )
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (64, 64, 3))[::1, ::1, 0]
    is_there = (windows[:, :, 32, 32] == patch[32, 32]).all(axis=-1)
    assert any((windows[y, x] == patch).all() for y, x in np.argwhere(is_there))
    assert draw_words_plate(bag, n_words=6).height < draw_words_plate(bag, n_words=29).height


def test_plate_refuses_what_it_cannot_draw(bag):
    with pytest.raises(InvalidArgument, match="no word 30"):
        draw_words_plate(bag, words=[30])
    with pytest.raises(InvalidArgument, match="n_examples"):
        draw_words_plate(BagOfWords(**SMALL, n_examples=0).fit(np.asarray(bag.patches_[0])))
    with pytest.raises(NotFittedError):
        draw_words_plate(BagOfWords())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_words": 1}, "n_words of BagOfWords must be a whole number in"),
        ({"assignment": "firm"}, "assignment of BagOfWords must be one of 'hard', 'soft'"),
        ({"pyramid": ()}, "pyramid of BagOfWords must be a tuple of different grids"),
        ({"pyramid": ((1, 1), (1, 1))}, "different grids"),
        ({"pyramid": ((0, 1),)}, "of 1 to 64"),
        ({"pyramid": (2,)}, "such as"),
        ({"pyramid": [[2, 2]]}, "such as"),
        ({"pyramid": None}, "such as"),
        ({"bin_sizes_px": 4}, "bin_sizes_px of BagOfWords must be a tuple"),
        ({"n_examples": 100}, "n_examples of BagOfWords"),
        ({"random_state": "new"}, "random_state of BagOfWords"),
    ],
)
def test_bad_arguments(arguments, sentence, blobs):
    with pytest.raises(InvalidArgument, match=sentence):
        BagOfWords(**arguments).fit(blobs[0][:2])


def test_refusals_are_one_sentence(blobs, drawings):
    with pytest.raises(FieldguideError, match=r"only 0 windows with contrast.* fewer words"):
        BagOfWords().fit(np.zeros((3, 50, 50, 3), np.uint8))
    with pytest.raises(FieldguideError, match="no image to find words in"):
        BagOfWords().fit([])
    with pytest.raises(FieldguideError, match="no image to find words in"):
        BagOfWords().fit()
    with pytest.raises(InvalidArgument, match="must not be an iterator"):
        BagOfWords().fit_transform(iter(drawings))
    with pytest.raises(NotFittedError):
        BagOfWords().transform(drawings)


GOLDEN = [0.018116, 0.007027, 0.001216, 0.001119, 0.0, 0.000567, 0.001734]


def test_golden_values_for_every_type_of_pixel(bag):
    image = np.random.default_rng(7).integers(0, 256, (50, 70, 3), dtype=np.uint8)
    expected = bag.transform([image])[0]
    np.testing.assert_allclose(expected[::90], GOLDEN, atol=1e-5)
    for kind in (np.float32, np.float64):
        same = bag.transform([(image / 255).astype(kind)])[0]
        np.testing.assert_allclose(same, expected, atol=1e-5)

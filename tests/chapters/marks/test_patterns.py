"""Patterns without a name: which pictures are looked at, which words pass, what is shown."""

import numpy as np
import pytest
from PIL import Image

from fieldguide.chapters.marks.patterns import (
    LEAST_EACH,
    MOST_EACH,
    N_PATTERNS,
    SAMPLE,
    cut_patches,
    draw_sample,
    find_patterns,
    find_words,
    keep_inside,
    learn_vocabulary,
)
from fieldguide.features import BagOfWords, FoundWords


@pytest.mark.parametrize(("n_kinds", "n_each"), [(2, 30), (40, 30), (300, 6), (1, 9)])
def test_the_sample_stays_small(n_kinds, n_each):
    index = np.concatenate([np.repeat(np.arange(n_kinds), n_each), np.full(7, -1)])
    X = np.random.default_rng(0).normal(size=(len(index), 4)).astype(np.float32)
    ids = draw_sample(index, X)
    counts = np.bincount(index[ids])
    assert LEAST_EACH <= counts.min() <= counts.max() <= MOST_EACH
    assert len(ids) <= max(SAMPLE, len(index) / 12, LEAST_EACH * n_kinds)
    assert (np.diff(index[ids]) >= 0).all()


def plant(seed, n_words=12):
    """Return the words of 30 pictures of three kinds; word 3 and 5 are of kind 0, 7 of kind 1."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(3), 10)
    found = []
    for k in index:
        words = rng.integers(8, n_words - 1, (60, 1))
        words[: rng.integers(15, 25)] = {0: 3, 1: 7, 2: 9}[int(k)]
        if k == 0:
            words[30 : rng.integers(36, 42)] = 5
        found.append(FoundWords(words, np.ones((60, 1)), *rng.random((2, 60)), np.full(60, 0.2)))
    return found, index


def test_planted_words_are_found_and_words_of_the_same_pictures_are_one_pattern(seed):
    found, index = plant(seed)
    patterns = find_patterns(found, 12, index, 0)
    assert [len(each) for each in patterns[:2]] == [1, 1]  # 3 and 5 are in the same pictures
    assert patterns[0][0].column in (3, 5)
    assert patterns[1][0].column == 7
    assert patterns[0][0].n_other == 0
    assert all(len(each) <= N_PATTERNS for each in patterns)


def test_words_are_counted_as_the_bag_counts_them(blobs):
    images = [Image.fromarray(image) for image in blobs[0][:6]]
    bag = BagOfWords(30, pyramid=((1, 1),), n_jobs=1).fit(images)
    found = find_words(bag, images, 1)
    counted = np.stack([each.histogram(bag.n_words) for each in found])
    np.testing.assert_allclose(counted, bag.transform(images), atol=1e-6)
    parallel = find_words(bag, images, 2)
    assert all(np.array_equal(a.share, b.share) for a, b in zip(found, parallel, strict=True))


def test_only_windows_of_the_subject_count():
    found = plant(0)[0][0]
    kept = keep_inside(found, np.array([0.25, 0.0, 0.75, 0.5]))
    inside = [i for i in range(60) if 0.25 <= found.x[i] <= 0.75 and found.y[i] <= 0.5]
    np.testing.assert_array_equal(kept.word, found.word[inside])
    np.testing.assert_array_equal(kept.x, found.x[inside])
    assert keep_inside(found, np.array([2.0, 2.0, 3.0, 3.0])).histogram(12).sum() == 0


def test_plain_pictures_have_no_vocabulary():
    assert learn_vocabulary([Image.new("RGB", (48, 48), (v, v, v)) for v in (9, 99)], 0, 1) is None


def test_patches_are_cut_where_the_word_is():
    image = Image.new("RGB", (100, 50))
    image.paste((200, 10, 10), (60, 10, 80, 30))
    found = FoundWords(
        np.array([[3], [4]]), np.ones((2, 1)), np.array([0.2, 0.7]), np.array([0.5, 0.4]),
        np.array([0.2, 0.2]),
    )  # fmt: skip
    patches = cut_patches([image, image], [found, found._replace(word=found.word * 0)], 4)
    assert patches.shape == (1, 72, 72, 3)  # the second picture does not have the word
    inner = patches[0, 12:-12, 12:-12]
    np.testing.assert_array_equal(inner, np.broadcast_to((200, 10, 10), inner.shape))

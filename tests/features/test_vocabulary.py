import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from fieldguide.errors import InvalidArgument
from fieldguide.features.vocabulary import (
    YES,
    class_names,
    load_vocabulary,
    score_words,
    word_chances,
    word_probabilities,
    word_thresholds,
)

quick = settings(deadline=None, max_examples=30)
seeds = st.integers(0, 2**32 - 1)


def random_probabilities(seed: int, n: int, sharpness: float = 0.02) -> np.ndarray:
    rng = np.random.default_rng(seed)
    raw = rng.gamma(sharpness, size=(n, 1000)) + 1e-12
    return (raw / raw.sum(axis=1, keepdims=True)).astype(np.float32)


def covered(word: str) -> set[str]:
    words = load_vocabulary()
    column = words.membership[:, words.names.index(word)]
    return {class_names()[i] for i in column.nonzero()[0]}


def test_tables_are_complete_and_consistent():
    words = load_vocabulary()
    assert words.membership.shape == (1000, len(words.names))
    assert 300 <= len(words.names) <= 500
    assert len(set(words.names)) == len(words.names)
    assert len(class_names()) == len(set(class_names())) == 1000
    for name in words.names + class_names():
        assert name == name.strip().lower()
        assert name
    for k, parents in enumerate(words.parents):
        assert all(parent < k for parent in parents), words.names[k]
        for parent in parents:
            assert (words.membership[:, parent] >= words.membership[:, k]).all()


def test_every_word_covers_something_of_its_own():
    membership = load_vocabulary().membership
    assert membership.any(axis=0).all()
    assert len(np.unique(membership, axis=1).T) == membership.shape[1]
    assert membership.any(axis=1).mean() > 0.95


def test_no_jargon():
    jargon = {"artifact", "chordate", "placental", "instrumentality", "whole", "matter", "entity"}
    assert not jargon & set(load_vocabulary().names)


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("goods wagon", "train", "car"),
        ("railway carriage", "train", "car"),
        ("car grille", "car", "fence or wall"),
        ("black grouse", "bird", "toy or game"),
        ("menu", "printed page", "food"),
        ("amphibious vehicle", "vehicle", "amphibian"),
        ("crane bird", "bird", "machine"),
        ("crane machine", "machine", "bird"),
        ("carpenter's plane", "tool", "aircraft"),
        ("sea lion", "sea mammal", "wild cat"),
        ("spider monkey", "monkey", "spider"),
        ("guinea pig", "rodent", "pig"),
        ("tiger beetle", "beetle", "wild cat"),
        ("computer mouse", "computer", "rodent"),
        ("web page", "printed page", "spider web"),
    ],
)
def test_meanings_are_not_mixed_up(name, inside, outside):
    assert name in covered(inside)
    assert name not in covered(outside)


@quick
@given(seeds, st.integers(0, 6))
def test_parent_is_never_less_probable_than_child(seed, n):
    p = word_probabilities(random_probabilities(seed, n))
    words = load_vocabulary()
    assert p.shape == (n, len(words.names))
    assert p.dtype == np.float32
    for values in (p, score_words(p)):
        assert (values >= 0).all()
        assert (values <= 1).all()
        for k, parents in enumerate(words.parents):
            for parent in parents:
                assert (values[:, parent] >= values[:, k]).all()


@quick
@given(seeds)
def test_sums_equal_the_product_and_do_not_depend_on_the_batch(seed):
    probabilities = random_probabilities(seed, 7)
    p = word_probabilities(probabilities)
    expected = probabilities.astype(float) @ load_vocabulary().membership
    np.testing.assert_allclose(p, np.minimum(expected, 1), atol=1e-6)
    np.testing.assert_array_equal(word_probabilities(probabilities[3:4]), p[3:4])


def test_a_word_is_said_from_its_threshold_on():
    words = load_vocabulary()
    thresholds = word_thresholds()
    assert thresholds.min() >= 0.25
    assert thresholds.max() <= 0.5
    umbrella = words.names.index("umbrella")
    assert not words.parents[umbrella]
    p = np.zeros((3, len(words.names)), np.float32)
    p[:, umbrella] = thresholds[umbrella] + np.array([-0.01, 0.001, 0.3])
    assert (score_words(p)[:, umbrella] >= YES).tolist() == [False, True, True]


@quick
@given(seeds)
def test_sharper_probabilities_are_those_of_larger_logits(seed):
    logits = np.random.default_rng(seed).normal(0, 3, (4, 1000))
    expected = word_probabilities(softmax(1.25 * logits, axis=1))
    np.testing.assert_allclose(word_chances(softmax(logits, axis=1)), expected, atol=1e-6)


@pytest.mark.parametrize("bad", [np.zeros((2, 999)), np.zeros(1000), np.full((1, 1000), -3.0)])
def test_refuses_what_is_no_probability(bad):
    with pytest.raises(InvalidArgument, match="probabilities"):
        word_probabilities(bad)
    with pytest.raises(InvalidArgument, match="probabilities"):
        word_chances(bad)

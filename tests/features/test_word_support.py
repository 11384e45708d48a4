"""What a collection supports of the network's words: neighbours, kinds, and words too narrow."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldguide.features.vocabulary import load_vocabulary
from fieldguide.features.word_support import find_supported, pool_chances, pool_new

quick = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32 - 1)
WORDS = load_vocabulary().names


def scores_of(n, **shown):
    """Scores of ``n`` pictures: 0, but for words and the pictures that show them surely."""
    scores = np.zeros((n, len(WORDS)))
    for word, (rows, score) in shown.items():
        scores[rows, WORDS.index(word.replace("_", " "))] = score
    return scores


@quick
@given(seeds, st.integers(1, 12), st.booleans())
def test_pooling_is_the_plain_mean(seed, n, with_kinds):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(0, n))
    p = rng.random((n, 3))
    near = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)], int)
    near = near.reshape(n, k)
    kinds = [rng.choice(["a", "b", None]) for _ in range(n)] if with_kinds else None
    pooled = pool_chances(p, near, kinds)
    for i in range(n):
        total, weight = p[i] + p[near[i]].sum(axis=0), 1 + k
        same = [j for j in range(n) if kinds and kinds[i] is not None and kinds[j] == kinds[i]]
        others = [j for j in same if j != i]
        if others:
            total, weight = total + k * p[others].mean(axis=0), weight + k
        np.testing.assert_allclose(pooled[i], total / weight)
    np.testing.assert_allclose(pool_new(p[0], p[near[0]]), pool_chances(p, near)[0])


def test_one_primate_among_birds_is_outvoted():
    bird, primate = 0.9, 0.95
    p = np.zeros((12, 2))
    p[:, 0] = bird
    p[0] = (0.02, primate)
    near = np.array([[j for j in range(12) if j != i][:10] for i in range(12)])
    pooled = pool_chances(p, near)
    assert pooled[0, 0] > 0.75 > 0.15 > pooled[0, 1]


def test_a_word_needs_a_sure_picture_and_few_doubtful_ones():
    scores = scores_of(20, umbrella=(range(5), 0.95), piano=(range(5, 9), 0.8))
    scores = np.maximum(scores, scores_of(20, camera=(range(9, 19), 0.55)))
    scores[19, WORDS.index("camera")] = 0.95
    supported = find_supported(scores)
    assert [supported[WORDS.index(word)] for word in ("umbrella", "piano", "camera")] == [1, 0, 0]


def test_a_narrow_word_of_many_kinds_is_the_nearest_thing_that_the_network_knows():
    kinds = [f"kind {i // 2}" for i in range(80)]
    scores = scores_of(80, bird=(range(80), 1.0), songbird=(range(70), 0.99))
    scores = np.maximum(scores, scores_of(80, finch=(range(60), 0.99), pelican=(range(78, 80), 1)))
    supported = find_supported(scores, kinds)
    tried = ("bird", "songbird", "finch", "pelican")
    said = [word for word in tried if supported[WORDS.index(word)]]
    assert said == ["bird", "songbird", "pelican"]
    # Without kinds, a narrow word must be surer than a broad one.
    scores[:60, WORDS.index("finch")] = 0.9
    scores[:70, WORDS.index("songbird")] = 0.9
    alone = find_supported(scores)
    assert alone[WORDS.index("songbird")]
    assert not alone[WORDS.index("finch")]
    # Where birds are few, a finch among them is a finch.
    few = scores_of(80, bird=(range(8), 0.99), finch=(range(8), 0.9))
    few[0, WORDS.index("finch")] = 0.95
    assert find_supported(few)[WORDS.index("finch")]


def test_no_pictures_support_nothing():
    assert not find_supported(np.zeros((0, len(WORDS)))).any()

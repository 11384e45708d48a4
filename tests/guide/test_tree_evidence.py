"""What a tree is grown from: which words, how sure, and what the kind of a specimen adds."""

from string import ascii_lowercase

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldguide.features import AttributeMatrix
from fieldguide.guide.tree_evidence import choose_columns, gather_evidence, join_kinds
from fieldguide.guide.tree_sampling import find_stability


def matrix(scores, *sources):
    names = tuple(f"{source} {ascii_lowercase[k]}" for k, source in enumerate(sources))
    return AttributeMatrix(np.array(scores, dtype=np.float32), names, sources)


def test_words_on_the_picture_are_used_where_there_are_no_others():
    mixed = matrix(np.ones((2, 4)), "network", "picture", "surroundings", "folder")
    assert choose_columns(mixed) == [0, 3]
    assert choose_columns(matrix(np.ones((2, 2)), "picture", "surroundings")) == [0, 1]
    written = matrix(np.ones((2, 22)), *["annotation"] * 20, "network", "kind")
    assert choose_columns(written) == list(range(20))


def test_years_and_codes_of_folders_part_nothing_that_words_can():
    names = ("2019", "summer", "b04", "river", "bird")
    mixed = AttributeMatrix(np.ones((2, 5)), names, (*["folder"] * 4, "network"))
    assert choose_columns(mixed) == [3, 4]
    alone = AttributeMatrix(np.ones((2, 3)), names[:3], ("folder",) * 3)
    assert choose_columns(alone) == [0, 1, 2]
    said = AttributeMatrix(np.ones((2, 1)), ("2019",), ("keyword",))
    assert choose_columns(said) == [0]


def test_a_picture_is_read_with_its_kind():
    kinds = ["warbler"] * 10 + ["crow"] * 10
    yellow = np.array([0.9] * 9 + [0.4] + [0.1] * 9 + [0.6])
    evidence = gather_evidence(matrix(yellow[:, None], "network"), kinds)
    assert (evidence.joined[:9] == 1).all()
    assert evidence.joined[9] > 0.5
    assert (evidence.joined[10:19] == 0).all()
    assert evidence.joined[19] < 0.5
    np.testing.assert_allclose(evidence.alone[:, 0], yellow, atol=1e-6)


def test_a_word_that_divides_a_kind_is_left_to_each_picture():
    kinds = ["tanager"] * 20
    red = np.repeat([0.95, 0.05], 10)
    evidence = gather_evidence(matrix(red[:, None], "network"), kinds)
    np.testing.assert_array_equal(evidence.joined[:, 0], np.repeat([1.0, 0.0], 10))


def test_the_owners_words_stay_as_they_are():
    kinds = ["owl"] * 4
    evidence = gather_evidence(matrix([[1], [0], [0], [0]], "keyword"), kinds)
    assert evidence.joined.ravel().tolist() == [1, 0, 0, 0]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 15))
def test_kinds_only_move_what_is_labelled_and_more_sure_stays_more_sure(seed, n):
    rng = np.random.default_rng(seed)
    scores = rng.random((n, 2))
    scores[rng.random((n, 2)) < 0.2] = np.nan
    kinds = [rng.choice(["a", "b", None]) for _ in range(n)]
    joined = join_kinds(scores, kinds)
    for i, kind in enumerate(kinds):
        if kind is None:
            np.testing.assert_array_equal(joined[i], scores[i])
            continue
        assert ((joined[i] > 0) & (joined[i] < 1)).all()
        for j in range(n):
            if kinds[j] == kind:
                is_more = scores[i] > scores[j]
                assert (joined[i][is_more] >= joined[j][is_more]).all()


def test_branches_that_all_chains_have_are_stable():
    parent, labels = np.array([-1, 0, 0]), np.repeat([1, 2], 10)
    same = {"sample.parent": parent, "sample.labels": labels}
    other = {"sample.parent": parent, "sample.labels": np.tile([1, 2], 10)}
    assert find_stability(parent, labels, [same, same]).tolist() == [1, 1, 1]
    assert find_stability(parent, labels, [same, other])[1] < 0.8

"""The tree of a guide: every method, its truth, and going on after an interrupt."""

import json

import numpy as np
import pytest
from tests.guide.contents import contents
from tests.interrupts import interrupt_at

from fieldguide.collection import Collection
from fieldguide.describe import DescribedTree
from fieldguide.describe.tree import Tree
from fieldguide.errors import FieldguideError
from fieldguide.features.words import AttributeMatrix
from fieldguide.guide import Guide, tree_sampling, trees
from fieldguide.guide.likeness import Likeness, Names
from fieldguide.guide.tree_evidence import gather_evidence
from fieldguide.guide.tree_truth import judge_words, tighten
from fieldguide.guide.trees import GrownTree, choose_method, fold, judge_tree
from fieldguide.guide.trees import grow_tree as grow_from_evidence

KINDS = {
    "owl": ("bird", "animal"),
    "wren": ("bird", "small", "animal"),
    "dog": ("mammal", "animal"),
    "car": ("vehicle", "wheels"),
    "bus": ("vehicle", "wheels", "large"),
}
NAMES = ("animal", "bird", "mammal", "small", "vehicle", "wheels", "large")


def make_words(n_per_kind=30, seed=0, flips=0.02):
    """Rows of five kinds, with a few slips, and a word on the picture that says nothing."""
    rng = np.random.default_rng(seed)
    kinds = np.repeat(list(KINDS), n_per_kind)
    scores = np.array([[name in KINDS[kind] for name in NAMES] for kind in kinds], dtype=float)
    scores = np.abs(scores - (rng.random(scores.shape) < flips))
    scores = np.column_stack([scores, rng.random(len(kinds)) < 0.5]).astype(np.float32)
    return AttributeMatrix(scores, (*NAMES, "dark"), ("keyword",) * 7 + ("picture",)), kinds


def grow_tree(words, tree="auto", kinds=None, **options):
    """Grow the tree of pictures that all look the same, so that words alone divide them."""
    n = len(words.scores)
    kinds = [None] * n if kinds is None else list(kinds)
    names = Names(kinds, {}, [str(i) for i in range(n)])
    same = Likeness(np.ones((n, 1), np.float32), np.empty((n, 0), np.int64), names)
    return grow_from_evidence(gather_evidence(words, kinds), same, tree, **options)


def in_words(grown):
    """The branches that words make."""
    return [w for w, like in zip(grown.described.words, grown.is_likeness, strict=True) if not like]


def sentences(described):
    found = set()
    for node in range(1, len(described.parent)):
        path = []
        while node > 0:
            path.append(described.words[node][0])
            node = described.parent[node]
        found.add(" > ".join(path[::-1]))
    return found


@pytest.mark.parametrize("method", ["attribute", "bernoulli", "agglomerative"])
def test_every_method_finds_the_kinds(method):
    words, kinds = make_words()
    grown = grow_tree(words, method)
    described = grown.described
    assert grown.about["method"] == grown.about["asked"] == method
    assert ("n_sweeps" in grown.about) == (method != "agglomerative")
    json.dumps(grown.about, allow_nan=False)
    tops = {path for path in sentences(described) if " > " not in path}
    assert tops & {"animal", "bird"}
    assert tops & {"vehicle", "wheels"}
    assert described.truth[0] == 1
    assert ((described.truth >= 0) & (described.truth <= 1)).all()
    assert not any("dark" in path for path in sentences(described))
    assert np.isnan(grown.stability).all() == (method == "agglomerative")
    same = [np.bincount(described.labels[kinds == kind]).max() / 30 for kind in KINDS]
    assert np.mean(same) > 0.7


@pytest.mark.parametrize("method", ["attribute", "bernoulli"])
def test_threads_and_repetition_change_nothing_and_the_seed_may(method):
    words, _ = make_words()
    one, two = (grow_tree(words, method, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.about == two.about
    np.testing.assert_array_equal(one.described.labels, two.described.labels)
    np.testing.assert_array_equal(one.described.truth, two.described.truth)
    assert grow_tree(words, method, seed=1).about["log_joint"] != one.about["log_joint"]


@pytest.mark.parametrize("stop_after", [1, 40])
def test_an_interrupted_tree_goes_on_to_the_same_one(monkeypatch, stop_after):
    words, _ = make_words()
    whole = grow_tree(words, "attribute")

    work: dict[str, bytes] = {}
    with pytest.raises(KeyboardInterrupt):
        grow_tree(words, "attribute", progress=interrupt_at(stop_after), work=work)
    assert len(work) == 1
    seen = []
    again = grow_tree(words, "attribute", progress=lambda *now: seen.append(now[1]), work=work)
    assert seen[1] >= stop_after
    assert again.about == whole.about
    np.testing.assert_array_equal(again.described.labels, whole.described.labels)
    assert not work
    # Saved now and then, a long run ends in the same tree too.
    monkeypatch.setattr(tree_sampling, "_SAVE_EVERY_S", 0.0)
    saved = grow_tree(words, "attribute", work=work)
    assert saved.about == whole.about
    assert not work


def test_of_many_specimens_a_sample_is_seen_and_the_others_are_placed(monkeypatch):
    words, kinds = make_words()
    monkeypatch.setattr(trees, "MOST_SAMPLED", 60)
    grown = grow_tree(words, "attribute")
    assert grown.described.labels.shape == (150,)
    same = [np.bincount(grown.described.labels[kinds == kind]).max() / 30 for kind in KINDS]
    assert np.mean(same) > 0.7


def test_damaged_chains_are_left_aside():
    words, _ = make_words()
    work: dict[str, bytes] = {}
    with pytest.raises(KeyboardInterrupt):
        grow_tree(words, "attribute", progress=interrupt_at(3), work=work)
    work[next(iter(work))] = b"no"
    assert grow_tree(words, "attribute", work=work).about == grow_tree(words, "attribute").about


@pytest.mark.parametrize(
    ("tree", "n_specimens", "method"),
    [("auto", 29, "agglomerative"), ("auto", 30, "attribute"), ("bernoulli", 5, "bernoulli")],
)
def test_auto_needs_specimens(tree, n_specimens, method):
    assert choose_method(tree, n_specimens)[0] == method


@pytest.mark.parametrize("tree", ["attribute", "bernoulli", "agglomerative"])
def test_no_words_make_a_tree_of_the_root_alone(tree):
    nothing = AttributeMatrix(np.zeros((4, 0), np.float32), (), ())
    described = grow_tree(nothing, tree).described
    assert described.parent.tolist() == [-1]
    assert described.labels.tolist() == [0] * 4


def test_pictures_words_are_used_where_there_is_no_other():
    words, _ = make_words()
    only = AttributeMatrix(words.scores, words.names, ("picture",) * 8)
    assert len(grow_tree(only, "attribute").described.parent) > 1


def test_the_truth_of_a_branch_is_how_probable_its_words_are():
    words, kinds = make_words()
    evidence = gather_evidence(words, [None] * len(kinds))
    parent, labels = np.array([-1, 0, 1, 0]), np.repeat([1, 2, 1, 3, 3], 30)
    described = DescribedTree(
        parent, ((), ("animal",), ("bird", "small"), ("vehicle",)), np.ones(4), labels
    )
    truth = judge_words(described, evidence)
    a = dict(zip(evidence.names, evidence.alone.T, strict=True))
    expected = [
        *(1, a["animal"][:90].mean(), np.minimum(a["bird"], a["small"])[30:60].mean()),
        a["vehicle"][90:].mean(),
    ]
    np.testing.assert_allclose(truth, expected)


def test_what_is_folded_goes_one_up():
    parent, words = np.array([-1, 0, 1, 0]), ((), ("a",), ("b",), ("c",))
    described = DescribedTree(parent, words, np.array([1, 0.9, 0.8, 0.7]), np.repeat([1, 2, 3], 4))
    kept, stability = fold(described, np.arange(4.0), np.array([False, True, False, False]))
    assert kept.words == ((), ("a",))
    assert kept.parent.tolist() == [-1, 0]
    assert kept.labels.tolist() == [1] * 8 + [0] * 4
    assert stability.tolist() == [0, 1]
    below, _ = fold(described, np.arange(4.0), np.array([True, False, True, True]))
    assert below.words == ((), ("b",), ("c",))
    assert below.parent.tolist() == [-1, 0, 0]
    assert below.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    alike = DescribedTree(
        np.array([-1, 0, 1, 1, 0, 4]), ((), ("x",), ("a",), ("b",), ("a",), ("d",)), np.ones(6),
        np.arange(6),
    )  # fmt: skip
    joined, _ = fold(alike, np.arange(6.0), np.array([True, False, True, True, True, True]))
    assert joined.words == ((), ("a",), ("d",), ("b",))
    assert joined.parent.tolist() == [-1, 0, 1, 0]
    assert joined.labels.tolist() == [0, 0, 1, 3, 1, 2]


def test_a_name_that_is_true_of_few_is_not_shown():
    words, kinds = make_words()
    doubtful = words._replace(
        scores=np.where(words.scores > 0.5, 0.65, 0.02).astype(np.float32),
        sources=("network",) * 7 + ("picture",),
    )
    assert in_words(grow_tree(doubtful, "attribute", kinds)) == [()]


def test_without_kinds_a_node_is_named_by_what_most_of_it_is():
    """Of 60 pictures in one node 42 show *fish* surely and 18 do not: these leave it."""
    scores = np.full((100, 2), 0.02, dtype=np.float32)
    scores[:42, 0], scores[42:60, 0], scores[60:, 1] = 0.98, 0.3, 0.98
    words = AttributeMatrix(scores, ("fish", "lamp"), ("network",) * 2)
    node = Tree(np.array([-1, 0, 0]), np.zeros(3)), np.repeat([1, 2], (60, 40))
    for kinds in ([None] * 100, ["a"] * 60 + ["b"] * 40):
        evidence = gather_evidence(words, kinds)._replace(joined=scores.astype(float))
        told = trees.put_into_words(*node, evidence, 3)
        is_labelled = kinds[0] is not None
        assert set(told.words) == {(), ("lamp",), *([] if is_labelled else [("fish",)])}
        if not is_labelled:
            found = tighten(told, evidence, kinds, 3)
            assert [found.words[v] for v in found.labels] == [("fish",)] * 42 + [()] * 18 + [
                ("lamp",)
            ] * 40
            assert found.truth.min() > 0.9


def test_kinds_sit_together_though_pictures_slip():
    words, kinds = make_words(flips=0.15)
    measured = words._replace(sources=("network",) * 7 + ("picture",))
    for given, least in ((kinds, 1.0), (None, 0.0)):
        grown = grow_tree(measured, "attribute", given)
        labels = grown.described.labels
        same = [np.bincount(labels[kinds == kind]).max() / 30 for kind in KINDS]
        assert min(same) >= least
    tops = {path[0] for path in in_words(grow_tree(measured, "attribute", kinds)) if path}
    assert tops & {"animal", "vehicle", "bird"}


def test_a_tree_is_judged_by_the_kinds_that_are_known():
    described = DescribedTree(
        np.array([-1, 0, 0]), ((), ("a",), ("b",)), np.array([1, 0.5, 0.9]), np.array([1, 1, 2, 0])
    )
    grown = GrownTree(described, np.zeros(3, bool), np.ones(3), {})
    judged = judge_tree(grown, ["owl", "owl", "owl", None])
    assert judged == {"purity": 1.0, "locality": -1.33, "mean_truth": 0.7}
    assert judge_tree(grown, [None] * 4)["purity"] is None


def test_a_guide_keeps_the_tree_that_was_asked_for(blobs, tmp_path):
    attributes = np.tile(np.eye(3)[[k == "stripe" for k in blobs[1]] * np.ones(24, int)], (2, 8))
    names = [f"word {j}" for j in range(24)]
    collection = Collection.from_arrays(
        blobs[0] * 2, blobs[1] * 2, attributes=attributes, attribute_names=names
    )
    for n_jobs in (1, 2):
        settings = {"features": "deep", "tree": "attribute", "marks": False, "places": False}
        guide = Guide.build(collection, tmp_path / str(n_jobs), n_jobs=n_jobs, **settings)
    assert guide.about["settings"]["tree"] == guide.about["tree"]["method"] == "attribute"
    assert 0 < guide.about["tree"]["n_words"] <= guide.about["n_words"]
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert 0 < guide.about["tree"]["purity"] <= 1
    with pytest.raises(FieldguideError, match="tree of a guide must be one of 'auto'"):
        Guide.build(collection, tmp_path / "other", tree="oak")

"""What a guide compares specimens by: stacks of features, their choice, and visual words."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from sklearn.datasets import load_digits
from tests.guide.contents import contents
from tests.guide.killed_build import check_killed_build
from tests.interrupts import interrupt_at

from fieldguide.collection import Collection
from fieldguide.errors import FieldguideError, GuideError
from fieldguide.features import SUBJECT_NAMES, SURROUNDING_NAMES
from fieldguide.guide import Guide, rows
from fieldguide.guide.row_weights import (
    LEAST_PER_KIND,
    MOST_ROWS,
    WEIGHTS,
    choose_weight,
    draw_labelled,
    reweigh,
)
from fieldguide.guide.summaries import normalise_rows
from fieldguide.guide.visual_words import find_homes

STACK = "deep+words+color"
PLAIN = {"marks": False, "places": False}


@pytest.fixture(scope="module")
def stacked(folder, tmp_path_factory) -> Guide:
    out = tmp_path_factory.mktemp("stacked") / "guide"
    return Guide.build(folder, out, features=STACK, n_jobs=1, marks=False, places=False)


def test_a_guide_of_a_stack(stacked, blobs):
    settings = stacked.about["settings"]
    assert settings["features"] == settings["features_asked"] == STACK
    assert stacked.about["accuracy"] > 0.9
    opened = Guide.open(stacked.folder)
    answers = opened.identify(blobs[0][:3])
    assert [answer.kinds[0][0] for answer in answers] == blobs[1][:3]
    # a picture of the collection is its own nearest neighbour
    ids = [specimen.id for specimen in opened.specimens(range(24))]
    paths = {specimen.path: specimen.id for specimen in opened.specimens(ids)}
    assert answers[0].neighbours[0].id == paths["disc/00.png"]


@pytest.mark.parametrize("after", [0, 9])
def test_a_killed_build_goes_on_to_the_same_guide(folder, stacked, tmp_path, after):
    step, settings = "describing images", {"features": STACK, **PLAIN}
    told = check_killed_build(folder, stacked, tmp_path / "out", step, after, step, **settings)
    assert next(done for step, done, _ in told if step == "reading images") == 25


def test_a_second_build_describes_only_what_changed(blobs, tmp_path, decoded):
    root, out = tmp_path / "images", tmp_path / "guide"
    root.mkdir()
    for i, image in enumerate(blobs[0][:8]):
        Image.fromarray(image).save(root / f"{i}.png")
    first = Guide.build(root, out, features="hog+color", n_jobs=1, marks=False, places=False)
    before = np.array(first._models.rows)

    decoded.clear()
    Image.fromarray(blobs[0][20]).save(root / "9.png")
    second = Guide.build(root, out, features="hog+color", n_jobs=1, marks=False, places=False)
    assert decoded == ["9.png", "9.png"]  # for the network, then for the stack of the first build
    np.testing.assert_array_equal(second._models.rows[:8], before)
    decoded.clear()
    third = Guide.build(root, out, features="color", n_jobs=1, marks=False, places=False)
    assert set(decoded) == {f"{i}.png" for i in (*range(8), 9)}
    assert third._models.rows.shape != before.shape
    assert (
        Guide.build(
            root, out, features="deep", n_jobs=1, marks=False, places=False
        )._models.rows.shape[1]
        == 1280
    )
    assert not (out / "models" / "stack.json").exists()


def test_auto_is_both_looks_where_the_first_is_no_better(small_guide):
    settings = small_guide.about["settings"]
    assert settings["features"] == "looks"
    assert settings["features_asked"] == "auto"
    assert "first look names 100% of specimens" in settings["features_because"]
    seen = np.load(small_guide.edition / "features" / "seen.npy")
    assert seen.shape == (24, len(SUBJECT_NAMES) + len(SURROUNDING_NAMES))


def test_auto_takes_what_is_clearly_better(tmp_path, monkeypatch):
    """Handwritten digits: the network knows photographs, edges know strokes."""
    monkeypatch.setattr(rows, "TRIED", ("color", "hog"))  # quicker than visual words
    X, y = load_digits(return_X_y=True)
    strokes = (255 - X[:60] * 15.9).astype(np.uint8).reshape(-1, 8, 8)
    images = [np.asarray(Image.fromarray(s).resize((64, 64))) for s in strokes]
    settings = {"tree": "agglomerative", "marks": False, "places": False, "n_jobs": 1}
    guide = Guide.build(Collection.from_arrays(images, y[:60]), tmp_path / "guide", **settings)
    settings = guide.about["settings"]
    assert settings["features"] == "hog"
    for part in ("the network's first look names", "both looks", "color ", "hog "):
        assert part in settings["features_because"]
    assert guide.about["accuracy"] > 0.9


def test_auto_without_labels_looks_twice(blobs, tmp_path):
    guide = Guide.build(Collection.from_arrays(blobs[0][:6]), tmp_path / "guide", n_jobs=1)
    assert guide.about["settings"]["features"] == "looks"
    assert "too few labels" in guide.about["settings"]["features_because"]


@pytest.fixture(scope="module")
def looks(folder, tmp_path_factory) -> Guide:
    out = tmp_path_factory.mktemp("looks") / "guide"
    return Guide.build(folder, out, features="looks", n_jobs=1, marks=False, places=False)


def test_a_guide_of_both_looks(looks, blobs):
    assert looks._models.rows.shape[1] == 4 * 1280 + 4 * 256
    assert looks.about["accuracy"] > 0.9
    assert set(looks.about["features"]) >= {"rows", "subjects", "said"}
    (answer,) = looks.identify([blobs[0][0]])
    assert answer.kinds[0].name == blobs[1][0]
    subject = looks.subject(answer.neighbours[0].id)
    (again,) = looks.find_subjects([blobs[0][0]])
    assert subject.box == pytest.approx(again.box, abs=1e-3)
    assert subject.confidence == pytest.approx(again.confidence, abs=1e-3)
    said = looks._models.said
    np.testing.assert_allclose(np.exp(said).sum(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(
        looks.look(blobs[0][0])._said[0], said[answer.neighbours[0].id], atol=1e-3
    )


def test_both_looks_do_not_depend_on_threads_or_on_being_stopped(folder, looks, tmp_path):
    out = tmp_path / "guide"
    settings = {"features": "looks", "marks": False, "places": False}
    with pytest.raises(KeyboardInterrupt):
        Guide.build(folder, out, n_jobs=1, progress=interrupt_at(9, "looking closer"), **settings)
    steps = []
    Guide.build(folder, out, n_jobs=2, progress=lambda *now: steps.append(now), **settings)
    assert next(done for step, done, _ in steps if step == "looking closer") >= 8
    assert contents(out) == contents(looks.folder)


def test_a_second_build_looks_only_at_what_is_new(folder, looks, tmp_path, blobs):
    root, out = tmp_path / "images", tmp_path / "guide"
    shutil.copytree(folder, root)
    shutil.copytree(looks.folder, out)
    Image.fromarray(blobs[0][3][::-1].copy()).save(root / "disc" / "new.png")
    counts = {}
    Guide.build(
        root, out, features="looks", n_jobs=1, marks=False, places=False,
        progress=lambda step, done, total: counts.setdefault(step, (done, total)),
    )  # fmt: skip
    done, total = counts["looking closer"]
    assert total - done == 1


@pytest.mark.parametrize(
    "images",
    [
        [np.full((50, 50, 3), 90, np.uint8)] * 8,
        [np.full((200, 1, 3), 30 * i, np.uint8) for i in range(8)],
        [np.arange(40 * 60 * 3, dtype=np.uint8).reshape(40, 60, 3)] * 8,
    ],
    ids=["one colour", "one pixel wide", "all the same"],
)
def test_pictures_without_a_subject_make_a_guide(images, tmp_path):
    collection = Collection.from_arrays(images, list("aaaabbbb"))
    guide = Guide.build(collection, tmp_path / "guide", n_jobs=1)
    assert guide.identify([images[0]])[0].kinds[0].name in "ab"
    assert guide.about["settings"]["features"] in ("deep", "looks")


def test_unknown_features_are_one_sentence_before_any_work(blobs, tmp_path):
    collection = Collection.from_arrays(blobs[0][:6])
    with pytest.raises(FieldguideError, match="features must be one or more of deep, closer"):
        Guide.build(collection, tmp_path / "guide", features="sift")
    assert not (tmp_path / "guide").exists()


def test_a_damaged_stack_is_one_sentence(folder, tmp_path):
    guide = Guide.build(
        folder, tmp_path / "guide", features="color", n_jobs=1, marks=False, places=False
    )
    path = guide.edition / "models" / "stack.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(GuideError, match=r"features .* cannot be read .*; build the guide again"):
        Guide.open(guide.folder).identify([np.zeros((9, 9, 3), np.uint8)])
    Guide.build(folder, tmp_path / "guide", features="color", n_jobs=1, marks=False, places=False)
    Guide.open(guide.folder).identify([np.zeros((9, 9, 3), np.uint8)])


def test_visual_words_have_pictures_and_homes(stacked):
    words = Guide.open(stacked.folder).visual_words
    assert len(words) > 20
    for word in words:
        with Image.open(stacked.folder / word.picture) as strip:
            assert strip.size == (word.n_patches * 75 - 3, 72)
        assert 0 < word.share < 1
        assert {name for name, _ in word.kinds} <= {"disc", "square", "stripe"}
    assert stacked.draw_visual_words(6).width > 400


def test_homes_are_ratios_of_means():
    histograms = np.array([[0.5, 0.5], [0.7, 0.3], [0.6, 0.4], [0, 1], [0, 1], [0, 1]])
    kinds = ["a"] * 3 + ["b"] * 3
    assert find_homes(histograms, kinds) == [[("a", 2.0)], []]
    assert find_homes(histograms, ["a", None, None, "b", "b", "c"]) == [[], []]
    assert find_homes(histograms, [None] * 6) == [[], []]


def test_a_guide_without_visual_words_says_so(small_guide):
    assert small_guide.visual_words == ()
    with pytest.raises(GuideError, match="built without visual words; build it with `features"):
        small_guide.draw_visual_words()


def test_damaged_visual_words_are_one_sentence(stacked, tmp_path):
    import shutil

    shutil.copytree(stacked.folder, tmp_path / "guide")
    path = Guide.open(tmp_path / "guide").edition / "models" / "visual_words.json"
    path.write_text(json.dumps({"words": [{"number": 1}]}))
    with pytest.raises(GuideError, match=r"visual words .* cannot be read"):
        _ = Guide.open(tmp_path / "guide").visual_words


PART = slice(6, 12)


def draw_rows(seed, *, told_by, n_kinds=6, n=20):
    """Rows of two parts; only the one that is named tells the kinds apart."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_kinds), n)
    both = rng.normal(size=(2, len(y), 6))
    both[told_by] += 1.2 * np.eye(6)[y]
    first, second = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in both)
    return normalise_rows(np.concatenate([first, 0.5 * second], axis=1)), y


@pytest.mark.parametrize(("told_by", "weight"), [(0, 0.5), (1, 1.5)])
def test_a_part_counts_as_much_as_it_tells(told_by, weight):
    X, y = draw_rows(0, told_by=told_by)
    assert choose_weight(X, PART, 0.5, y, seed=0) == weight


def test_without_two_kinds_the_weight_stays():
    X, y = draw_rows(0, told_by=1)
    assert choose_weight(X, PART, 0.7, np.zeros_like(y), seed=0) == 0.7
    assert choose_weight(X[:0], PART, 0.7, y[:0], seed=0) == 0.7


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), weights=st.tuples(*2 * [st.floats(0.1, 4)]))
def test_only_the_share_of_the_part_changes(seed, weights):
    X, _ = draw_rows(seed, told_by=0, n_kinds=2, n=2)
    before, after = weights
    changed = reweigh(X, PART, before, after)
    np.testing.assert_allclose(np.linalg.norm(changed, axis=1), 1, rtol=1e-5)
    others = np.linalg.norm(X[:, :6], axis=1), np.linalg.norm(changed[:, :6], axis=1)
    own = np.linalg.norm(X[:, PART], axis=1), np.linalg.norm(changed[:, PART], axis=1)
    np.testing.assert_allclose(own[1] / others[1], own[0] / others[0] * after / before, rtol=1e-4)
    np.testing.assert_allclose(reweigh(changed, PART, after, before), X, atol=1e-5)


def test_specimens_are_drawn_evenly_from_kinds_that_are_large_enough():
    kinds = [*["a"] * 10, *["b"] * (LEAST_PER_KIND - 1), None, *["c"] * MOST_ROWS]
    rows, y = draw_labelled(kinds, 0)
    assert {kinds[i] for i in rows[y == 0]} == {"a"}
    assert {kinds[i] for i in rows[y == 1]} == {"c"}
    assert (y == 0).sum() == 10
    assert (y == 1).sum() == MOST_ROWS // 2
    np.testing.assert_array_equal(rows, draw_labelled(kinds, 0)[0])
    assert len(draw_labelled([None, "a"], 0)[0]) == 0
    assert WEIGHTS[0] == min(WEIGHTS)

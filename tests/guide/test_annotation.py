"""Detectors of the owner's attributes, in a guide and on their own."""

from types import SimpleNamespace

import numpy as np
import pytest

from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.features import map_subject
from fieldguide.features.colour_names import name_colours
from fieldguide.features.subject_words import SeenSubject
from fieldguide.guide import Guide
from fieldguide.guide.annotation import (
    fill_annotation,
    fill_kinds,
    group_unannotated,
    learn_annotation,
    open_annotation,
    save_annotation,
)


def draw_annotation(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    A = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3, rng.random(n) < 0.5]).astype(float)
    return X, A


def test_gaps_are_filled_by_detectors_that_work():
    X, A = draw_annotation(240)
    given = A.copy()
    given[::3] = np.nan
    names = ["red", "striped", "chance"]
    annotation = learn_annotation(X, given, names, seed=0, n_jobs=1)
    assert annotation.names == ("red", "striped")  # nothing tells of the third
    filled = fill_annotation(given, names, annotation, X)
    np.testing.assert_array_equal(filled[1::3], A[1::3])
    assert ((filled[::3, :2] >= 0.5) == A[::3, :2]).mean() > 0.9
    assert (filled[::3, 2] == 0).all()
    # A gap where no detector is believed.
    given = A.copy()
    given[0, 2] = np.nan
    assert fill_annotation(given, names, annotation, X)[0, 2] == 0


def test_kinds_are_held_out_where_one_is_not_annotated():
    kinds = [*"aaabbb", None]
    A = np.zeros((7, 2))
    assert group_unannotated(A, kinds) is None
    A[:2] = A[4] = np.nan
    assert group_unannotated(A, kinds) is None  # of both kinds some are annotated
    A[2] = np.nan
    groups = group_unannotated(A, kinds)
    assert len(set(groups.tolist())) == 3
    assert groups[0] == groups[2] != groups[3] == groups[5] != groups[6]


def test_what_detects_a_kind_is_no_detector_of_its_attributes():
    """One kind is red and all of it has the attribute: held out by kind, nobody can tell."""
    rng = np.random.default_rng(0)
    kinds = np.repeat(np.arange(6), 12)
    X = np.eye(6)[kinds] + 0.1 * rng.normal(size=(72, 6))
    A = (kinds == 2).astype(float)[:, None]
    A[kinds == 5] = np.nan
    believed = learn_annotation(X, A, ["spotted"], seed=0, n_jobs=1)
    assert believed.names == ("spotted",)
    filled, measured = fill_kinds(X, A, ["spotted"], kinds)
    assert measured == ()
    assert (filled[kinds == 5] == 0).all()


def test_too_little_annotation_has_no_detectors():
    X, A = draw_annotation()
    A[10:] = np.nan
    assert learn_annotation(X, A, list("abc"), seed=0, n_jobs=1) is None
    np.testing.assert_array_equal(fill_annotation(A, list("abc"), None, X)[10:], 0)


def test_saved_detectors_say_the_same_and_damaged_ones_are_refused(tmp_path):
    X, A = draw_annotation()
    (tmp_path / "models").mkdir()
    assert open_annotation(tmp_path, 6) is None
    annotation = learn_annotation(X, A, ["red", "striped", "chance"], seed=0, n_jobs=1)
    save_annotation(annotation, SimpleNamespace(new=lambda name: tmp_path / name))
    again = open_annotation(tmp_path, 6)
    assert again.names == annotation.names
    np.testing.assert_array_equal(again.detect(X), annotation.detect(X))
    with pytest.raises(GuideError, match="build the guide again"):
        open_annotation(tmp_path, 7)
    file = tmp_path / "models" / "annotation.safetensors"
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(GuideError, match="cannot be read"):
        open_annotation(tmp_path, 6)


def test_kinds_that_nobody_annotated_have_what_other_kinds_taught():
    """Sixteen kinds, each with its own look and two of six attributes; half of them are known."""
    rng = np.random.default_rng(0)
    pairs = [(a, b) for a in range(6) for b in range(a)] + [(0, 1)]
    kinds = np.repeat(np.arange(16), 12)
    shows = np.array([np.isin(np.arange(6), pair) for pair in pairs], dtype=float)[kinds]
    look = rng.normal(size=(16, 20))[kinds]
    X = np.hstack([shows, 0.1 * look]) + 0.1 * rng.normal(size=(192, 26))
    A = np.where(kinds[:, None] % 2, np.nan, shows)
    said = fill_kinds(X, A, [f"mark {d}" for d in range(6)], kinds)[0][kinds % 2 == 1] >= 0.5
    truth = shows[kinds % 2 == 1] > 0
    assert said[truth].mean() > 0.7
    assert truth[said].mean() > 0.9


def map_bug(colour):
    """The map of a bug of one colour on white."""
    image, is_subject = np.full((64, 64, 3), 255, dtype=np.uint8), np.zeros((64, 64), dtype=bool)
    image[16:48, 12:52], is_subject[16:48, 12:52] = colour, True
    return map_subject(SeenSubject(image, name_colours(image), is_subject))


def test_an_attribute_that_is_a_word_of_the_map_is_measured_unless_kinds_object():
    """Eight kinds of bugs; what the rows show is the kind alone, and two kinds are unknown."""
    rng = np.random.default_rng(0)
    kinds = np.repeat(np.arange(8), 10)
    red = np.isin(kinds, (0, 1, 2, 7))
    X = np.eye(8)[kinds] + 0.05 * rng.normal(size=(80, 8))
    maps = np.stack([map_bug((200, 20, 30) if r else (40, 80, 190)) for r in red])
    maps[79] = np.nan  # a picture without a subject
    names = ["mostly red", "mostly blue", "spotted"]
    A = np.column_stack([red, np.isin(kinds, (3, 5)), kinds % 2]).astype(float)
    A[kinds >= 6] = np.nan
    filled, measured = fill_kinds(X, A, names, kinds, maps)
    assert measured == ("mostly red",)  # one of three blue kinds is said not to be blue
    np.testing.assert_array_equal(filled[60:79, 0] >= 0.5, red[60:79])
    assert filled[79, 0] == 0
    assert fill_kinds(X, A, names, kinds)[1] == ()  # without a second look


def test_a_colour_in_a_name_is_looked_for():
    """Crowns are red or blue by chance, which the rows do not show, and the maps do."""
    rng = np.random.default_rng(0)
    kinds = np.repeat(np.arange(40), 5)
    is_red = rng.random(40) < 0.5
    maps = np.stack([map_bug((200, 20, 30) if is_red[k] else (40, 80, 190)) for k in kinds])
    X = rng.normal(size=(40, 8))[kinds] + 0.1 * rng.normal(size=(200, 8))
    A = np.where(kinds < 24, is_red[kinds], np.nan)[:, None]
    A = np.hstack([A, 1 - A, (kinds % 7 == 0)[:, None] + 0 * A])
    names = ["red crown", "crown color: blue", "web-footed"]
    filled, _ = fill_kinds(X, A, names, kinds, maps)
    said = filled[120:] >= 0.5
    np.testing.assert_array_equal(said[:, 0], is_red[kinds[120:]])
    np.testing.assert_array_equal(said[:, 1], ~is_red[kinds[120:]])
    assert said[:, 2].mean() < 0.2


def test_a_new_image_gets_the_words_of_the_owner(tmp_path):
    rng = np.random.default_rng(0)
    bright = np.arange(60) % 2
    images = [
        np.clip(rng.normal(60 + 130 * b, 20, (40, 40, 3)), 0, 255).astype(np.uint8) for b in bright
    ]
    A = np.column_stack([bright, 1 - bright]).astype(float)
    A[40:] = np.nan
    collection = Collection.from_arrays(images, attributes=A, attribute_names=["shiny", "dull"])
    guide = Guide.build(collection, tmp_path / "g", features="color", marks=False, places=False)
    shown = [{word for word, _ in guide.words_of(i)} & {"shiny", "dull"} for i in range(40, 60)]
    truth = [{"shiny"} if b else {"dull"} for b in bright[40:]]
    assert np.mean([s == t for s, t in zip(shown, truth, strict=True)]) > 0.9
    new = [np.full((40, 40, 3), v, dtype=np.uint8) for v in (60, 190)]
    words = [dict(answer.words) for answer in guide.identify(new)]
    assert "dull" in words[0]
    assert "shiny" in words[1]
    (tmp_path / "g/editions/1/models/annotation.json").write_text("{}")
    with pytest.raises(GuideError, match=r"detectors .* cannot be read"):
        Guide.open(tmp_path / "g").identify(new[:1])

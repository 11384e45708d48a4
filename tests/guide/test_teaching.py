"""Words that an owner teaches: what is learnt, when it is believed, and what a guide does of it."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image
from scipy.optimize import minimize_scalar
from scipy.stats import fisher_exact

from fieldguide.collection import Collection
from fieldguide.errors import EditError
from fieldguide.guide import Guide, Reliability
from fieldguide.guide.edits import FILE_NAME, Lesson
from fieldguide.guide.teaching import Detector, estimate_share, judge_lesson, learn_word

QUICK = {"key": "ova", "features": "deep", "marks": False, "places": False, "n_jobs": 1}
# Of the 24 pictures of ``flat_guide``: discs 0 to 7, squares 8 to 15, stripes 16 to 23.
ROUND, NOT_ROUND = range(6), (8, 9, 10, 16, 17, 18)


@pytest.fixture
def folder(flat_guide, tmp_path):
    shutil.copytree(flat_guide.folder, tmp_path / "guide")
    return tmp_path / "guide"


@pytest.fixture
def taught(folder):
    guide = Guide.open(folder)
    guide.teach("round", ROUND, NOT_ROUND)
    return guide


def make_rows(n=300, n_columns=40, share=0.2, seed=0):
    """Rows of length 1, of which some are apart in a few columns."""
    rng = np.random.default_rng(seed)
    X, is_shown = rng.normal(size=(n, n_columns)), np.arange(n) < share * n
    X[is_shown, :6] += 4
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), is_shown


def draw_lesson(is_shown, n, seed=0):
    rng = np.random.default_rng(seed)
    sides = (np.flatnonzero(is_shown), np.flatnonzero(~is_shown))
    return Lesson(*(tuple(sorted(rng.choice(s, n, replace=False).tolist())) for s in sides))


# -- what is learnt ---------------------------------------------------------------------------


def test_a_word_that_holds_is_said_of_the_others():
    X, is_shown = make_rows()
    taught = learn_word(X, draw_lesson(is_shown, 10))
    assert taught.reliability.holds
    said = taught.scores >= 0.5
    assert is_shown[said].mean() > 0.95  # careful rather than complete
    assert said[is_shown].mean() > 0.6
    assert np.array_equal(np.sort(np.argsort(-taught.scores)[:60]), np.arange(60))  # and in order
    others = np.setdiff1d(np.arange(len(X)), [i for side in taught.lesson for i in side])
    for i in others[:5]:  # a new picture with that row
        assert taught.score(X[[i]]) == pytest.approx(taught.scores[i], abs=1e-5)


@pytest.mark.parametrize("drawn", range(4))
def test_a_word_of_chance_is_said_of_its_own_pictures_alone(drawn):
    X, _ = make_rows(share=0)
    lesson = draw_lesson(np.random.default_rng(drawn).random(len(X)) < 0.5, 10, drawn)
    taught = learn_word(X, lesson)
    assert not taught.reliability.holds
    assert np.flatnonzero(taught.scores).tolist() == list(lesson.yes)
    assert taught.score(X[:1]) == 0.0
    assert "too few to say it of other pictures" in taught.reliability.tell()


def test_held_out_pictures_are_judged_by_what_the_others_teach():
    X, is_shown = make_rows(share=0.3, seed=1)
    lesson = draw_lesson(is_shown, 7)
    right = [0, 0]
    for k in range(5):  # one fold after the other, spelled out
        out = [set(np.array_split(side, 5)[k].tolist()) for side in lesson]
        rest = Lesson(*(tuple(i for i in s if i not in o) for s, o in zip(lesson, out)))  # noqa: B905
        says = Detector.train(X, rest, X)
        for side, rows in enumerate(out):
            right[side] += sum((says.score(X[[i]])[0] >= 0.5) == (side == 0) for i in rows)
    found = judge_lesson(X, lesson, X)
    assert found == Reliability(7, 7, *right)


def test_too_few_pictures_are_not_judged():
    X, is_shown = make_rows()
    taught = learn_word(X, draw_lesson(is_shown, 4))
    assert not taught.reliability.is_judged
    assert "too few to hold some out" in taught.reliability.tell()
    assert (taught.scores >= 0.5).sum() == 4


@pytest.mark.parametrize("counts", [(10, 10, 9, 8), (5, 5, 5, 5), (6, 9, 6, 1), (7, 5, 0, 5)])
def test_chance_is_that_of_fishers_test(counts):
    n_yes, n_no, yes, no = counts
    table = [[yes, n_yes - yes], [n_no - no, no]]
    expected = fisher_exact(table, alternative="greater")[1]
    assert Reliability(*counts).chance == pytest.approx(expected)


def test_what_holds_is_neither_one_sided_nor_chance():
    assert Reliability(10, 10, 9, 8).holds
    assert not Reliability(10, 10, 8, 7).holds  # chance does so well in 3 of 100
    assert not Reliability(100, 100, 70, 78).holds  # surely better than chance, and often wrong
    assert not Reliability(10, 10, 10, 0).holds
    assert not Reliability(4, 4, 4, 4).holds


@pytest.mark.parametrize(("share", "n_prior"), [(0.5, 0), (0.3, 0), (0.5, 40)])
def test_the_share_is_that_of_the_greatest_likelihood(share, n_prior):
    p = np.random.default_rng(3).beta(0.4, 1.2, size=400)

    def loss(found):
        prior = share * np.log(found) + (1 - share) * np.log(1 - found)
        each = np.log(found * p / share + (1 - found) * (1 - p) / (1 - share))
        return -each.sum() - n_prior * prior

    best = minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded").x
    assert estimate_share(p, share, n_prior) == pytest.approx(best, abs=1e-3)


def test_pictures_that_are_all_alike_teach_nothing():
    X = np.full((30, 8), 8**-0.5, dtype=np.float32)
    assert not learn_word(X, Lesson(tuple(range(5)), tuple(range(5, 10)))).reliability.holds


def test_a_large_collection_is_judged_by_a_sample(monkeypatch):
    X, is_shown = make_rows(n=400)
    monkeypatch.setattr("fieldguide.guide.teaching._SAMPLE", 150)
    taught = learn_word(X, draw_lesson(is_shown, 10))
    assert taught.reliability.holds
    assert is_shown[taught.scores >= 0.5].mean() > 0.95


# -- what a guide does of it ------------------------------------------------------------------


def test_a_taught_word_is_a_word_of_the_guide(taught, blobs, folder):
    assert taught.taught["round"].reliability.holds
    assert taught.sources["round"] == "taught"
    shown = set(taught.members(word="round").tolist())
    assert set(ROUND) <= shown
    assert not shown & set(NOT_ROUND)
    assert 6 in shown  # a disc that did not teach it
    assert {f.specimen.id for f in taught.find("round", limit=None).finds} == shown
    assert taught.find("not round").total == 24 - len(shown)
    assert dict(taught.words_of(6))["round"] >= 0.5
    assert "round" not in dict(taught.words_of(8))
    discs = {facet.name: facet.count for facet in taught.narrow("disc")}
    assert discs["round"] == len(shown & set(range(8)))
    assert "round" in [word.word for word in taught.identify([blobs[0][6]])[0].words]
    assert "round" not in [word.word for word in taught.identify([blobs[0][12]])[0].words]
    again = Guide.open(folder)
    np.testing.assert_array_equal(again.taught["round"].scores, taught.taught["round"].scores)


def test_it_is_a_line_of_the_log_and_can_be_undone(taught, folder, tmp_path):
    line = json.loads((folder / FILE_NAME).read_text())
    assert (line["verb"], line["target"]) == ("teach", {"word": "round"})
    assert [each["specimen"] for each in line["yes"]] == [f"disc/{i:06d}.png" for i in ROUND]
    assert len(line["no"]) == 6
    before = taught.taught["round"].scores
    for name in ("lesson.csv", "lesson.jsonl"):
        taught.edits.export_file(tmp_path / name)
        taught.edits.undo()
        assert taught.taught == {}
        assert "round" not in {word for word, _, _ in taught.words}
        taught.edits.import_file(tmp_path / name)
        np.testing.assert_array_equal(taught.taught["round"].scores, before)


def test_a_rebuild_has_the_word_and_a_later_undo_takes_it_away(taught, blobs):
    collection = Collection.from_arrays(*blobs, name="shapes")
    shown = taught.members(word="round").tolist()
    built = Guide.build(collection, taught.folder, **QUICK)
    assert built._plain.sources()["round"] == "taught"
    ids, scores = built._plain.showing(["round"])
    assert ids.tolist() == sorted(shown)
    np.testing.assert_allclose(scores / 1e6, built.taught["round"].scores[ids], atol=2e-6)
    assert built.members(word="round").tolist() == shown
    assert built.edits.waiting == ()
    assert "round" in [word.word for word in built.identify([blobs[0][6]])[0].words]
    built.edits.undo()
    assert "round" not in {word for word, _, _ in built.words}
    assert "round" not in [word for word, _ in built.words_of(0)]
    assert "round" not in [word.word for word in built.identify([blobs[0][6]])[0].words]
    assert [edit.verb for edit in built.edits.waiting] == ["undo"]
    assert "round" not in Guide.build(collection, taught.folder, **QUICK)._plain.sources()


def test_a_taught_word_that_holds_is_a_mark_from_the_next_build_on(taught, blobs):
    taught.teach("odd", (0, 8, 10, 16, 18), (1, 9, 11, 17, 19))
    assert not taught.taught["odd"].reliability.holds
    collection = Collection.from_arrays(*blobs, name="shapes")
    built = Guide.build(collection, taught.folder, **QUICK | {"marks": True})
    mark = next(mark for mark in built.marks("disc").marks if mark.text == "round")
    assert (mark.source, mark.n_own) == ("owner", len(built.members(word="round")))
    kinds = {kind.name: built.marks(kind.name).marks for kind in built.kinds}
    assert not any(mark.text == "odd" for marks in kinds.values() for mark in marks)
    for i, is_seen in ((6, True), (12, False)):
        seen = built.find_marks(blobs[0][i], "disc").marks
        assert [mark.is_shown for mark in seen if mark.text == "round"] == [is_seen]
    for _ in range(2):
        built.edits.undo()
    assert "round" not in [mark.text for mark in built.marks("disc").marks]


def test_a_lesson_grows_is_renamed_corrected_and_hidden(taught):
    taught.teach("Round", [6], [11])  # the same word, and two more pictures
    lesson = taught.taught["round"].lesson
    assert (lesson.yes, lesson.no) == ((*ROUND, 6), (8, 9, 10, 11, 16, 17, 18))
    taught.teach("round", [], [6])  # the last word on a picture counts
    assert taught.taught["round"].lesson.no == (6, 8, 9, 10, 11, 16, 17, 18)
    taught.edits.undo()
    taught.edits.add("rename", "word:round", "like a ball")
    taught.teach("like a ball", [7], [])
    assert taught.taught["like a ball"].lesson.yes == tuple(range(8))
    with pytest.raises(EditError, match="'round' is called 'like a ball'"):
        taught.teach("round", [6], [])
    taught.edits.add("word", "disc/000000.png", "not like a ball")
    assert 0 not in taught.members(word="like a ball")
    taught.edits.add("exclude", "disc/000001.png")
    assert 1 not in taught.members(word="like a ball")
    assert taught.taught["like a ball"].lesson.yes == (0, *range(2, 8))
    taught.edits.add("hide", "word:like a ball")
    assert taught.taught == {}
    assert taught.find("like a ball").total == 0
    with pytest.raises(EditError, match="is hidden"):
        taught.teach("round", [6], [])


def test_files_are_pointed_at_by_their_content(folder, tmp_path, blobs):
    files = []
    for i in (*ROUND, *NOT_ROUND):
        files.append(tmp_path / f"{i}.png")
        Image.fromarray(blobs[0][i]).save(files[-1])
    built = Guide.build(Collection.from_folder(_lay_out(blobs, tmp_path)), tmp_path / "g", **QUICK)
    taught = built.teach("round", files[:6], files[6:])
    assert len(taught.lesson.yes) == len(taught.lesson.no) == 6
    Image.new("RGB", (50, 50), "teal").save(tmp_path / "new.png")
    with pytest.raises(EditError, match="is not in this guide"):
        built.teach("round", [tmp_path / "new.png"], [])


def _lay_out(blobs, tmp_path):
    for i, (image, kind) in enumerate(zip(*blobs, strict=True)):
        path = tmp_path / "images" / kind / f"{i:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    return tmp_path / "images"


def test_what_cannot_be_taught_is_said_in_one_sentence(folder):
    guide = Guide.open(folder)
    word = next(word for word, n, _ in guide.words if n)
    guide.edits.add("exclude", "3")
    for name, yes, no, message in [
        ("round", ["0", "nowhere.png"], ["8", "9"], "No specimen is called 'nowhere.png'"),
        ("round", ["0", "1"], [], "at least 2 pictures that do not show it, better ten; got 0"),
        ("round", ["0"], ["8", "9"], "at least 2 pictures that show it"),
        ("round", [], [], "Say which pictures show 'round', and which do not"),
        ("round", ["0", "1"], ["1", "9"], "is given as yes and as no"),
        ("round", ["0", "3"], ["8", "9"], "is excluded and teaches nothing"),
        (word, ["0", "1"], ["8", "9"], f"The word '{word}' is there already; teach another"),
        (word.upper(), ["0", "1"], ["8", "9"], "is there already"),
        ("not round", ["0", "1"], ["8", "9"], "does not begin with 'not'"),
        (" ", ["0", "1"], ["8", "9"], "does not begin with 'not'"),
    ]:
        with pytest.raises(EditError, match=message):
            guide.teach(name, yes, no)
    with pytest.raises(EditError, match="'kind' takes no pictures as examples"):
        guide.edits.add("kind", "0", "disc", yes=["1"])
    assert len(guide.edits.history) == 1

"""Field marks of a guide: what is found, what is kept, what is said of a new picture."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file
from tests.features.test_deep import make_network

from fieldguide.chapters.marks.model import Marks, Said, is_doubtful
from fieldguide.chapters.marks.pool import (
    SOURCES,
    Column,
    Pool,
    list_columns,
    score_columns,
    see_columns,
)
from fieldguide.chapters.marks.records import Mark
from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.features import MAP_WORDS, WordModel
from fieldguide.features.network import Network
from fieldguide.features.vocabulary import class_names
from fieldguide.guide import Guide
from fieldguide.guide.apart import LEAST_RATIO, LEAST_SHARE, deal_folds

RED, BLUE, PALE = (200, 20, 30), (40, 80, 190), (235, 235, 230)


def draw_bugs(n_each=10, seed=0):
    """Red bugs, blue bugs, and bugs that are red above and blue below."""
    rng = np.random.default_rng(seed)
    images, kinds = [], []
    for kind, (above, below) in (
        ("red bug", (RED, RED)), ("blue bug", (BLUE, BLUE)), ("half bug", (RED, BLUE)),
    ):  # fmt: skip
        for _ in range(n_each):
            image = np.full((96, 96, 3), PALE, np.uint8)
            image = np.clip(image + rng.integers(-4, 5, image.shape), 0, 255).astype(np.uint8)
            y, x = rng.integers(22, 34, 2)
            image[y : y + 20, x : x + 40] = above
            image[y + 20 : y + 40, x : x + 40] = below
            images.append(image)
            kinds.append(kind)
    return images, kinds


@pytest.fixture(scope="module")
def bugs(tmp_path_factory):
    """A guide of drawn bugs, by both looks."""
    out = tmp_path_factory.mktemp("bugs") / "guide"
    collection = Collection.from_arrays(*draw_bugs(), name="bugs")
    return Guide.build(collection, out, features="looks", tree="agglomerative", n_jobs=1)


def copy_guide(guide, target):
    shutil.copytree(guide.folder, target)
    return Guide.open(target)


def test_what_was_drawn_is_said(bugs):
    assert "red" in bugs.marks("red bug").sentence.lower()
    assert "blue" in bugs.marks("blue bug").sentence.lower()
    assert bugs.marks("blue bug").colours == ("blue",)
    half = bugs.compare("half bug", "red bug").parts["marks"]
    assert any("blue" in mark.text for mark in half.marks)
    assert "marks" in bugs.compare("red bug", "blue bug").parts


def test_every_mark_holds_on_specimens_that_did_not_choose_it(bugs, small_guide):
    for guide in (bugs, small_guide):
        for kind in guide.kinds:
            found = guide.marks(kind.name)
            pairs = [mark for pair in found.apart for mark in pair.marks]
            for mark in (*found.marks, *pairs):
                assert mark.source in SOURCES
                assert mark.n_own >= LEAST_SHARE * mark.of_own
                assert mark.n_own * mark.of_other >= LEAST_RATIO * mark.n_other * mark.of_own
            assert 0 <= found.n_said <= len(found.marks)
            assert 0 <= found.n_sufficient <= found.n_said


def test_numbers_are_those_of_the_specimens(bugs):
    shows = np.load(bugs.edition / "features/attributes.npy")
    assert len(shows) == bugs.n_specimens
    for kind in bugs.kinds:
        for mark in bugs.marks(kind.name).marks:
            assert mark.of_own == kind.count
            assert mark.of_other == bugs.n_specimens - kind.count
            for i, box in mark.specimens:
                assert bugs.specimen(i).kind == kind.name
                assert box is None or (0 <= box[0] < box[2] <= 1 and 0 <= box[1] < box[3] <= 1)


def test_no_class_of_the_network_and_no_name_of_a_kind_is_a_mark(bugs):
    model = bugs._models.word_model
    texts = {column.text for column in list_columns(model, has_maps=True)}
    assert {word.name for word in MAP_WORDS} <= texts
    assert not texts & ({"red bug", "blue bug", "half bug"} | set(bugs.about.get("kinds", ())))
    assert all(each.name in class_names() for each in bugs.marks("red bug").classes)


def test_all_attributes_that_the_same_specimens_show_are_columns():
    annotated = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=float)
    model = WordModel(min_images=1)
    names = ["feathered", "beaked", "finned"]
    scores = model.fit_transform(None, annotated=annotated, annotated_names=names).scores
    columns = list_columns(model, has_maps=False)
    assert [column.text for column in columns] == ["feathered", "finned", "beaked"]
    found = score_columns(columns, model, scores, None)
    np.testing.assert_array_equal(found, annotated[:, [0, 2, 1]])


def test_an_attribute_that_is_a_word_of_the_map_stands_for_both():
    annotated = np.array([[1, 1], [0, 0], [0, 1]], dtype=float)
    model = WordModel(min_images=1)
    model.fit_transform(None, annotated=annotated, annotated_names=["mostly red", "spotted"])
    columns = list_columns(model, has_maps=True)
    (red,) = [column for column in columns if column.text == "mostly red"]
    assert (red.source, red.colours) == ("owner", ("red",))
    assert len({column.text for column in columns}) == len(columns) == len(MAP_WORDS) + 1


def test_what_a_thing_is_must_be_surer_than_what_it_looks_like():
    columns = (Column("bird", "network"), Column("mostly red", "subject", ("red",)))
    scores = np.array([[0.79, 0.5], [0.8, 0.49]])
    assert see_columns(columns, scores).tolist() == [[False, True], [True, False]]


def test_what_the_network_is_in_doubt_of_is_neither_seen_nor_missed():
    scores = np.array([0.79, 0.8, 0.49, 0.79])
    bird = Mark("bird", "network", False, 9, 10, 1, 10)
    is_left = [is_doubtful(replace(bird, column=j), scores) for j in range(3)]
    assert is_left == [True, False, False]
    assert not is_doubtful(replace(bird, source="subject", column=3), scores)


def test_a_new_picture_shows_the_marks_of_its_kind(bugs):
    fresh, kinds = draw_bugs(2, seed=7)
    for image, kind in zip(fresh, kinds, strict=True):
        seen = bugs.find_marks(image, kind)
        assert [mark.text for mark in seen.marks] == [mark.words for mark in bugs.marks(kind).said]
        if seen.marks:
            assert any(mark.is_shown for mark in seen.marks)
            assert seen.because
        for mark in (*seen.marks, *seen.against_marks):
            assert mark.box is None or 0 <= mark.box[0] < mark.box[2] <= 1
    answer = bugs.identify([fresh[0]])[0]
    assert answer.parts["marks"].kind == answer.kinds[0].name
    assert answer.parts["marks"].against == answer.kinds[1].name
    against = bugs.compare(answer.kinds[0].name, answer.kinds[1].name).parts["marks"].marks
    assert [m.text for m in answer.parts["marks"].against_marks] == [m.words for m in against]


def test_what_no_specimen_of_the_kind_shows_is_unusual(bugs):
    image, _ = draw_bugs(1, seed=8)
    assert bugs.find_marks(image[0], "red bug").unusual == ()
    (said,) = bugs.find_marks(image[1], "red bug").unusual
    assert said == "none of the 10 specimens of this kind is mostly blue"


def test_a_picture_is_looked_at_once(bugs, monkeypatch):
    runs, run = [], Network.run
    monkeypatch.setattr(
        Network, "run", lambda self, p, **how: runs.append(len(p)) or run(self, p, **how)
    )
    sighting = bugs.look(draw_bugs(1)[0][0])
    bugs.identify([sighting])
    n_runs = len(runs)
    for kind in bugs.kinds:
        bugs.find_marks(sighting, kind.name)
    assert len(runs) == n_runs


def test_marks_do_not_depend_on_threads_or_on_a_second_build(
    blobs, small_guide, threaded_guide, tmp_path
):
    for kind in small_guide.kinds:
        assert threaded_guide.marks(kind.name) == small_guide.marks(kind.name)
    out = shutil.copytree(threaded_guide.folder, tmp_path / "guide")
    again = Guide.build(Collection.from_arrays(*blobs, name="shapes"), out, n_jobs=1)
    assert again.marks("disc") == threaded_guide.marks("disc")


def test_the_owners_words_come_first(blobs, tmp_path):
    images, kinds = blobs
    round_ones = np.array([[kind == "disc"] * 2 for kind in kinds], dtype=np.float32)
    round_ones[np.array(kinds) == "stripe", 1] = np.nan
    collection = Collection.from_arrays(
        images, kinds, attributes=round_ones, attribute_names=["round", "soft"]
    )
    guide = Guide.build(collection, tmp_path / "guide", features="deep", n_jobs=1)
    found = guide.marks("disc")
    assert found.said[0].text == "round"
    assert found.said[0].source == "owner"
    assert found.sentence.startswith("Round")
    assert (found.said[0].n_own, found.said[0].n_other) == (8, 0)
    model = guide._models.part("marks")
    unknown = [{model.pool.columns[j].text for j in said.unknown} for said in model.said]
    assert unknown == [{"soft"} if kind == "stripe" else set() for kind in model.kinds]


def test_what_nobody_annotated_in_a_kind_is_not_lacked():
    index = np.repeat([0, 1], 20).astype(np.int32)
    pool = Pool((Column("crested", "owner"),), (index == 0)[:, None], None)
    known = Said((), 0, (), ())
    both = Marks(("finch", "wren"), index, deal_folds(index, 0), pool, (known, known))
    assert [mark.words for mark in both.set_apart(0, 1)] == ["crested"]
    assert [mark.words for mark in both.set_apart(1, 0)] == ["not crested"]
    one = replace(both, said=(known, replace(known, unknown=(0,))))
    assert one.set_apart(0, 1) == one.set_apart(1, 0) == []


def test_what_was_taught_tells_a_kind_from_all_others_and_not_from_one():
    index = np.repeat([0, 1], 20).astype(np.int32)
    said = Said((), 0, (), (), (0,)), Said((), 0, (), ())
    pool = Pool((Column("crested", "owner"),), (index == 0)[:, None], None)
    marks = Marks(("finch", "wren"), index, deal_folds(index, 0), pool, said)
    assert marks.set_apart(0, 1) == []
    assert [each.column for each in marks.find_passed(0)] == [0]


def test_a_word_of_the_network_tells_from_what_is_surely_something_else():
    """Seen as songbirds, as nothing, as birds and as water birds."""
    index = np.repeat(np.arange(4), 10).astype(np.int32)
    names = ("songbird", "bird", "water bird")
    seen = ((True, True, False), (False,) * 3, (False, True, False), (False, True, True))
    columns = tuple(Column(name, "network") for name in names)
    pool = Pool(columns, np.array(seen)[index], None)
    kinds = ("grosbeak", "tanager", "finch", "gull")
    marks = Marks(kinds, index, deal_folds(index, 0), pool, (Said((), 0, (), ()),) * 4)
    assert marks.set_apart(0, 1) == marks.set_apart(0, 2) == []
    assert [mark.text for mark in marks.set_apart(0, 3)] == ["songbird"]
    assert [mark.text for mark in marks.set_apart(3, 0)] == ["water bird"]


def test_a_form_is_not_lacked():
    """What is not much wider than tall may be anything; what has no red has no red."""
    index = np.repeat([0, 1], 20).astype(np.int32)
    for column, words in (
        (Column("much wider than tall", "subject"), []),
        (Column("with red", "subject", ("red",)), ["no red"]),
    ):
        pool = Pool((column,), (index == 0)[:, None], None)
        marks = Marks(("a", "b"), index, deal_folds(index, 0), pool, (Said((), 0, (), ()),) * 2)
        assert [mark.words for mark in marks.set_apart(1, 0)] == words


def test_a_network_without_names_leaves_what_is_measured(blobs, tmp_path):
    network = make_network(tmp_path / "small.onnx")
    collection = Collection.from_arrays(blobs[0][::2], blobs[1][::2])
    guide = Guide.build(collection, tmp_path / "guide", embedder=network, features="deep", n_jobs=1)
    found = guide.marks("disc")
    assert found.classes == ()
    assert found.marks == ()  # so few pictures prove nothing, and five properties are looked at
    assert {column.source for column in guide._models.part("marks").pool.columns} == {"picture"}
    assert guide.find_marks(blobs[0][1], "disc").kind == "disc"


def test_kinds_of_one_specimen_have_no_marks(tmp_path):
    greys = [np.full((48, 48, 3), v, dtype=np.uint8) for v in (10, 120, 230)]
    guide = Guide.build(Collection.from_arrays(greys, list("abc")), tmp_path / "guide", n_jobs=1)
    found = guide.marks("a")
    assert found.marks == found.patterns == ()
    assert found.sentence == ""


def test_kinds_are_found_by_how_a_person_writes_them(small_guide):
    assert small_guide.marks(" Disc ").kind == "disc"
    with pytest.raises(GuideError, match=r"No kind of this guide is called 'squire'. There is 'sq"):
        small_guide.marks("squire")
    with pytest.raises(GuideError, match=r"'disc' is one kind; give two"):
        small_guide.compare("disc", "Disc")


def test_a_guide_without_marks_opens(small_guide, tmp_path):
    old = copy_guide(small_guide, tmp_path / "old")
    for path in (old.edition / "models").glob("marks.*"):
        path.unlink()
    assert old.marks("disc") is None
    assert old.compare("disc", "stripe").parts == {}
    assert old.find_marks(np.zeros((20, 20, 3), np.uint8), "disc") is None


def spoil(*keys, value):
    def change(settings):
        place = settings
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        spoil("kinds", value=None),
        spoil("kinds", value=[]),
        spoil("kinds", 0, "said", value=[100_000]),
        spoil("kinds", 0, "said", value=["<script>"]),
        spoil("kinds", 0, "enough", value="much"),
        spoil("kinds", 0, "classes", value=[["<script>", 0.5]]),
        spoil("kinds", 0, "patterns", value=[{"picture": "pictures/../../secret.png"}]),
        spoil("columns", value=[]),
        spoil("columns", 0, value=["red", "nowhere", [], ""]),
        spoil("columns", 0, value=["red", "subject", ["mauve"], ""]),
    ],
)
def test_damaged_marks_are_one_sentence(small_guide, tmp_path, change):
    spoilt = copy_guide(small_guide, tmp_path / "spoilt")
    path = spoilt.edition / "models/marks.json"
    settings = json.loads(path.read_text())
    change(settings)
    path.write_text(json.dumps(settings))
    with pytest.raises(GuideError, match=r"^The marks .* cannot be read .*; build the guide again"):
        spoilt.marks("disc")


def test_a_cut_off_file_of_marks_is_one_sentence(small_guide, tmp_path):
    spoilt = copy_guide(small_guide, tmp_path / "spoilt")
    path = spoilt.edition / "models/marks.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(GuideError, match=r"The marks .* cannot be read"):
        spoilt.marks("disc")


def test_what_is_kept_is_what_specimens_show(bugs):
    arrays = load_file(bugs.edition / "models/marks.safetensors")
    part = bugs._models.part("marks")
    assert arrays["shows"].shape[0] == bugs.n_specimens
    place = {column.text: j for j, column in enumerate(part.pool.columns)}
    reds = part.pool.shows[:, place["mostly red"]]
    kinds = np.array([bugs.specimen(i).kind for i in range(bugs.n_specimens)])
    assert reds[kinds == "red bug"].mean() > 0.8
    assert reds[kinds == "blue bug"].mean() == 0


def test_a_guide_without_marks(blobs, tmp_path):
    kinds = ["a", "b"] * 4
    guide = Guide.build(
        Collection.from_arrays(blobs[0][:8], kinds),
        tmp_path / "guide",
        features="deep",
        marks=False,
        n_jobs=1,
    )
    assert guide.marks("a") is None
    assert guide.find_marks(Image.fromarray(blobs[0][0]), "a") is None
    parts = set(guide.identify([blobs[0][0]])[0].parts)
    assert "places" in parts
    assert not parts & {"marks", "walk"}
    assert guide.all_located()  # what decides is another chapter's
    assert guide.locate([blobs[0][0]])[0].kind in ("a", "b")
    assert guide.about["settings"]["marks"] is False

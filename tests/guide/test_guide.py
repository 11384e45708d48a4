import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fieldguide.collection import Collection
from fieldguide.errors import GuideError, UnreadableImageError
from fieldguide.features import WordModel
from fieldguide.guide import Guide
from fieldguide.guide.summaries import choose_exemplars, make_slugs
from fieldguide.terminal.answer_lines import answer_lines


def test_open_gives_back_what_build_made(small_guide, blobs):
    again = Guide.open(small_guide.folder)
    assert again.branches == small_guide.branches
    assert again.kinds == small_guide.kinds
    assert again.identify(blobs[0][:2]) == small_guide.identify(blobs[0][:2])


def test_the_tree_holds_every_specimen_once(small_guide):
    root = small_guide.branches[0]
    assert root.count == small_guide.n_specimens == len(small_guide.members(branch=0))
    for branch in small_guide.branches:
        members = small_guide.members(branch=branch.id)
        assert len(members) == branch.count
        assert branch.count == branch.n_direct + sum(
            small_guide.branches[c].count for c in branch.children
        )
        assert set(branch.exemplars) <= set(members)
        assert sum(n for _, n in branch.kinds) == branch.count
        assert branch.id == 0 or branch.words


def test_kinds_hold_their_specimens(small_guide):
    for kind in small_guide.kinds:
        members = small_guide.specimens(small_guide.members(kind=kind.name))
        assert {s.kind for s in members} == {kind.name}
        assert len(members) == kind.count
        assert kind.recall == np.mean([s.answer == kind.name for s in members])
        assert sum(n for _, n in kind.branches) == kind.count
        assert kind.name not in [name for name, _ in kind.look_alikes]


def test_pictures_of_every_specimen_are_there(small_guide):
    for specimen in small_guide.specimens(range(small_guide.n_specimens)):
        for name in (specimen.thumbnail, specimen.picture):
            with Image.open(small_guide.folder / name) as image:
                assert image.format == "JPEG"
                assert max(image.size) <= 1024


def test_large_pictures_get_a_thumbnail_and_a_view(tmp_path):
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 255, (9, 14, 3), dtype=np.uint8)).resize((1400, 900))
    guide = Guide.build(Collection.from_arrays([image]), tmp_path / "guide", n_jobs=1)
    specimen = guide.specimen(0)
    assert (specimen.width, specimen.height) == (1400, 900)
    for name, size in ((specimen.thumbnail, (256, 165)), (specimen.picture, (1024, 658))):
        with Image.open(guide.folder / name) as written:
            assert written.size == size


def test_neighbours_are_the_nearest_by_brute_force(small_guide):
    rows = np.load(small_guide.edition / "features" / "rows.npy")
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    likeness = rows @ rows.T
    np.fill_diagonal(likeness, -np.inf)
    found = small_guide.neighbours(range(24), n=5)
    expected = np.sort(likeness, axis=1)[:, ::-1][:, :5]
    np.testing.assert_allclose(np.take_along_axis(likeness, found, axis=1), expected, rtol=1e-5)


def test_identify_takes_any_form_of_image(small_guide, blobs, tmp_path):
    image = Image.fromarray(blobs[0][10])
    image.save(tmp_path / "a.png")
    forms = [blobs[0][10], image, tmp_path / "a.png", (tmp_path / "a.png").read_bytes()]
    answers = small_guide.identify(forms)
    assert all(answer == answers[0] for answer in answers)
    assert answers[0].kinds[0][0] == "stripe"
    assert sum(p for _, p in answers[0].kinds) == pytest.approx(1, abs=1e-6)
    assert answers[0].neighbours[0].kind == "stripe"


def test_a_picture_like_no_specimen_is_none_of_these(small_guide, blobs):
    own = small_guide.identify(blobs[0])
    assert sum(answer.none_of_these for answer in own) <= 1
    noise = np.random.default_rng(0).integers(0, 256, (72, 72, 3), dtype=np.uint8)
    stranger = small_guide.identify([noise])[0]
    assert stranger.none_of_these
    assert stranger.to_plain()["none_of_these"] is True
    lines = answer_lines(small_guide, stranger)
    assert lines[0].startswith("perhaps none of these kinds")
    assert lines[1].startswith("if one of them, ")
    assert not answer_lines(small_guide, own[0])[0].startswith("perhaps")


def test_a_group_is_said_of_pictures_of_the_kinds_alone(small_guide, blobs):
    answer = replace(small_guide.identify([blobs[0][10]])[0], group=("stripe", "disc"))
    said = "Nine times in ten it is stripe or disc."
    assert said in answer_lines(small_guide, answer)
    for name in ("none_of_these", "nothing_to_see"):
        lines = answer_lines(small_guide, replace(answer, **{name: True}))
        assert lines[0].startswith("perhaps")
        assert lines[1].startswith("if one of them, stripe")
        assert said not in lines


def test_an_empty_picture_is_one_in_a_guide_without_kinds(small_guide, blobs):
    answer = small_guide.identify([blobs[0][10]])[0]
    empty = replace(answer, kinds=(), path=None, parts={}, nothing_to_see=True)
    assert answer_lines(small_guide, empty)[0].startswith("perhaps nothing to see: ")


def test_identify_refuses_what_is_no_image(small_guide, tmp_path):
    (tmp_path / "a.png").write_bytes(b"no")
    with pytest.raises(UnreadableImageError, match=r"a\.png' cannot be used: not an image"):
        small_guide.identify([tmp_path / "a.png"])
    with pytest.raises(UnreadableImageError, match="not an image"):
        small_guide.identify([b"no"])
    with pytest.raises(UnreadableImageError, match="shape"):
        small_guide.identify([np.zeros(3)])


def test_words_of_a_specimen_are_those_of_the_catalogue(small_guide):
    counts = dict.fromkeys((word for word, _, _ in small_guide.words), 0)
    around = {name for name, source in small_guide.sources.items() if source in WordModel.AROUND}
    for i in range(small_guide.n_specimens):
        found = small_guide.words_of(i)
        assert list(found) == sorted(found, key=lambda w: (w[0] in around, -w[1]))
        assert all(score >= 0.5 for _, score in found)
        for word, _ in small_guide.words_of(i):
            counts[word] += 1
    assert counts == {word: n for word, n, _ in small_guide.words}


def test_sentences_and_text(small_guide):
    assert small_guide.sentence(0) == "the whole collection"
    text = small_guide.describe()
    assert text.splitlines()[0] == "shapes (24)"
    assert len(text.splitlines()) == len(small_guide.branches)
    assert len(small_guide.describe(max_depth=0).splitlines()) == 1


def test_a_specimen_that_is_not_there(small_guide):
    with pytest.raises(KeyError, match="no specimen 99"):
        small_guide.specimen(99)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda g: shutil.rmtree(g), "There is no guide"),
        (lambda g: (g / "guide.json").unlink(), "is not a guide: it has no guide.json"),
        (lambda g: (g / "guide.json").write_text("{"), "is damaged; build the guide again"),
        (
            lambda g: (g / "guide.json").write_text('{"format": 99}'),
            "has format 99 and this version",
        ),
        (
            lambda g: (g / "editions/1/catalogue.sqlite").write_bytes(
                b"SQLite format 3\0" + b"x" * 99
            ),
            "catalogue",
        ),
        (lambda g: (g / "editions/1/catalogue.sqlite").unlink(), "catalogue"),
        (
            lambda g: (g / "editions/1/features/rows.npy").write_bytes(b"\x93NUMPY"),
            "cannot be read",
        ),
        (
            lambda g: np.save(g / "editions/1/features/rows.npy", np.zeros((2, 2), np.float32)),
            "does not fit",
        ),
        (
            lambda g: np.save(g / "editions/1/features/rows.npy", np.array([{}], object)),
            "cannot be read",
        ),
        (
            lambda g: (g / "editions/1/models/key.safetensors").write_bytes(b"\xff" * 99),
            "key .* cannot be read",
        ),
        (
            lambda g: (g / "editions/1/models/key.json").write_text('{"type": "os.system"}'),
            "key .* cannot be read",
        ),
        (
            lambda g: (g / "editions/1/models/key.json").write_text(
                '{"saved": 1, "model": {"class": "os.system", "parameters": {}, "fitted": {}}}'
            ),
            r"key .* cannot be read \(class of key must be one of .* got 'os.system'",
        ),
        (
            lambda g: (g / "editions/1/models/key.json").write_text("[" * 100_000),
            "key .* cannot be read",
        ),
        (lambda g: (g / "editions/1/models/words.json").write_text("[]"), "build the guide again"),
    ],
)
def test_a_damaged_guide_is_refused_with_a_sentence(small_guide, blobs, tmp_path, damage, message):
    copy = tmp_path / "guide"
    shutil.copytree(small_guide.folder, copy)
    damage(copy)
    with pytest.raises(GuideError, match=message):
        Guide.open(copy).identify(blobs[0][:1])


def test_no_file_of_a_guide_names_a_path_of_the_machine(small_guide):
    for path in small_guide.folder.rglob("*"):
        if path.is_file() and path.suffix != ".jpg":
            assert str(small_guide.folder.parent).encode() not in path.read_bytes()
    assert json.loads((small_guide.folder / "guide.json").read_text())["source"] == "shapes"


@given(st.lists(st.text(max_size=20), unique=True, max_size=30))
def test_slugs_are_unique_and_safe(names):
    slugs = make_slugs(names)
    assert len(set(slugs)) == len(names)
    assert all(slug.isascii() and slug.replace("-", "").isalnum() for slug in slugs)


@settings(deadline=None)
@given(n=st.integers(1, 30), wanted=st.integers(1, 12), seed=st.integers(0, 99))
def test_exemplars_are_different_members(n, wanted, seed):
    X = np.random.default_rng(seed).normal(size=(50, 4)).astype(np.float32)
    ids = np.random.default_rng(seed).permutation(50)[:n]
    chosen = choose_exemplars(X, ids, wanted)
    assert len(chosen) == len(set(chosen)) == min(n, wanted)
    assert set(chosen) <= set(ids.tolist())

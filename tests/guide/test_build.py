import os

import numpy as np
import pytest
from PIL import Image
from tests.children import run_in_child
from tests.guide.contents import contents
from tests.guide.killed_build import check_killed_build

from fieldguide.collection import Collection
from fieldguide.errors import CollectionError, GuideError
from fieldguide.guide import Guide, build
from fieldguide.guide.build import StepClock

PLAIN = {"features": "deep", "marks": False, "places": False}


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory) -> Guide:
    return Guide.build(folder, tmp_path_factory.mktemp("whole") / "guide", n_jobs=1, **PLAIN)


def test_a_guide_of_a_folder(whole):
    assert whole.n_specimens == 24
    assert [kind.name for kind in whole.kinds] == ["disc", "square", "stripe"]
    assert whole.about["accuracy"] > 0.9
    assert [(f.path, f.reason[:12]) for f in whole.unreadable] == [("disc/bad.jpg", "not an image")]
    assert sorted(os.listdir(whole.folder)) == ["editions", "guide.json", "pictures"]
    assert os.listdir(whole.folder / "editions") == ["1"]


@pytest.mark.parametrize(
    ("step", "after"),
    [
        ("reading images", 0),
        ("reading images", 9),
        ("reading images", 25),
        ("growing the tree", 0),
        ("writing the guide", 0),
    ],
)
def test_a_killed_build_goes_on_to_the_same_guide(folder, whole, tmp_path, step, after):
    check_killed_build(folder, whole, tmp_path / "guide", step, after, "reading images", **PLAIN)


def test_a_second_build_reads_only_what_changed(blobs, tmp_path, decoded):
    root, out = tmp_path / "images", tmp_path / "guide"
    for kind in ("a", "b"):
        (root / kind).mkdir(parents=True)
    for i, image in enumerate(blobs[0][:12]):
        Image.fromarray(image).save(root / "ab"[i % 2] / f"{i}.png")
    (root / "a" / "bad.png").write_bytes(b"no")
    Guide.build(root, out, n_jobs=1, **PLAIN)

    decoded.clear()
    Guide.build(root, out, n_jobs=1, **PLAIN)
    assert decoded == []

    (root / "a" / "0.png").unlink()
    Image.fromarray(blobs[0][20]).save(root / "b" / "new.png")
    Image.fromarray(blobs[0][21]).save(root / "a" / "2.png")
    guide = Guide.build(root, out, n_jobs=1, **PLAIN)
    assert sorted(decoded) == ["a/2.png", "b/new.png"]
    fresh = Guide.build(root, tmp_path / "fresh", n_jobs=1, **PLAIN)
    assert contents(guide.folder) == contents(fresh.folder)


def test_nothing_is_written_into_the_folder_of_images(folder, tmp_path):
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    Guide.build(folder, tmp_path / "guide", n_jobs=1, **PLAIN)
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*")} == before
    for inside in (folder, folder / "guide", folder / "disc" / "deep" / "guide"):
        with pytest.raises(GuideError, match="would be written into the folder of images"):
            Guide.build(folder, inside)


def test_other_folders_are_left_alone(folder, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "will.txt").write_text("mine")
    with pytest.raises(GuideError, match="holds other files"):
        Guide.build(folder, tmp_path / "letters")
    with pytest.raises(GuideError, match="is a file"):
        Guide.build(folder, tmp_path / "letters" / "will.txt")


def test_two_builds_at_once_are_refused(folder, tmp_path):
    out = tmp_path / "guide"
    refused = []

    def meanwhile(step, done, total):
        if step == "reading images" and done and not refused:
            refused.append(run_in_child(build_to_no_avail, folder, out))

    Guide.build(folder, out, n_jobs=1, progress=meanwhile, **PLAIN)
    assert refused == [0]


def build_to_no_avail(folder, out) -> None:
    with pytest.raises(GuideError, match="Another build is writing to"):
        Guide.build(folder, out)


def test_folders_without_a_usable_image_are_one_clear_error(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CollectionError, match="There is no image in 'empty'"):
        Guide.build(tmp_path / "empty", tmp_path / "guide")
    (tmp_path / "empty" / "a.jpg").write_bytes(b"no")
    with pytest.raises(CollectionError, match=r"None of the 1 files .* can be used \(a\.jpg: not"):
        Guide.build(tmp_path / "empty", tmp_path / "guide")


@pytest.mark.parametrize("kinds", [None, ["a"] * 5, list("abcde"), ["a", "a", "b", None, None]])
def test_any_labels_make_a_guide(blobs, tmp_path, kinds):
    guide = Guide.build(Collection.from_arrays(blobs[0][:5], kinds), tmp_path / "guide", n_jobs=1)
    known = sorted({k for k in kinds or [] if k})
    assert [kind.name for kind in guide.kinds] == known
    answer = guide.identify([blobs[0][0]])[0]
    assert bool(answer.kinds) == (len(known) >= 2)
    assert guide.summary


def test_one_image_is_enough(blobs, tmp_path):
    guide = Guide.build(Collection.from_arrays(blobs[0][:1]), tmp_path / "guide", n_jobs=1)
    assert guide.n_specimens == 1
    assert guide.neighbours([0]).shape == (1, 0)
    assert guide.identify([blobs[0][1]])[0].neighbours[0].id == 0


def test_the_guide_does_not_depend_on_the_number_of_threads(small_guide, threaded_guide):
    assert contents(small_guide.folder) == contents(threaded_guide.folder)


def test_owner_words_reach_the_tree(blobs, tmp_path):
    attributes = np.zeros((24, 2))
    attributes[:8, 0] = 1
    attributes[8:, 1] = np.nan
    attributes[8:16, 1] = 1
    collection = Collection.from_arrays(
        blobs[0], attributes=attributes, attribute_names=["winged", "striped coat"]
    )
    guide = Guide.build(collection, tmp_path / "guide", n_jobs=1, **PLAIN)
    assert {"winged", "striped coat"} <= {w for b in guide.branches for w in b.words}


def test_a_changed_caption_counts_though_no_image_is_read_again(blobs, tmp_path, monkeypatch):
    root, out = tmp_path / "images", tmp_path / "guide"
    (root / "2020").mkdir(parents=True)
    for i, image in enumerate(blobs[0][:12]):
        Image.fromarray(image).save(root / "2020" / f"{i:02d}.png")
    for i in range(3):
        (root / f"{i}.xml").write_text("<a/>")
    found = []
    for word in ("herons", "coots"):
        for i in range(5):
            (root / "2020" / f"{i:02d}.txt").write_text(f"A few {word} in 2020.")
        guide = Guide.build(root, out, n_jobs=1, **PLAIN)
        found.append({w: n for w, n, _ in guide.words if w in ("herons", "coots")})
        monkeypatch.setattr(Collection, "picture", None)  # what is read again would fail
    assert found == [{"herons": 5}, {"coots": 5}]
    assert guide.about["n_captions"] == 5
    assert guide.about["other_files"] == {".xml": 3}
    assert guide.about["kinds_because"].startswith("No folder names a kind: dates (2020). ")
    assert guide.about["kinds_because"].endswith("branches of the tree: found, and not given.")
    assert guide.about["kinds_from"] == "branches"
    assert guide.unreadable == ()


def test_a_changed_sidecar_counts_though_no_image_changed(blobs, tmp_path):
    root, out, sidecar = tmp_path / "images", tmp_path / "guide", tmp_path / "table.csv"
    root.mkdir()
    for i, image in enumerate(blobs[0][:12]):
        Image.fromarray(image).save(root / f"{i:02d}.png")
    found = []
    for word in ("tide pool", "heath"):
        rows = [f"{i:02d}.png,{word if i < 5 else ''}" for i in range(12)]
        sidecar.write_text("\n".join(["path,keywords", *rows]))
        guide = Guide.build(Collection.from_folder(root, sidecar=sidecar), out, n_jobs=1, **PLAIN)
        found.append({w for w, _, _ in guide.words} & {"tide pool", "heath"})
    assert found == [{"tide pool"}, {"heath"}]


def test_a_step_that_is_named_again_goes_on(monkeypatch):
    moments = iter([0.0, 2.0, 2.0, 5.0, 5.0, 9.0])
    monkeypatch.setattr(build.time, "monotonic", lambda: next(moments))
    shown = []
    clock = StepClock(lambda *told: shown.append(told))
    clock("reading images", 0, 2)
    clock("reading images", 1, 2)
    clock("growing the tree", 0, 1)
    clock("reading images", 2, 2)
    assert clock.stop() == {"reading images": 6.0, "growing the tree": 3.0}
    assert [step for step, _, _ in shown] == [
        *2 * ["reading images"],
        "growing the tree",
        "reading images",
    ]

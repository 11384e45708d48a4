"""Images that are added to a guide, and the key that learns their kinds."""

import json
import os
import pickle
import shutil
import signal

import numpy as np
import pytest
from PIL import Image
from tests.children import run_in_child
from tests.guide.contents import contents, everything

from fieldguide.collection import Collection
from fieldguide.errors import CollectionError, GuideError
from fieldguide.guide import Guide
from fieldguide.guide.adding import join_collections
from fieldguide.guide.owner import open_owned

PLAIN = {"features": "deep", "marks": False, "places": False, "n_jobs": 1}
TREE = {**PLAIN, "key": "attention"}
WORDED = {**PLAIN, "key": "relaxed", "key_words": True}


def draw_more(seed=0, n_per_kind=8, size_px=72):
    """Two kinds that the blobs do not have: rings, and fields of dots."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size_px, :size_px] / size_px
    for kind in ("ring", "dots"):
        for i in range(n_per_kind):
            x, y = rng.uniform(0.4, 0.6, 2)
            away = np.hypot(xx - x, yy - y)
            ring = (away > 0.2) & (away < 0.3)
            mask = ring if kind == "ring" else np.sin(xx * 40) * np.sin((yy + y) * 40) > 0.3
            back, front = rng.integers(120, 250, 3), rng.integers(0, 110, 3)
            yield kind, i, np.where(mask[..., None], front, back).astype(np.uint8)


@pytest.fixture(scope="module")
def more(tmp_path_factory):
    """A folder of two new kinds, with a file that is no picture, a caption and a text."""
    root = tmp_path_factory.mktemp("more")
    for kind, i, image in draw_more():
        (root / kind).mkdir(exist_ok=True)
        Image.fromarray(image).save(root / kind / f"{i:02d}.png")
    (root / "ring" / "bad.jpg").write_bytes(b"\xff\xd8\xff and no more")
    (root / "ring" / "00.txt").write_text("round, golden")
    (root / "notes.xml").write_text("<notes/>")
    return root


@pytest.fixture(scope="module")
def first(folder, tmp_path_factory):
    """The folder of three kinds with captions, and the guide of it, whose key is a tree."""
    root = tmp_path_factory.mktemp("first")
    shutil.copytree(folder, root / "images")
    (root / "images" / "disc" / "01.txt").write_text("round, flat")
    (root / "images" / "read.me").write_text("x")
    Guide.build(root / "images", root / "guide", **TREE)
    return root


@pytest.fixture
def guide(first, tmp_path) -> Guide:
    """A guide to add to; its images are not beside it."""
    shutil.copytree(first / "guide", tmp_path / "guide")
    return Guide.open(tmp_path / "guide")


@pytest.fixture
def merged(first, more, tmp_path):
    """Both folders in one."""
    shutil.copytree(first / "images", tmp_path / "merged")
    shutil.copytree(more, tmp_path / "merged", dirs_exist_ok=True)
    return tmp_path / "merged"


def test_a_part_that_travels_has_pictures_of_both(guide, more):
    new = Collection.from_folder(more)
    both = join_collections(guide.folder, guide.edition, guide.about, new)
    indices = [len(both) - 1, 0, len(both) // 2, 5]
    part = pickle.loads(pickle.dumps(both.part(indices)))
    assert len({both.items[i].path in both.rows for i in indices}) == 2
    for k, i in enumerate(indices):
        (picture, digest), (other, same) = part.picture(k), both.picture(i)
        assert digest == same
        np.testing.assert_array_equal(picture.image, other.image)
        assert (part.items[k], part.taken(k)) == (both.items[i], both.taken(i))


@pytest.fixture(scope="module")
def added(first, more, tmp_path_factory) -> Guide:
    out = tmp_path_factory.mktemp("added") / "guide"
    shutil.copytree(first / "guide", out)
    return Guide.open(out).add(more, n_jobs=2)


def read_key(guide):
    return guide._models.key


def test_the_key_learns_new_kinds_and_nothing_else(first, added, more):
    before = Guide.open(first / "guide")
    assert [kind.name for kind in added.kinds] == ["disc", "dots", "ring", "square", "stripe"]
    assert added.n_specimens == before.n_specimens + 16
    growth = added.about["growth"]
    assert growth["because"] == "The key learnt 2 new kinds without being trained again."
    assert growth["kinds"] == ["dots", "ring"]
    assert added.about["accuracy"] == before.about["accuracy"]
    assert "It has learnt 2 kinds since, without being trained again" in added.verdict
    old, new = read_key(before), read_key(added)
    n = old.graph_.n_nodes
    np.testing.assert_array_equal(new.graph_.functions.coef[:n], old.graph_.functions.coef[:n])
    flat = new.graph_.functions.coef[new.graph_.n_nodes :]
    places = np.searchsorted(new.classes_, old.classes_)
    np.testing.assert_array_equal(flat[places], old.graph_.functions.coef[n:])
    said = {each.path: (each.answer, each.confidence) for each in added.specimens(range(40))}
    for each in before.specimens(range(24)):
        assert said[each.path] == (each.answer, each.confidence)
    new = [each for each in added.specimens(range(40)) if each.kind in growth["kinds"]]
    assert growth["n_specimens"] == len(new) == 16
    assert growth["accuracy"] == np.mean([each.answer == each.kind for each in new]) > 0.7
    assert all(each.answer is not None and each.confidence is not None for each in new)
    assert added.identify([more / "ring" / "03.png"])[0].kinds[0].name == "ring"
    assert [file.path for file in added.unreadable] == ["disc/bad.jpg", "ring/bad.jpg"]
    assert added.couplets


def test_it_is_the_guide_that_a_build_of_both_folders_makes(guide, merged, more, tmp_path):
    """Byte by byte: measurements, words, captions, counts, the tree and the key."""
    shutil.copytree(guide.folder, tmp_path / "built")
    built = Guide.build(merged, tmp_path / "built", title=guide.title, **TREE)
    assert built.about["growth"]["kinds"] == ["dots", "ring"]
    mine, its = contents(guide.add(more, n_jobs=1).folder), contents(built.folder)
    assert its["info"].pop("source") == "merged"
    assert mine["info"].pop("source") == "images"
    assert mine == its
    again = Guide.build(merged, tmp_path / "built", title=guide.title, **TREE)
    assert "growth" not in again.about  # there is no new kind: it is trained with all


def test_the_number_of_threads_does_not_matter(guide, added, more):
    assert contents(guide.add(more, n_jobs=1).folder) == contents(added.folder)


def test_kinds_that_come_one_after_the_other(guide, more, tmp_path):
    """A folder named after its kind, twice; the first is still known to be no part of the fit."""
    one = guide.add(more / "ring", n_jobs=1)
    assert one.about["growth"]["because"] == (
        "The key learnt a new kind without being trained again."
    )
    assert {each.path for each in one.specimens(one.members(kind="ring"))} == {
        f"ring/{i:02d}.png" for i in range(8)
    }
    of_ring = [each.answer for each in one.specimens(one.members(kind="ring"))]
    two = one.add(more, n_jobs=1)
    assert two.about["growth"]["kinds"] == ["dots", "ring"]
    assert two.about["growth"]["n_specimens"] == 16
    assert "learnt a new kind without" in two.about["growth"]["because"]
    assert [each.answer for each in two.specimens(two.members(kind="ring"))] == of_ring
    owned = open_owned(two.edition, two.n_specimens)
    words = {
        each.path: said
        for each, said in zip(two.specimens(range(40)), owned.keywords, strict=True)
        if said
    }
    assert words == {"disc/01.png": ("round", "flat"), "ring/00.png": ("round", "golden")}


def add_and_die(folder, more, step) -> None:
    def die(name, done, total):
        if name == step and done:
            os.kill(os.getpid(), signal.SIGKILL)

    Guide.open(folder).add(more, n_jobs=2, progress=die)


@pytest.mark.parametrize("step", ["reading images", "teaching the key new kinds", "done"])
def test_a_killed_add_leaves_the_guide_and_goes_on(guide, added, first, more, step):
    assert run_in_child(add_and_die, guide.folder, more, step) == -signal.SIGKILL
    if step != "done":
        assert contents(guide.folder) == contents(first / "guide")
        again = guide.reopen().add(more, n_jobs=1)
        assert not (again.folder / "build.journal").exists()
    assert contents(guide.folder) == contents(added.folder)


def test_any_other_key_is_trained_again(folder, more, merged, tmp_path):
    guide = Guide.build(merged.parent / "merged", tmp_path / "fresh", **WORDED)
    shutil.rmtree(merged / "ring")
    shutil.rmtree(merged / "dots")
    old = Guide.build(merged, tmp_path / "old", **WORDED, title="merged")
    shutil.rmtree(merged)
    grown = old.add(more, n_jobs=2)
    mine, its = contents(grown.folder), contents(guide.folder)
    assert its["info"]["settings"]["key_words"]
    because = mine["info"].pop("growth")["because"]
    assert because == (
        "The key was trained again: RelaxedHierarchyClassifier cannot learn kinds without that, "
        "only an attention tree can."
    )
    mine["info"].pop("other_files"), its["info"].pop("other_files")
    assert mine == its


def test_a_guide_without_kinds_gets_some(blobs, more, tmp_path):
    guide = Guide.build(Collection.from_arrays(blobs[0][:8]), tmp_path / "guide", **TREE)
    one = guide.add(more / "ring", n_jobs=1)
    assert one.about["growth"]["because"] == "The guide had no key that could learn new kinds."
    assert one.about["settings"]["key"] is None
    two = one.add(more, n_jobs=1)
    assert [kind.count for kind in two.kinds] == [8, 8]
    assert {each.answer for each in two.specimens(range(8))} <= {"dots", "ring"}


def test_more_pictures_of_a_known_kind(guide, more, tmp_path):
    shutil.copytree(more / "ring", tmp_path / "new" / "disc" / "side")
    grown = guide.add(tmp_path / "new", n_jobs=1, kinds="top")
    assert grown.about["growth"] == {
        "because": "The key was trained again: there are new pictures of kinds that it knows "
        "already ('disc')."
    }
    assert grown.kind("disc").count == 16
    assert "since" not in grown.verdict


def test_a_build_whose_old_specimens_changed_trains_the_key(guide, merged, first):
    (merged / "disc" / "01.png").unlink()
    built = Guide.build(merged, guide.folder, **TREE)
    assert "growth" not in built.about
    shutil.rmtree(guide.folder)
    shutil.copytree(first / "guide", guide.folder)
    assert "growth" not in Guide.build(merged, guide.folder, **TREE, seed=1).about


@pytest.mark.parametrize("name", ["key_plan", "key"])
def test_a_damaged_key_is_trained_again(guide, more, name):
    (guide.edition / "models" / f"{name}.safetensors").write_bytes(b"no")
    assert "damaged" in guide.add(more / "ring", n_jobs=1).about["growth"]["because"]


def test_a_plan_of_other_specimens_is_not_believed(guide, more):
    path = guide.edition / "models" / "key_plan.json"
    plan = json.loads(path.read_text())
    plan["model"]["counts"]["csr_array"]["shape"][1] += 1
    path.write_text(json.dumps(plan))
    assert "plan is damaged" in guide.add(more / "ring", n_jobs=1).about["growth"]["because"]


def test_attributes_of_the_owner_stay(blobs, more, tmp_path):
    """New specimens have none, and detectors say what they show."""
    images, kinds = blobs
    attributes = np.array([[kind == "disc", kind != "stripe"] for kind in kinds], dtype=float)
    attributes[3, 1] = np.nan
    collection = Collection.from_arrays(
        images, kinds, attributes=attributes, attribute_names=["round", "solid"], name="shapes"
    )
    guide = Guide.build(collection, tmp_path / "guide", **TREE)
    before = open_owned(guide.edition, 24)
    grown = guide.add(more, n_jobs=1)
    after = open_owned(grown.edition, 40)
    assert after.names == before.names == ("round", "solid")
    is_new = np.array([each.kind in ("ring", "dots") for each in grown.specimens(range(40))])
    np.testing.assert_array_equal(after.attributes[~is_new], before.attributes)
    assert np.isnan(after.attributes[is_new]).all()
    assert grown.sources["round"] == "annotation"


def test_visual_words_stay_at_home_where_they_were(folder, more, tmp_path):
    """Their kinds are those of pictures which have other numbers now, or are gone."""
    settings = {"features": "words+color", "marks": False, "places": False, "n_jobs": 1}
    guide = Guide.build(folder, tmp_path / "guide", **settings)
    words = guide.visual_words
    assert any(word.kinds for word in words)
    shutil.copytree(more / "ring", tmp_path / "a kind that comes first")
    assert guide.add(tmp_path / "a kind that comes first", n_jobs=1).visual_words == words
    few = tmp_path / "few"
    shutil.copytree(folder / "stripe", few / "stripe")
    left = {
        kind
        for word in Guide.build(few, guide.folder, **settings).visual_words
        for kind in word.kinds
    }
    assert {name for name, _ in left} <= {"stripe"}


def test_marks_and_places_are_of_all_kinds(folder, more, tmp_path):
    """Old exemplars are decoded again only where another function decides on them now."""
    settings = {"features": "deep", "key": "attention", "n_jobs": 1}
    guide = Guide.build(folder, tmp_path / "guide", **settings)
    before = {each.path: found for each, found in guide.all_located()}
    grown = guide.add(more, n_jobs=1)
    after = {each.path: found for each, found in grown.all_located()}
    assert {path.split("/")[0] for path in after} >= {"ring", "dots"}
    same = [path for path in before if path in after and after[path] == before[path]]
    assert same
    assert all(grown.marks(kind.name) is not None for kind in grown.kinds)


def test_what_cannot_be_added(guide, first, more, tmp_path):
    before = everything(guide.folder)

    def refuse(folder, sentence, error=CollectionError, **options):
        with pytest.raises(error, match=sentence):
            guide.add(folder, n_jobs=1, **options)

    (tmp_path / "empty").mkdir()
    refuse(tmp_path / "none", "There is no folder")
    refuse(tmp_path / "empty", "There is no image in 'empty'")
    refuse(more / "ring" / "00.png", "is a file; give the folder")
    refuse(more, "kinds of fieldguide add must be", ValueError, kinds="none")
    refuse(guide.folder / "pictures", "inside the folder for the guide", GuideError)
    refuse(tmp_path, "written into the folder of images", GuideError)
    refuse(first / "images", "The guide knows all 25 images in 'images' already")
    assert everything(guide.folder) == before
    bad = tmp_path / "bad" / "owl"
    bad.mkdir(parents=True)
    (bad / "1.png").write_bytes(b"\x89PNG no")
    refuse(tmp_path / "bad", r"none of the new images can be read \(1; owl/1.png: ")
    assert contents(guide.folder) == contents(first / "guide")
    shutil.copytree(more / "ring", tmp_path / "other" / "disc")
    refuse(tmp_path / "other", "has a specimen 'disc/00.png' already, and the image of that name")
    lost = guide.specimen(3)
    (guide.folder / lost.picture).unlink()
    refuse(more, "has lost the picture", GuideError)


def test_the_same_images_elsewhere_are_passed_over(guide, first, more, tmp_path):
    """They have the same content, though not the time of the first ones."""
    shutil.copytree(more / "ring", tmp_path / "new" / "ring")
    shutil.copytree(first / "images" / "disc", tmp_path / "new" / "disc")
    for path in (tmp_path / "new" / "disc").iterdir():
        os.utime(path)
    (tmp_path / "new" / "disc" / "bad.jpg").unlink()
    grown = guide.add(tmp_path / "new", n_jobs=1)
    assert "without being trained again" in grown.about["growth"]["because"]
    assert grown.n_specimens == guide.n_specimens + 8


def test_guides_of_an_earlier_version_say_what_to_do(guide, more):
    path = guide.folder / "guide.json"
    info = json.loads(path.read_text())
    path.write_text(json.dumps(info | {"measure_settings": "1 net 80000000"}))
    with pytest.raises(GuideError, match="measured by another version"):
        guide.add(more)
    path.write_text(json.dumps(info))
    for suffix in ("json", "safetensors"):
        (guide.edition / "models" / f"owner.{suffix}").unlink()
    with pytest.raises(GuideError, match="run the same 'fieldguide build' once more, then add"):
        guide.add(more)

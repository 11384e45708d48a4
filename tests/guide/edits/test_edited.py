"""What edits do to an opened guide at once, and to the next build."""

import json
import random
import shutil

import numpy as np
import pytest
from PIL import Image
from tests.guide.contents import contents
from tests.guide.edits.conftest import QUICK

from fieldguide.collection import Collection
from fieldguide.errors import CollectionError, EditError
from fieldguide.guide import Guide
from fieldguide.guide.edits import FILE_NAME
from fieldguide.site import Renderer, export_site

DISC = "disc/000000.png"


def counts(guide):
    return {kind.name: kind.count for kind in guide.kinds}


def all_pages(guide):
    return dict(Renderer(guide, live=False).pages())


def test_without_edits_a_guide_is_what_it_was(edited, rebuild, flat_guide):
    before = contents(flat_guide.folder)
    assert all_pages(edited) == all_pages(flat_guide)
    after = contents(rebuild(edited).folder)
    assert {k: v for k, v in after.items() if k != "info"} == {
        k: v for k, v in before.items() if k != "info"
    }
    assert "edits" not in after["info"]
    assert not (edited.folder / FILE_NAME).exists()


def test_a_corrected_kind_shows_at_once_and_trains_the_next_key(edited, rebuild):
    edited.edits.add("kind", DISC, "square", note="look at its corners")
    assert edited.specimen(0).kind == "square"
    assert counts(edited) == {"disc": 7, "square": 9, "stripe": 8}
    assert 0 in edited.members(kind="square")
    assert 0 not in edited.members(kind="disc")
    assert edited.find("kind:square").total == 9
    doubted = [find.specimen.id for find in edited.find("doubt", limit=None).finds]
    assert (0 in doubted) == (edited.specimen(0).answer != "square")
    assert [edit.number for edit in edited.edits.waiting] == [1]
    built = rebuild(edited)
    assert counts(built) == {"disc": 7, "square": 9, "stripe": 8}
    assert built.about["fingerprint"] != edited.about["fingerprint"]
    assert built.edits.waiting == ()
    key = built._models.key
    assert key.held_out_ is not None
    assert built._plain.register()[0][2] == "square"  # the label, without the overlay


def test_a_specimen_may_be_of_a_new_kind_or_of_none(edited, rebuild):
    edited.edits.add("kind", DISC, "ring")
    edited.edits.add("kind", "disc/000001.png", "")
    assert counts(edited) == {"disc": 6, "ring": 1, "square": 8, "stripe": 8}
    assert edited.kind("ring").exemplars == (0,)
    assert edited.specimen(1).kind is None
    assert all_pages(edited)["kind/ring.html"]
    built = rebuild(edited)
    assert counts(built) == counts(edited)


def test_an_excluded_specimen_is_gone_from_every_list(edited, rebuild, tmp_path):
    edited.edits.add("exclude", DISC)
    picture = edited.specimen(0).picture
    assert edited.n_shown == 23
    assert edited.branches[0].count == 23
    assert counts(edited)["disc"] == 7
    assert all(0 not in branch.exemplars for branch in edited.branches)
    assert 0 not in edited.neighbours([1, 2, 3], n=20)
    assert 0 not in [find.specimen.id for find in edited.find("not striped", limit=None).finds]
    pages = all_pages(edited)
    assert "specimen/0.html" not in pages
    assert not [address for address, page in pages.items() if picture in page]
    site = export_site(edited, tmp_path / "site").parent
    assert not (site / picture).exists()
    built = rebuild(edited)
    assert built.n_specimens == 23
    assert built.about["n_excluded"] == 1
    assert DISC not in {s.path for s in built.specimens(range(23))}
    built.edits.undo()
    assert built.edits.waiting
    again = rebuild(built)
    assert again.n_specimens == 24
    assert "n_excluded" not in again.about


def test_excluded_images_are_not_measured_again(folder, tmp_path):
    guide = Guide.build(Collection.from_folder(folder), tmp_path / "guide", **QUICK)
    guide.edits.add("exclude", "disc/00.png")
    for _ in range(2):
        steps = []
        guide = Guide.build(
            Collection.from_folder(folder),
            tmp_path / "guide",
            progress=lambda *step: steps.append(step),  # noqa: B023
            **QUICK,
        )
        reading = [step for step in steps if step[0] == "reading images"]
        assert reading == [("reading images", 25, 25)]
        assert guide.n_specimens == 23


def test_a_guide_of_nothing_is_refused(tmp_path):
    pictures = np.zeros((1, 32, 32, 3), dtype=np.uint8)
    collection = Collection.from_arrays(pictures)
    guide = Guide.build(collection, tmp_path, **QUICK)
    guide.edits.add("exclude", "0")
    with pytest.raises(CollectionError, match="All 1 images in 'images' are excluded by edits"):
        Guide.build(collection, tmp_path, **QUICK)


def test_edits_follow_a_file_that_was_moved(folder, tmp_path):
    images = tmp_path / "images"
    shutil.copytree(folder, images)
    guide = Guide.build(Collection.from_folder(images), tmp_path / "guide", **QUICK)
    guide.edits.add("kind", "disc/03.png", "ring")
    guide.edits.add("exclude", "disc/04.png")
    (images / "disc" / "03.png").rename(images / "disc" / "a new name.png")
    (images / "disc" / "04.png").rename(images / "square" / "moved.png")
    Image.new("RGB", (60, 60), "teal").save(images / "disc" / "04.png")  # another picture
    built = Guide.build(Collection.from_folder(images), tmp_path / "guide", **QUICK)
    kinds = {s.path: s.kind for s in built.specimens(range(built.n_specimens))}
    assert kinds["disc/a new name.png"] == "ring"
    assert "square/moved.png" not in kinds
    assert kinds["disc/04.png"] == "disc"


def test_merged_kinds_are_one(edited, rebuild, blobs):
    image = blobs[0][0]
    before = {kind.name: kind.probability for kind in edited.identify([image])[0].kinds}
    edited.edits.add("merge", "kind:disc", "stripe")
    assert counts(edited) == {"square": 8, "stripe": 16}
    assert edited.shown_name("disc") == "stripe"
    answer = edited.identify([image])[0]
    assert answer.kinds[0].name == "stripe"
    assert answer.kinds[0].probability == pytest.approx(before["disc"] + before["stripe"])
    assert all_pages(edited)
    edited.edits.add("rename", "kind:stripe", "Banded")
    assert {kind.shown for kind in edited.kinds} == {"square", "Banded"}
    built = rebuild(edited)
    assert counts(built) == {"Banded": 16, "square": 8}


def test_a_chain_of_merges_and_names_ends_at_the_last(edited, rebuild):
    edited.edits.add("merge", "kind:disc", "stripe")
    edited.edits.add("rename", "kind:stripe", "disc")  # the first name is free again
    assert {kind.shown: kind.count for kind in edited.kinds} == {"disc": 16, "square": 8}
    edited.edits.add("merge", "kind:disc", "square")
    assert {kind.shown: kind.count for kind in edited.kinds} == {"square": 24}
    assert counts(rebuild(edited)) == {"square": 24}


def test_a_renamed_branch_keeps_its_name_when_it_comes_back(edited, rebuild):
    branch = edited.find_branch("upright lines")
    edited.edits.add("rename", f"branch:{branch}", "ladders")
    assert edited.branches[branch].words == ("ladders",)
    assert edited.sentence(branch) == "ladders"
    edited.edits.add("exclude", "stripe/000008.png")  # so that the next tree is another
    edited.edits.add("kind", DISC, "square")
    built = rebuild(edited)
    held = set(built.members(branch=built.find_branch("ladders")).tolist())
    assert {built.specimen(i).kind for i in held} == {"stripe"}


def test_the_whole_collection_is_not_hidden_by_a_line_from_elsewhere(edited):
    line = {"number": 1, "verb": "hide", "target": {"branch": "", "count": 8}}
    (edited.folder / FILE_NAME).write_text(json.dumps(line) + "\n")
    opened = Guide.open(edited.folder)
    assert not opened.overlay.hidden
    assert opened.branches[0].count == edited.branches[0].count


def test_a_hidden_branch_leaves_its_specimens_to_the_one_above(edited, rebuild):
    branch = edited.find_branch("upright lines")
    held = edited.members(branch=branch)
    edited.edits.add("hide", f"branch:{branch}")
    assert branch not in edited.branches[0].children
    assert edited.branches[0].n_direct == len(held)
    assert {each.branch for each in edited.specimens(held)} == {0}
    pages = all_pages(edited)
    assert f"branch/{branch}.html" not in pages
    assert not [a for a, page in pages.items() if f"branch/{branch}.html" in page]
    built = rebuild(edited)
    assert len(built.overlay.hidden) >= 1


def test_a_named_branch_is_a_kind(edited, rebuild):
    branch = edited.find_branch("smooth")
    edited.edits.add("name", f"branch:{branch}", "soft shapes")
    assert counts(edited)["soft shapes"] == 16
    built = rebuild(edited)
    assert counts(built) == {"soft shapes": 16, "stripe": 8}
    again = rebuild(built)  # the tree has changed, the kind stays
    assert contents(again.folder)["specimen"] == contents(built.folder)["specimen"]


def test_a_branch_of_a_guide_without_labels_becomes_a_kind(blobs, tmp_path):
    collection = Collection.from_arrays(blobs[0], name="shapes")
    guide = Guide.build(collection, tmp_path, **QUICK)
    assert guide.about["kinds_from"] == "branches"
    first, second = guide.branches[0].children[:2]
    guide.edits.add("name", f"branch:{first}", "one thing")
    guide.edits.add("name", f"branch:{second}", "another")
    assert {"one thing", "another"} <= {kind.name for kind in guide.kinds}
    assert all_pages(guide)
    built = Guide.build(collection, tmp_path, **QUICK)
    assert {"one thing", "another"} <= {kind.name for kind in built.kinds}
    assert built.identify([blobs[0][0]])[0].kinds


def test_words_are_corrected_renamed_and_hidden(edited, rebuild):
    shown = [word for word, _ in edited.words_of(3)]
    edited.edits.add("word", "disc/000003.png", f"not {shown[0]}")
    edited.edits.add("word", "disc/000003.png", "bluish")
    assert [word for word, _ in edited.words_of(3)] == ["bluish", *shown[1:]]
    assert 3 in edited.members(word="bluish")
    assert edited.find("bluish").total == 1
    count = dict((word, n) for word, n, _ in edited.words)
    assert count["bluish"] == 1
    edited.edits.add("rename", "word:bluish", "azure")
    edited.edits.add("rename", f"word:{shown[-1]}", "my own word")
    assert dict((word, n) for word, n, _ in edited.words)["my own word"] == count[shown[-1]]
    assert shown[-1] not in {word for word, _, _ in edited.words}
    edited.edits.add("hide", "word:my own word")
    assert "my own word" not in {word for word, _, _ in edited.words}
    assert "my own word" not in [word for word, _ in edited.words_of(3)]
    for i in (4, 5, 6):
        edited.edits.add("word", str(i), "bluish")
    built = rebuild(edited)
    assert shown[0] not in dict(built._plain.words_of(3))
    assert dict(built._plain.words_of(4))["bluish"] == 1  # a word of the owner's
    assert built._plain.sources()["bluish"] == "keyword"


def test_exemplars_are_pinned_and_rejected(edited, rebuild):
    first, second, *_ = edited.kind("disc").exemplars
    last = edited.kind("disc").exemplars[-1]
    edited.edits.add("reject", str(first))
    edited.edits.add("pin", str(last))
    assert edited.kind("disc").exemplars[:2] == (last, second)
    assert first not in edited.kind("disc").exemplars
    assert all(first not in branch.exemplars for branch in edited.branches)
    built = rebuild(edited)
    stored = {kind.name: kind.exemplars for kind in built._plain.kinds()}
    assert stored["disc"][0] == last
    assert first not in stored["disc"]
    built.edits.undo()
    assert built.kind("disc").exemplars  # the pin is gone, the rejection stays
    assert first not in built.kind("disc").exemplars


def test_answers_are_judged_and_notes_are_kept(edited, rebuild, blobs, tmp_path):
    edited.edits.add("right", DISC)
    Image.fromarray(blobs[0][0]).save(tmp_path / "new.png")
    judged = edited.edits.add("wrong", f"image:{tmp_path / 'new.png'}", "square")
    assert judged.target.name == "new.png"
    assert judged.said == edited.identify([tmp_path / "new.png"])[0].kinds[0].name
    assert edited.edits.judged(judged.target.digest) == (judged,)
    edited.edits.add("note", "kind:disc", "As round\nas a plate.")
    edited.edits.add("rename", "kind:disc", "plate")
    edited.edits.add("note", "guide", "All of it.")
    built = rebuild(edited)
    assert [e.value for e in built.overlay.list_notes("kind", "plate")] == ["As round\nas a plate."]
    assert [e.verb for e in built.overlay.list_edits("specimen", 0)] == ["right"]
    assert [e.value for e in built.overlay.list_notes("guide", "")] == ["All of it."]


def test_builds_with_edits_are_equal_and_undone_ones_leave_nothing(edited, rebuild, flat_guide):
    edited.edits.add("kind", DISC, "ring")
    edited.edits.add("merge", "kind:disc", "square")
    edited.edits.add("exclude", "stripe/000009.png")
    edited.edits.add("pin", "stripe/000010.png")
    one = contents(rebuild(edited).folder)
    two = contents(rebuild(edited).folder)
    assert one == two
    for number in (1, 2, 3, 4):
        edited.edits.undo(number)
    plain = contents(rebuild(edited).folder)
    before = contents(flat_guide.folder)
    assert {k: v for k, v in plain.items() if k != "info"} == {
        k: v for k, v in before.items() if k != "info"
    }


def test_any_order_of_random_edits_renders_and_survives(edited, rebuild):
    rng, n_refused = random.Random(0), 0
    for _ in range(40):
        specimen = str(rng.randrange(24))
        kind = rng.choice(edited.kinds)
        branch = rng.randrange(1, len(edited.branches))
        word = rng.choice(edited.words)[0]
        name = f"name {rng.randrange(99)}"
        step = rng.choice(
            [
                ("kind", specimen, rng.choice([kind.name, name, ""])),
                ("word", specimen, rng.choice([word, f"not {word}", name])),
                ("exclude", specimen),
                ("pin", specimen),
                ("reject", specimen),
                ("merge", f"kind:{kind.shown}", rng.choice(edited.kinds).shown),
                ("rename", f"kind:{kind.shown}", name),
                ("rename", f"branch:{branch}", name),
                ("rename", f"word:{word}", name),
                ("hide", f"branch:{branch}"),
                ("hide", f"word:{word}"),
                ("name", f"branch:{branch}", name),
                ("note", f"branch:{branch}", name),
            ]
        )
        try:
            edited.edits.add(*step)
        except EditError:
            n_refused += 1
        if rng.random() < 0.2 and len(edited.edits):
            edited.edits.undo(rng.choice([e.number for e in edited.edits]))
    assert n_refused < 20
    fresh = Guide.open(edited.folder)
    assert all_pages(fresh) == all_pages(edited)
    assert sum(counts(fresh).values()) <= fresh.n_shown
    built = rebuild(fresh)
    assert built.n_specimens == fresh.n_shown
    public = {kind.shown: kind.count for kind in fresh.kinds if kind.count}
    assert {kind.shown: kind.count for kind in built.kinds} == public
    assert all_pages(built)


def test_every_chapter_shows_merged_new_and_renamed_kinds(small_guide, tmp_path):
    shutil.copytree(small_guide.folder, tmp_path / "guide")
    guide = Guide.open(tmp_path / "guide")
    guide.edits.add("merge", "kind:disc", "stripe")
    guide.edits.add("rename", "kind:stripe", "Banded")
    guide.edits.add("kind", "square/000016.png", "new kind")
    guide.edits.add("exclude", "square/000017.png")
    pages = all_pages(guide)
    assert "Banded" in pages["kinds.html"]
    live = Renderer(guide, live=True)
    for one in guide.kinds:
        for other in guide.kinds:
            assert live.compare(one.name, other.name)
    assert guide.marks("new kind") is None
    for kind in guide.kinds:
        assert kind.exemplars


def test_a_specimen_is_named_by_its_path_whatever_is_done_with_it(edited):
    edited.edits.add("note", DISC, "Round.")
    assert [edit.value for edit in edited.overlay.list_notes("specimen", 0)] == ["Round."]
    with pytest.raises(EditError, match="No specimen is called 'disc'"):
        edited.edits.add("note", "disc", "Round.")


def test_a_renamed_kind_is_found_by_both_names(edited):
    before = [find.specimen.id for find in edited.find("kind:disc").finds]
    edited.edits.add("rename", "kind:disc", "round plate")
    for query in ("round plate", 'kind:"round plate"', "plates", "kind:disc", "disc"):
        assert [find.specimen.id for find in edited.find(query).finds] == before, query
    assert edited.find("round plate").terms[0].kinds == ("disc",)
    edited.edits.undo()
    assert edited.find("plate").total == 0

"""Images at an address: a store in memory, and shards of WebDataset in it."""

import io
import json
import os
import tarfile

import numpy as np
import pytest
from PIL import Image
from tests.clips import draw_blob_clip, write_clip, write_gif

from fieldguide.collection import Collection
from fieldguide.collection.images import MAX_FILE_BYTES
from fieldguide.errors import CollectionError, UnreadableImageError
from fieldguide.guide import Guide

fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")
QUICK = {"features": "deep", "marks": False, "places": False, "key": "ova", "n_jobs": 1}


def encode(image) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def store():
    """A store in memory that is empty before and after."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


def make_shard(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as shard:
        for name, data in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            shard.addfile(about, io.BytesIO(data))
    return buffer.getvalue()


def test_a_guide_of_a_store_is_that_of_a_folder(blobs, store, tmp_path):
    root = tmp_path / "photos"
    for i, (image, kind) in enumerate(zip(*blobs, strict=True)):
        for name, data in (
            (f"{kind}/{i:02d}.png", encode(image)),
            (f"{kind}/{i:02d}.txt", b"a plain picture of a shape"),
        ):
            (root / kind).mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
            store.pipe(f"/photos/{name}", data)
    store.pipe("/photos/.hidden.png", b"no")
    store.pipe("/photos/notes.pdf", b"no")
    (root / "notes.pdf").write_bytes(b"no")
    near, far = Collection.from_folder(root), Collection.from_folder("memory://photos")
    assert far.name == near.name == "photos"
    assert [(i.path, i.kind, i.keywords, i.caption) for i in far.items] == [
        (i.path, i.kind, i.keywords, i.caption) for i in near.items
    ]
    assert (far.others, far.n_captions) == (near.others, near.n_captions) == ({".pdf": 1}, 24)
    assert far.digest(3) == near.digest(3)
    one, other = (Guide.build(c, tmp_path / c.__class__.__name__, **QUICK) for c in (near, far))
    assert one.about["fingerprint"] == other.about["fingerprint"]
    assert one.describe() == other.describe()


def test_only_what_has_changed_is_read_again(blobs, store, tmp_path, monkeypatch):
    for i, image in enumerate(blobs[0][:6]):
        store.pipe(f"/photos/{'ab'[i % 2]}/{i}.png", encode(image))
    Guide.build("memory://photos", tmp_path / "guide", **QUICK)
    store.pipe("/photos/a/0.png", encode(blobs[0][9]))
    guide = Guide.build("memory://photos", tmp_path / "guide", **QUICK)
    assert guide.about["update"] == {"measured": 1, "kept": 5, "moved": 0, "gone": 1}


def test_shards_have_pictures_kinds_and_captions(blobs, store, tmp_path):
    members = {}
    for i, (image, kind) in enumerate(zip(*blobs, strict=True)):
        members[f"{i:04d}.png"] = encode(image)
        members[f"{i:04d}.cls"] = kind.encode()
        members[f"{i:04d}.json"] = json.dumps({"keywords": ["drawn", kind]}).encode()
    store.pipe("/set/shard-000.tar", make_shard(members))
    found = Collection.from_folder("memory://set")
    assert [item.kind for item in found.items] == list(blobs[1])
    assert found.items[5].path == "shard-000/0005.png"
    assert found.items[5].keywords == ("drawn", "disc")
    assert found.kinds_because.startswith("Kinds are what stands in the shards (.cls)")
    for i, pixels in enumerate(found):
        np.testing.assert_array_equal(pixels, blobs[0][i])
    alone = Collection.from_folder("memory://set/shard-000.tar", kinds="none")
    assert [item.kind for item in alone.items] == [None] * 24
    np.testing.assert_array_equal(np.asarray(alone.picture(23)[0].image), blobs[0][23])
    part = found.part([4, 20])
    np.testing.assert_array_equal(next(iter(part)), blobs[0][4])
    guide = Guide.build(found, tmp_path / "guide", **QUICK)
    assert [kind.name for kind in guide.kinds] == ["disc", "square", "stripe"]


def test_damaged_and_odd_shards_are_listed(blobs, store):
    image = encode(blobs[0][0])
    whole = make_shard({"a.png": image, "../b.png": image, "./c.png": image, "c.png": image})
    store.pipe("/set/odd.tar", whole)
    store.pipe("/set/cut.tar", make_shard({"d.png": image, "e.png": image})[:700])
    store.pipe("/set/no.tar", b"not a shard at all" * 100)
    found = Collection.from_folder("memory://set")
    assert [item.path for item in found.items] == ["cut/d.png", "odd/a.png", "odd/c.png"]
    reasons = dict(found.skipped)
    assert reasons["odd/../b.png"] == "its name leads out of the shard; rename it"
    assert reasons["odd/c.png"] == "a second file of this name in the shard"
    assert reasons["no.tar"].startswith("the shard cannot be read to its end (")
    with pytest.raises(UnreadableImageError, match="it changed after it was listed"):
        found.picture(0)


def test_a_sidecar_goes_with_an_address(blobs, store, tmp_path):
    for i in range(4):
        store.pipe(f"/photos/{i}.png", encode(blobs[0][i]))
    sidecar = tmp_path / "table.csv"
    sidecar.write_text("path,label,spotted\n2.png,owl,yes\n0.png,wren,\n9.png,owl,no\n")
    found = Collection.from_folder("memory://photos", sidecar=sidecar)
    assert [(item.path, item.kind) for item in found.items] == [("0.png", "wren"), ("2.png", "owl")]
    np.testing.assert_array_equal(found.attributes, [[np.nan], [1]])
    assert found.skipped == (("9.png", "named in the sidecar, but there is no such file"),)
    assert found.digest(1) == Collection.from_folder("memory://photos").digest(2)


def test_an_address_that_cannot_be_read_is_one_sentence(store, tmp_path, monkeypatch):
    for address, said in [
        ("memory://nothing", "There is nothing at the address 'memory://nothing'; check it"),
        ("nonsense://a/b", "The address 'nonsense://a/b' cannot be opened"),
        (f"file://{tmp_path}/none", "There is nothing at the address"),
    ]:
        with pytest.raises(CollectionError, match=said) as caught:
            Guide.build(address, tmp_path / "guide")
        assert "\n" not in str(caught.value)
    store.pipe("/photos/a.png", b"x" * 10)
    found = Collection.from_folder("memory://photos")
    store.rm("/photos/a.png")
    with pytest.raises(UnreadableImageError, match="cannot be read") as caught:
        found.picture(0)
    assert caught.value.passing
    assert found.digest(0) is None
    assert found.taken(0) is None
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(CollectionError, match=r"pip install fieldguide\[remote\]"):
        Collection.from_folder("memory://photos")


def test_a_huge_file_is_not_fetched(store):
    store.pipe("/photos/a.png", b"x")
    found = Collection.from_folder("memory://photos")
    huge = found.places[0]._replace(size=MAX_FILE_BYTES + 1)
    object.__setattr__(found, "places", (huge,))
    with pytest.raises(UnreadableImageError, match=r"is more than the 512 MB that we read"):
        found.picture(0)


def test_shards_on_a_disk_are_read_by_their_address(blobs, tmp_path):
    (tmp_path / "shard.tar").write_bytes(
        make_shard({f"owl/{i}.png": encode(image) for i, image in enumerate(blobs[0][:2])})
    )
    found = Collection.from_folder(f"file://{tmp_path}")
    assert [(item.path, item.kind) for item in found.items] == [
        ("shard/owl/0.png", "owl"),
        ("shard/owl/1.png", "owl"),
    ]
    before = found.items[0].stamp
    os.utime(tmp_path / "shard.tar", (1, 1))
    assert Collection.from_folder(f"file://{tmp_path}").items[0].stamp != before


def test_clips_at_an_address_are_those_of_a_folder(store, tmp_path):
    write_clip(tmp_path / "a.mp4", draw_blob_clip("disc", 0, 12))
    write_gif(tmp_path / "b.gif", draw_blob_clip("square", 0, 12))
    for path in tmp_path.iterdir():
        store.pipe(f"/clips/{path.name}", path.read_bytes())
    near, far = Collection.from_folder(tmp_path), Collection.from_folder("memory://clips")
    assert [item.path for item in far.items] == ["a.mp4", "b.gif"]
    for i in range(2):
        (one, _), (other, _) = near.picture(i), far.picture(i)
        assert one.clip.seconds == other.clip.seconds
        assert all(np.array_equal(*pair) for pair in zip(one.images, other.images, strict=True))
        mine, theirs = near.stretch(i, 0.5), far.stretch(i, 0.5)
        assert mine.times == theirs.times
        assert np.array_equal(mine.frames, theirs.frames)
    with pytest.raises(CollectionError, match="Bursts are found in a folder"):
        Collection.from_folder("memory://clips", bursts=True)

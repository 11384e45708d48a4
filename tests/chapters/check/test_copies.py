"""Copies: planted ones are found, others are not, and groups are what pairs join."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fieldguide._processes import Processes
from fieldguide.chapters.check import copies
from fieldguide.chapters.check.alignment import match_pairs
from fieldguide.chapters.check.copies import find_copies, group_copies, pair_same
from fieldguide.chapters.check.small import Small, measure_picture
from fieldguide.datasets import load_specimens


def compress(image, quality):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer).convert("RGB")


def cut(image):
    x, y = image.width // 20, image.height // 20
    return image.crop((x, y, image.width - x, image.height - y))


WAYS = {
    "same": lambda image: image,
    "resized": lambda image: image.resize((image.width // 2, image.height // 2)),
    "stretched": lambda image: image.resize((image.width, image.height * 9 // 10)),
    "cropped": cut,
    "recompressed": lambda image: compress(image, 30),
    "flipped": lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
}


@pytest.fixture(scope="module")
def drawn():
    """Two specimens of each kind."""
    return [Image.fromarray(image) for image in load_specimens(n_per_kind=2, size_px=128).images]


def shrink(images):
    pixels, sharpness, brightest = zip(*map(measure_picture, images), strict=True)
    return Small(np.array(pixels), np.array(sharpness), np.array(brightest))


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_matches_its_original_alone(drawn, way):
    n = len(drawn)
    small = shrink([*drawn, *map(WAYS[way], drawn)])
    own = np.array([(i, n + i) for i in range(n)])
    match = match_pairs(small, own)
    assert match.is_copy.all(), match.detail.min()
    assert (match.is_mirrored == (way == "flipped")).mean() > 0.9  # some subjects are symmetric
    others = np.array([(i, n + (i + shift) % n) for i in range(n) for shift in (1, 7)])
    assert not match_pairs(small, others).is_copy.any()


def test_the_order_of_a_pair_does_not_matter(drawn):
    small = shrink([*drawn[:12], *map(cut, drawn[:12])])
    pairs = np.array([(i, 12 + i) for i in range(12)])
    there, back = match_pairs(small, pairs), match_pairs(small, pairs[:, ::-1])
    assert (there.is_copy == back.is_copy).all()
    np.testing.assert_allclose(there.detail, back.detail, atol=0.06)


@pytest.mark.parametrize("processes", [None, Processes(2)], ids=["threads", "processes"])
def test_copies_of_a_collection(drawn, processes, monkeypatch):
    monkeypatch.setattr(copies, "_WORTH", 0)
    images = [*drawn, drawn[3], WAYS["flipped"](drawn[3]), cut(drawn[40])]
    n = len(drawn)
    small = shrink(images)
    noise = np.random.default_rng(0).normal(size=(n, 160)).astype(np.float32)
    embedding = np.concatenate([noise, noise[[3, 3, 40]]])
    digests = [*map(str, range(n)), "3", "flipped", "cut"]
    found = find_copies(small, embedding, digests, n_jobs=2, processes=processes)
    alone = find_copies(small, embedding, digests)
    assert all((one == other).all() for one, other in zip(found, alone, strict=True))
    groups = group_copies(len(images), found.pairs)
    assert groups == [[3, n, n + 1], [40, n + 2]]
    exact = found.likeness[(found.pairs == (3, n)).all(axis=1)]
    assert exact.tolist() == [1.0]
    mirrored = {tuple(pair) for pair in found.pairs[found.is_mirrored].tolist()}
    assert mirrored == {(3, n + 1), (n, n + 1)}


def test_blank_pictures_are_no_copies():
    blank = [Image.new("RGB", (64, 64), (grey, grey, grey)) for grey in (0, 90, 180, 255)]
    small = shrink(blank)
    found = find_copies(small, np.eye(4, dtype=np.float32), list("abcd"))
    assert len(found.pairs) == 0
    assert group_copies(4, found.pairs) == []


def test_one_specimen_has_no_copy(drawn):
    assert len(find_copies(shrink(drawn[:1]), np.ones((1, 8)), ["a"]).pairs) == 0


@given(st.lists(st.sampled_from("abc"), max_size=12))
def test_the_same_digest(digests):
    pairs = pair_same(digests)
    assert all(digests[i] == digests[j] and i < j for i, j in pairs)
    groups = group_copies(len(digests), pairs)
    wanted = [[i for i, d in enumerate(digests) if d == letter] for letter in "abc"]
    assert groups == sorted(group for group in wanted if len(group) > 1)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_groups_are_what_pairs_join(pairs):
    pairs = [(i, j) for i, j in pairs if i != j]
    groups = [{i} for i in range(10)]
    for i, j in pairs:
        joined = [group for group in groups if i in group or j in group]
        groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    wanted = sorted(sorted(group) for group in groups if len(group) > 1)
    assert group_copies(10, np.array(pairs, dtype=np.int64).reshape(-1, 2)) == wanted

"""Space-time words beside loops over pixels; the contract of transformers over clips."""

import pickle

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from sklearn.base import clone
from tests.reference.slow_clips import describe_block
from tests.video.test_clips import draw_clip

from fieldguide.errors import FieldguideError
from fieldguide.features.codebook import nearest_words
from fieldguide.video import SpaceTimeWords, optical_flow
from fieldguide.video import space_time_words as module
from fieldguide.video.space_time_words import WIDTH, describe_blocks, place_blocks

SMALL = {"sizes": ((12, 4),), "step_px": 6, "step_frames": 2}


def draw_clips():
    """Clips of a texture that moves to the right, to the left, and not at all."""
    still = np.repeat(draw_clip(1, seed=5), 6, axis=0)
    return [draw_clip(seed=1), draw_clip(seed=2)[:, :, ::-1], still, draw_clip(seed=3)]


def check_clip_transformer(estimator, clips, folder):
    """Hold ``estimator`` to the contract of transformers over clips."""
    assert clone(estimator).get_params() == estimator.get_params()
    fitted = clone(estimator).fit(clips)
    rows = fitted.transform(clips)
    assert rows.dtype == np.float32
    assert rows.shape == (len(clips), len(fitted.get_feature_names_out()))
    assert np.isfinite(rows).all()
    # the same again: a second fit, a copy through pickle, other numbers of threads
    np.testing.assert_array_equal(clone(estimator).fit(clips).transform(clips), rows)
    np.testing.assert_array_equal(clone(estimator).fit_transform(clips), rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(clips), rows)
    other = clone(estimator).set_params(n_jobs=2).fit(clips)
    np.testing.assert_array_equal(other.transform(clips), rows)
    # one at a time, and from every kind of source
    np.testing.assert_array_equal(np.concatenate([fitted.transform([c]) for c in clips]), rows)
    for i, clip in enumerate(clips):
        (folder / str(i)).mkdir()
        for t, frame in enumerate(clip):
            Image.fromarray(frame).save(folder / str(i) / f"{t}.png")
    folders = [folder / str(i) for i in range(len(clips))]
    for source in (iter(clips), folders, [list(clip) for clip in clips]):
        np.testing.assert_array_equal(fitted.transform(source), rows)
    # bad input is one sentence
    for bad in ([], [folder / "missing.avi"], [np.zeros((0, 8, 8))], [7]):
        with pytest.raises(FieldguideError) as caught:
            fitted.transform(bad)
        assert "\n" not in str(caught.value)
    with pytest.raises(FieldguideError, match="at least one"):
        clone(estimator).fit([])
    with pytest.raises(FieldguideError, match="must not be an iterator"):
        clone(estimator).fit_transform(iter(clips))


def test_contract(tmp_path):
    check_clip_transformer(SpaceTimeWords(12, n_iter=4, **SMALL), draw_clips(), tmp_path)


@pytest.mark.parametrize("slab", [32, 3])
def test_blocks_are_those_of_loops(slab, monkeypatch):
    monkeypatch.setattr(module, "_SLAB", slab)
    rng = np.random.default_rng(0)
    frames = ndimage.gaussian_filter(rng.uniform(0, 255, (9, 20, 17, 3)), (0, 1, 1, 0))
    frames = frames.astype(np.uint8)
    flow = rng.normal(0, 0.5, (9, 20, 17, 2)).astype(np.float32)
    frames[:, :9, :9] = 77  # a corner without edges, part of which stands still
    flow[:5, :9, :9] = 0
    sizes = ((6, 4), (9, 5), (40, 3))
    found = describe_blocks(
        frames, flow, sizes=sizes, step_px=5, step_frames=2, least_contrast=0.01, least_flow_px=0.4
    )
    assert found.descriptors.shape == (len(found.middles), WIDTH)
    n_zero = 0
    for row, middle, (side, length) in zip(
        found.descriptors, found.middles, found.sizes, strict=True
    ):
        size = (length, side, min(side, 17) if side == 20 else side)
        corner = np.rint(middle - (np.array(size) - 1) / 2).astype(int)
        expected = describe_block(frames, flow, corner, size, 0.01, 0.4)
        np.testing.assert_allclose(row, expected, atol=2e-4)
        n_zero += not expected.any()
    assert n_zero > 0
    assert len(found.middles) == 3 * 3 * 3 + 3 * 3 * 2 + 4


def test_places_of_blocks():
    assert place_blocks(10, 4, 3).tolist() == [0, 3, 6]
    assert place_blocks(11, 4, 3).tolist() == [0, 3, 6]
    assert place_blocks(12, 4, 3).tolist() == [1, 4, 7]
    assert place_blocks(4, 4, 9).tolist() == [0]


def test_a_histogram_counts_the_nearest_words():
    clips = draw_clips()
    words = SpaceTimeWords(15, n_iter=3, **SMALL).fit(clips)
    blocks = words.describe_blocks(clips[0], optical_flow(clips[0]))
    distance = ((blocks.descriptors[:, None] - words.words_[None, :-1]) ** 2).sum(axis=2)
    is_plain = ~blocks.descriptors.any(axis=1)
    word = np.where(is_plain, 14, distance.argmin(axis=1))
    counts = np.bincount(word, minlength=15)
    np.testing.assert_allclose(words.transform([clips[0]])[0], counts / counts.sum(), rtol=1e-6)
    np.testing.assert_array_equal(words.assign(clips[0])[0], word)
    assert words.frequency_.sum() == pytest.approx(1, rel=1e-5)
    assert (np.diff(words.frequency_[:-1]) <= 0).all()
    assert not words.words_[-1].any()


def test_words_tell_movements_apart():
    """Clips of other textures are nearest to those that move as they do."""
    train = [draw_clip(12, seed=k)[:, :, :: (-1) ** k] for k in range(6)]
    test = [draw_clip(12, seed=k)[:, :, :: (-1) ** k] for k in range(10, 16)]

    def moves(clips):  # the camera's own movement would be taken out
        return [optical_flow(clip, steady=False) for clip in clips]

    words = SpaceTimeWords(40, n_iter=5, sizes=((12, 4),), step_px=4)
    words.fit(train)

    def rows(clips):
        found = [words.assign(c, f)[0] for c, f in zip(clips, moves(clips), strict=True)]
        return np.stack([np.bincount(w, minlength=40) / len(w) for w in found])

    near, _ = nearest_words(
        np.sqrt(rows(test)).astype(np.float32), np.sqrt(rows(train)).astype(np.float32), 1
    )
    assert (near[:, 0] % 2 == np.arange(6) % 2).all()


@pytest.mark.parametrize(
    "clip",
    [
        np.full((8, 40, 50, 3), 90, np.uint8),
        np.zeros((1, 40, 50, 3), np.uint8),
        np.random.default_rng(0).integers(0, 255, (8, 40, 50, 3), dtype=np.uint8),
        np.random.default_rng(0).integers(0, 255, (1, 40, 50, 3), dtype=np.uint8),
        np.random.default_rng(0).integers(0, 255, (3, 1, 1, 3), dtype=np.uint8),
        np.random.default_rng(0).integers(0, 255, (2, 3, 300, 3), dtype=np.uint8),
    ],
    ids=["flat", "black frame", "noise", "one frame", "one pixel", "long"],
)
def test_odd_clips(clip):
    words = SpaceTimeWords(10, n_iter=2, **SMALL).fit(draw_clips())
    row = words.transform([clip])[0]
    assert row.sum() == pytest.approx(1, rel=1e-5)
    if clip.std() == 0:
        assert row[-1] == 1  # without edges and movement: the last word alone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_words": 1}, "n_words of SpaceTimeWords"),
        ({"sizes": ()}, r"such as \(\(18, 8\), \(27, 12\)\)"),
        ({"sizes": ((0, 3),)}, "sizes of SpaceTimeWords"),
        ({"step_px": 0}, "step_px of SpaceTimeWords"),
        ({"least_flow_px": 0}, "least_flow_px of SpaceTimeWords"),
        ({"n_words": 5000}, "ask for fewer words"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments, message):
    with pytest.raises(FieldguideError, match=message):
        SpaceTimeWords(**{**SMALL, **arguments}).fit(draw_clips())


def test_bad_frames_and_flow():
    words = SpaceTimeWords(10, n_iter=2, **SMALL).fit(draw_clips())
    clip = draw_clips()[0]
    with pytest.raises(FieldguideError, match="read the clip by read_clip"):
        words.assign(clip / 255)
    with pytest.raises(FieldguideError, match="find it by optical_flow"):
        words.assign(clip, np.zeros((2, 32, 48, 2)))

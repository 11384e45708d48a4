"""Clips from files, folders and arrays; what cannot be read; flow of known movements."""

import builtins
import sys

import av
import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from fieldguide.errors import FieldguideError, UnreadableImageError
from fieldguide.video import clips as module
from fieldguide.video import optical_flow, read_clip
from fieldguide.video.clips import order_of


def draw_clip(n_frames=6, height=32, width=48, seed=0):
    """A smooth texture that moves 2 px to the right and 1 px up in each frame."""
    noise = np.random.default_rng(seed).standard_normal((height + 20, width + 40))
    texture = ndimage.gaussian_filter(noise, 2.0)
    texture = (255 * (texture - texture.min()) / np.ptp(texture)).astype(np.uint8)
    frames = [
        texture[5 + t : 5 + t + height, 30 - 2 * t : 30 - 2 * t + width] for t in range(n_frames)
    ]
    return np.repeat(np.stack(frames)[..., None], 3, axis=3)


def write_video(path, frames, codec="mpeg4"):
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuv420p"
        stream.bit_rate = 4_000_000
        for frame in frames:
            for packet in stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


def test_a_video_file(tmp_path):
    frames = draw_clip(7)
    write_video(tmp_path / "clip.avi", frames)
    for source in (tmp_path / "clip.avi", str(tmp_path / "clip.avi")):
        found = read_clip(source)
        assert found.shape == frames.shape
        assert found.dtype == np.uint8
        assert np.abs(found.astype(int) - frames).mean() < 8  # the codec loses some
    part = read_clip(tmp_path / "clip.avi", start=1, stop=6, every=2)
    np.testing.assert_array_equal(part, found[1:6:2])
    assert read_clip(tmp_path / "clip.avi", max_side_px=24).shape == (7, 16, 24, 3)


def test_a_folder_of_frames_in_the_order_of_their_numbers(tmp_path):
    frames = draw_clip(12)
    for t, frame in enumerate(frames):
        Image.fromarray(frame).save(tmp_path / f"frame{t}.png")
    (tmp_path / "notes.txt").write_text("not a frame")
    np.testing.assert_array_equal(read_clip(tmp_path), frames)
    np.testing.assert_array_equal(read_clip(tmp_path, start=9), frames[9:])
    assert order_of("a9b") < order_of("a10a") < order_of("a10b")


def test_arrays_and_sequences():
    frames = draw_clip(4)
    for source in (
        frames,
        frames[..., 0],
        frames / 255,
        list(frames),
        iter(frames),
        [Image.fromarray(frame) for frame in frames],
    ):
        np.testing.assert_array_equal(read_clip(source), frames)


def test_frames_of_variable_size_get_that_of_the_first():
    first, other = draw_clip(1)[0], draw_clip(1, 50, 20)[0]
    found = read_clip([first, other, other[:1, :1]])
    assert found.shape == (3, 32, 48, 3)
    np.testing.assert_array_equal(found[0], first)
    expected = np.asarray(Image.fromarray(other).resize((48, 32), Image.Resampling.BICUBIC))
    np.testing.assert_array_equal(found[1], expected)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("missing.avi", "'missing.avi' does not exist"),
        ([], "has no frame"),
        (np.zeros((0, 5, 5, 3)), "has no frame"),
        (np.zeros((5, 5)), "has no frames; give"),
        (3.5, "cannot be read from float"),
        ([np.zeros((4, 4, 7))], r"shape \(4, 4, 7\)"),
        ([np.full((4, 4), 9.0)], r"outside \[0, 1\]"),
        (Image.new("RGB", (4, 4)), "cannot be read from Image"),
    ],
)
def test_what_is_no_clip_is_one_sentence(source, message):
    with pytest.raises(UnreadableImageError, match=message) as caught:
        read_clip(source)
    assert "\n" not in str(caught.value)


def test_unreadable_files_are_one_sentence(tmp_path):
    (tmp_path / "broken.avi").write_bytes(b"RIFF\x00\x00 not a video")
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "frames").mkdir()
    write_video(tmp_path / "clip.avi", draw_clip(4))
    cut = (tmp_path / "clip.avi").read_bytes()
    (tmp_path / "cut.avi").write_bytes(cut[:200])
    with av.open(str(tmp_path / "sound.wav"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), layout="mono")
        sound.sample_rate = 8000
        container.mux(stream.encode(sound))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "1.png").write_bytes(b"\x89PNG nothing")
    for name, message in (
        ("broken.avi", "cannot be decoded"),
        ("empty.mp4", "cannot be decoded"),
        ("cut.avi", "cannot be decoded|has no frame|no picture"),
        ("sound.wav", "has no picture in it"),
        ("frames", "holds no picture"),
        ("bad", r"1\.png"),
    ):
        with pytest.raises(UnreadableImageError, match=message) as caught:
            read_clip(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert name in str(caught.value)
    with pytest.raises(UnreadableImageError, match="no frame from 4 on"):
        read_clip(tmp_path / "clip.avi", start=4)


def test_a_clip_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_CLIP_BYTES", draw_clip(3).nbytes)
    assert len(read_clip(draw_clip(3))) == 3
    with pytest.raises(UnreadableImageError, match="a larger every"):
        read_clip(draw_clip(4))
    assert len(read_clip(draw_clip(6), every=2)) == 3


@pytest.mark.parametrize(
    "arguments", [{"start": -1}, {"start": 3, "stop": 3}, {"every": 0}, {"max_side_px": 0}]
)
def test_bad_arguments(arguments):
    with pytest.raises(FieldguideError, match="of read_clip must be a whole number"):
        read_clip(draw_clip(2), **arguments)


def test_the_extra_is_named_where_it_is_missing(tmp_path, monkeypatch):
    write_video(tmp_path / "clip.avi", draw_clip(3))
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name in ("av", "cv2"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    for name in ("av", "cv2"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FieldguideError, match=r"PyAV.*pip install 'fieldguide\[video\]'"):
        read_clip(tmp_path / "clip.avi")
    with pytest.raises(FieldguideError, match=r"OpenCV.*pip install 'fieldguide\[video\]'"):
        optical_flow(draw_clip(2))
    assert not optical_flow(draw_clip(1)).any()  # nothing to find, nothing needed


def test_flow_of_a_known_shift():
    flow = optical_flow(draw_clip(5), steady=False)
    assert flow.shape == (5, 32, 48, 2)
    assert flow.dtype == np.float32
    inside = flow[:, 8:-8, 8:-8]
    np.testing.assert_allclose(np.median(inside, axis=(0, 1, 2)), (2, -1), atol=0.15)
    np.testing.assert_array_equal(flow[-1], flow[-2])
    # the camera's own shift is taken out
    steady = optical_flow(draw_clip(5))
    assert np.abs(np.median(steady, axis=(1, 2))).max() < 1e-6


def test_flow_of_odd_clips():
    for shape in ((1, 20, 30, 3), (3, 1, 1, 3), (2, 3, 40, 3)):
        flow = optical_flow(np.full(shape, 90, np.uint8))
        assert flow.shape == (*shape[:3], 2)
        np.testing.assert_allclose(flow, 0, atol=1e-4)
    with pytest.raises(FieldguideError, match="read the clip by read_clip"):
        optical_flow(np.zeros((3, 4, 5, 3)))

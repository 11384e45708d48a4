"""Clips as specimens: which frames are seen, what a hostile file costs, what is said of it."""

import builtins
import struct

import av
import numpy as np
import pytest
from PIL import Image
from tests.clips import draw_blob_clip, write_clip, write_gif

from fieldguide.collection import Collection, frames, read_picture_or_clip, video_files
from fieldguide.collection.digests import digest_clip
from fieldguide.collection.frames import MOST_DECODED, N_FRAMES, find_telling
from fieldguide.errors import UnreadableImageError


def ramp(n, size_px=32):
    """Frames of one grey each, ever brighter: what is shown when can be read off."""
    greys = np.linspace(20, 230, n).astype(np.uint8)
    return np.broadcast_to(greys[:, None, None, None], (n, size_px, size_px, 3))


def times_of(picture):
    return np.array([at_s for at_s, _ in picture.clip.timed])


@pytest.mark.parametrize(
    ("suffix", "codec"),
    [("mp4", "mpeg4"), ("mov", "mpeg4"), ("avi", "mpeg4"), ("mkv", "mpeg4"), ("webm", "libvpx")],
)
def test_frames_are_spread_over_a_short_clip(tmp_path, suffix, codec):
    path = tmp_path / f"ramp.{suffix}"
    write_clip(path, ramp(40), codec=codec)
    picture = read_picture_or_clip(path)
    assert (picture.width, picture.height, len(picture.images)) == (32, 32, N_FRAMES)
    assert picture.clip.seconds == pytest.approx(4, abs=0.15)
    np.testing.assert_allclose(times_of(picture), (np.arange(8) + 0.5) / 2, atol=0.11)
    shown = [np.asarray(image).mean() for image in picture.images]
    np.testing.assert_allclose(shown, 20 + 210 * times_of(picture) / 3.9, atol=8)
    assert picture.image is picture.images[picture.telling]
    again = read_picture_or_clip(path.read_bytes())
    assert all(np.array_equal(a, b) for a, b in zip(again.images, picture.images, strict=True))


def test_a_long_clip_is_seen_by_seeking(tmp_path, monkeypatch):
    n = 2000
    write_clip(tmp_path / "long.mp4", ramp(n), gop=10)
    decoded = count_frames(monkeypatch)
    picture = read_picture_or_clip(tmp_path / "long.mp4")
    assert len(decoded) <= N_FRAMES * 2
    assert picture.clip.seconds == pytest.approx(n / 10)
    np.testing.assert_allclose(times_of(picture), (np.arange(8) + 0.5) * n / 80, atol=n / 160)
    shown = [np.asarray(image).mean() for image in picture.images]
    np.testing.assert_allclose(shown, 20 + 210 * times_of(picture) * 10 / n, atol=8)


def test_ten_hours_cost_no_more_than_a_minute(tmp_path, monkeypatch):
    n = 600
    write_clip(tmp_path / "night.mkv", ramp(n), times=[600 * t for t in range(n)], gop=1)
    decoded = count_frames(monkeypatch)
    picture = read_picture_or_clip(tmp_path / "night.mkv")
    assert picture.clip.seconds > 35_000
    assert len(picture.images) == N_FRAMES
    assert len(decoded) <= N_FRAMES * 2


def test_a_clip_of_one_key_frame_is_bounded_too(tmp_path, monkeypatch):
    write_clip(tmp_path / "one.mp4", ramp(2500, 16), gop=2500)
    monkeypatch.setattr(video_files, "MOST_PER_SEEK", 50)
    decoded = count_frames(monkeypatch)
    picture = read_picture_or_clip(tmp_path / "one.mp4")
    assert len(decoded) <= N_FRAMES * 60
    assert len(picture.images) >= 1


def test_a_file_that_hides_its_length_is_read_for_a_bounded_time(tmp_path, monkeypatch):
    write_clip(tmp_path / "short.avi", ramp(300, 16), gop=50)
    monkeypatch.setattr(video_files.Video, "_find_length", lambda self: None)
    monkeypatch.setattr(frames, "MOST_DECODED", 100)
    decoded = count_frames(monkeypatch)
    picture = read_picture_or_clip(tmp_path / "short.avi")
    assert len(decoded) <= 101 < MOST_DECODED
    assert picture.clip.seconds == pytest.approx(10)


def test_a_short_clip_of_many_pixels_is_seen_by_seeking_too(tmp_path, monkeypatch):
    write_clip(tmp_path / "dense.mp4", ramp(150), gop=5)
    monkeypatch.setattr(video_files, "MOST_DECODED_PX", 50 * 32 * 32)
    decoded = count_frames(monkeypatch)
    picture = read_picture_or_clip(tmp_path / "dense.mp4")
    assert len(decoded) <= 50
    np.testing.assert_allclose(times_of(picture), (np.arange(8) + 0.5) * 15 / 8, atol=15 / 16)


def count_frames(monkeypatch):
    """Return a list that grows with each frame that is decoded."""
    decoded = []
    decode = video_files.Video._decode

    def counting(self, **how):
        for frame in decode(self, **how):
            decoded.append(frame[0])
            yield frame

    monkeypatch.setattr(video_files.Video, "_decode", counting)
    return decoded


def test_a_variable_frame_rate(tmp_path):
    """Nine frames in the first second, one in each of the three after it."""
    times = [*range(9), 10, 20, 30]
    write_clip(tmp_path / "vfr.mkv", ramp(12), times=times, gop=1)
    picture = read_picture_or_clip(tmp_path / "vfr.mkv")
    assert set(times_of(picture)) <= {t / 10 for t in times}
    assert times_of(picture)[-1] == 3
    assert (np.diff(times_of(picture)) > 0).all()


def turn(data, matrix):
    """Put a matrix into the track header of an MP4 file."""
    at = data.index(b"tkhd") + 4 + 4 + 20 + 16
    return data[:at] + struct.pack(">9i", *matrix) + data[at + 36 :]


ONE, W = 1 << 16, 1 << 30


@pytest.mark.parametrize(
    ("matrix", "corner"),
    [
        ((ONE, 0, 0, 0, ONE, 0, 0, 0, W), "left"),
        ((0, ONE, 0, -ONE, 0, 0, 0, 0, W), "top"),  # a quarter to the right
        ((-ONE, 0, 0, 0, -ONE, 0, 0, 0, W), "right"),
        ((0, -ONE, 0, ONE, 0, 0, 0, 0, W), "bottom"),
        ((ONE, ONE // 9, 0, -ONE // 9, ONE, 0, 0, 0, W), "left"),  # askew: no quarter
        ((0, 0, 0, 0, 0, 0, 0, 0, 0), "left"),  # no turn at all
    ],
)
def test_a_clip_stands_as_it_was_taken(tmp_path, matrix, corner):
    frames = np.zeros((3, 32, 64, 3), np.uint8)
    frames[:, :, :16] = 255  # a white edge at the left
    write_clip(tmp_path / "a.mp4", frames)
    (tmp_path / "a.mp4").write_bytes(turn((tmp_path / "a.mp4").read_bytes(), matrix))
    picture = read_picture_or_clip(tmp_path / "a.mp4")
    is_turned = corner in ("top", "bottom")
    assert (picture.width, picture.height) == ((32, 64) if is_turned else (64, 32))
    seen = np.asarray(picture.image.convert("L"), dtype=float)
    edges = {
        "left": seen[:, :4],
        "right": seen[:, -4:],
        "top": seen[:4],
        "bottom": seen[-4:],
    }
    brightest = max(edges, key=lambda name: edges[name].mean())
    assert brightest == corner


def test_hostile_files_are_each_one_sentence(tmp_path):
    write_clip(tmp_path / "whole.mp4", ramp(40))
    whole = (tmp_path / "whole.mp4").read_bytes()
    made = {
        "text.mp4": b"hello, this is no video\n" * 9,
        "empty.avi": b"",
        "picture.mov": b"\xff\xd8\xff and no more",
        "playlist.mp4": b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        "head.mp4": whole[: whole.index(b"moov")],
        "noise.mkv": b"\x1aE\xdf\xa3" + np.random.default_rng(0).bytes(5000),
        "noise.avi": b"RIFF\0\0\0\0AVI " + np.random.default_rng(0).bytes(5000),
    }
    with av.open(str(tmp_path / "no frames.mp4"), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
    with av.open(str(tmp_path / "sound.mp4"), "w") as container:
        stream = container.add_stream("aac", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
        frame.sample_rate = 8000
        for packet in (*stream.encode(frame), *stream.encode()):
            container.mux(packet)
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    said = {}
    for path in sorted(tmp_path.iterdir()):
        if path.name != "whole.mp4":
            with pytest.raises(UnreadableImageError) as error:
                read_picture_or_clip(path)
            said[path.name] = str(error.value)
            assert not error.value.passing
    assert all(len(s) < 160 and "\n" not in s for s in said.values())
    assert "not a video in a format that we read" in said["text.mp4"]
    assert said["playlist.mp4"] == said["text.mp4"] == said["picture.mov"] == said["empty.avi"]
    assert said["sound.mp4"] == "a video file without a picture in it"
    assert "damaged or truncated" in said["head.mp4"]


@pytest.mark.parametrize("suffix", ["avi", "mkv"])
def test_what_comes_before_the_damage_is_the_clip(tmp_path, suffix):
    path = tmp_path / f"cut.{suffix}"
    write_clip(path, draw_blob_clip("disc", 0, 60))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    picture = read_picture_or_clip(path)
    assert 1 <= len(picture.images) <= N_FRAMES
    assert times_of(picture)[-1] < 5


def test_a_frame_of_too_many_pixels_is_refused_before_it_is_decoded(tmp_path):
    write_clip(tmp_path / "a.mp4", ramp(3, 64))
    with pytest.raises(UnreadableImageError, match="64 × 64 pixels is more than the limit"):
        read_picture_or_clip(tmp_path / "a.mp4", max_pixels=4000)


def test_without_the_extra_one_sentence_names_it_and_pictures_are_read(tmp_path, monkeypatch):
    write_clip(tmp_path / "a.mp4", ramp(3))
    write_gif(tmp_path / "b.gif", draw_blob_clip("disc", 0, 4))
    Image.new("RGB", (9, 9)).save(tmp_path / "c.png")
    imported = builtins.__import__

    def without(name, *rest):
        if name == "av":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    collection = Collection.from_folder(tmp_path)
    with pytest.raises(UnreadableImageError, match=r"pip install 'fieldguide\[video\]'") as error:
        collection.picture(0)
    assert error.value.passing  # the next build tries again
    assert len(collection.picture(1)[0].images) == 4
    assert collection.picture(2)[0].clip is None


def test_a_moving_gif_is_a_clip_and_a_still_one_a_picture(tmp_path):
    frames = draw_blob_clip("square", 1, 20)
    write_gif(tmp_path / "moving.gif", frames, 250)
    picture = read_picture_or_clip(tmp_path / "moving.gif")
    assert len(picture.images) == N_FRAMES
    assert picture.clip.seconds == pytest.approx(5)
    for at_s, image in picture.clip.timed:
        near = np.abs(np.asarray(image).astype(int) - frames[round(at_s * 4)])
        assert near.mean() < 8
    Image.fromarray(frames[0]).save(tmp_path / "still.gif")
    assert read_picture_or_clip(tmp_path / "still.gif").clip is None
    data = (tmp_path / "moving.gif").read_bytes()
    (tmp_path / "cut.gif").write_bytes(data[: len(data) // 2])
    assert 1 <= len(read_picture_or_clip(tmp_path / "cut.gif").images) <= N_FRAMES


def test_the_telling_frame_has_the_animal_and_no_title():
    scene = np.full((72, 72, 3), 180, np.uint8)
    scene[40:] = 90
    animal = scene.copy()
    animal[20:50, 20:50] = np.random.default_rng(0).integers(0, 255, (30, 30, 3))
    black = np.zeros_like(scene)
    frames = [Image.fromarray(each) for each in (black, scene, scene, animal, scene)]
    assert find_telling(frames) == 3
    assert find_telling([frames[1]] * 5) == 2


def test_a_camera_says_when_and_where(tmp_path):
    said = {
        "creation_time": "2021-05-03T14:07:09.000000Z",
        "location": "+48.8577+002.2950/",
    }
    write_clip(tmp_path / "a.mov", ramp(3), metadata=said)
    taken = read_picture_or_clip(tmp_path / "a.mov").taken
    assert taken[:3] == ("2021-05-03T14:07:09+00:00", 48.8577, 2.295)
    write_clip(tmp_path / "b.mov", ramp(3), metadata={"creation_time": "1904-01-01T00:00:00Z"})
    assert read_picture_or_clip(tmp_path / "b.mov").taken.date is None


def test_the_digest_of_a_large_file_reads_a_few_pieces(tmp_path):
    path = tmp_path / "large.mp4"
    with open(path, "wb") as file:
        file.truncate(5 * 2**30)  # holes take no room
    before = digest_clip(path)
    with open(path, "r+b") as file:
        file.seek(2**20)  # between the first piece and the second
        file.write(b"x")
    assert digest_clip(path) == before
    with open(path, "r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    assert digest_clip(path) != before
    small = tmp_path / "small.mp4"
    small.write_bytes(b"abc")
    before = digest_clip(small)
    small.write_bytes(b"abd")
    assert digest_clip(small) != before


def test_a_disk_that_fails_is_no_damage_of_the_file(tmp_path, monkeypatch):
    write_clip(tmp_path / "a.mp4", ramp(9))

    def fail(self, n):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(video_files._Limited, "read", fail)
    with pytest.raises(UnreadableImageError, match="cannot be opened") as error:
        read_picture_or_clip(tmp_path / "a.mp4")
    assert error.value.passing

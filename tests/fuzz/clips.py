"""A fuzzer of clips: video files in each container, and moving GIFs."""

import random
from pathlib import Path

from fieldguide.collection.clips import read_picture_or_clip, read_stretch
from fieldguide.errors import UnreadableImageError
from tests.clips import draw_blob_clip, write_clip, write_gif
from tests.fuzz.harm import harm_bytes
from tests.fuzz.runner import Fuzzer

_CODECS = {"mp4": "mpeg4", "mov": "libx264", "avi": "mpeg4", "mkv": "libx264", "webm": "libvpx"}


def write_clips(work: Path, guides: object) -> list[bytes]:
    """Return short clips of every container that is read."""
    frames = draw_blob_clip("disc", 0, 30, 48)
    for suffix, codec in _CODECS.items():
        write_clip(work / f"clip.{suffix}", frames, codec=codec)
    write_gif(work / "clip.gif", frames)
    return [path.read_bytes() for path in sorted(work.glob("clip.*"))]


def attempt_clip(state: list[bytes], seed: int) -> bool:
    rng = random.Random(seed)
    data = rng.choice(state)
    if seed % 50:
        data = harm_bytes(data, rng)
    picture = read_picture_or_clip(data)
    assert picture.image in picture.images
    assert all(image.mode == "RGB" for image in picture.images)
    if picture.clip is not None:
        assert 0 <= picture.clip.seconds <= 1e7
        stretch = read_stretch(data, rng.uniform(0, 3))
        assert stretch is None or len(stretch.frames) == len(stretch.times) > 0
    return True


CLIPS = Fuzzer("clips", write_clips, attempt_clip, (UnreadableImageError,))

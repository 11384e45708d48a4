"""Clips drawn and written by the tests themselves."""

from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image


def draw_blob_clip(kind: str, seed: int, n_frames: int = 6, size_px: int = 72) -> np.ndarray:
    """A disc or a square that moves to the right over a ground of one colour."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size_px, :size_px] / size_px
    back, front = rng.integers(120, 250, 3), rng.integers(0, 110, 3)
    frames = []
    for x in np.linspace(0.3, 0.7, n_frames):
        dx, dy = abs(xx - x), abs(yy - 0.5)
        mask = dx**2 + dy**2 < 0.06 if kind == "disc" else (dx < 0.2) & (dy < 0.2)
        frames.append(np.where(mask[..., None], front, back).astype(np.uint8))
    return np.stack(frames)


def write_clip(path, frames, *, rate=10, codec="mpeg4", times=None, gop=None, metadata=()) -> None:
    """Write frames to a video file; ``times`` are the numbers of frames at ``rate``."""
    with av.open(str(path), "w") as container:
        container.metadata.update(dict(metadata))
        stream = container.add_stream(codec, rate=rate)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt, stream.bit_rate = "yuv420p", 2_000_000
        if gop:
            stream.gop_size = gop
        for t, pixels in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts = t if times is None else times[t]
            frame.time_base = Fraction(1, rate)
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


def write_gif(path, frames, duration_ms=100) -> None:
    images = [Image.fromarray(frame) for frame in frames]
    images[0].save(path, save_all=True, append_images=images[1:], duration=duration_ms)


@pytest.fixture(scope="session")
def clip_folder(tmp_path_factory):
    """Two kinds of clips in several containers, a picture of each, a text that says it is one."""
    root = tmp_path_factory.mktemp("clips") / "films"
    for kind in ("disc", "square"):
        (root / kind).mkdir(parents=True)
        for i, suffix in enumerate(("mp4", "avi", "mkv", "gif")):
            write = write_gif if suffix == "gif" else write_clip
            write(root / kind / f"{i}.{suffix}", draw_blob_clip(kind, i, 4))
        Image.fromarray(draw_blob_clip(kind, 9)[2]).save(root / kind / "still.png")
    (root / "disc" / "notes.mp4").write_text("Tuesday: two herons")
    return root


@pytest.fixture(scope="session")
def clip_guide(clip_folder, build_once):
    return build_once("clips", clip_folder, features="looks", marks=False, key="ova", n_jobs=1)

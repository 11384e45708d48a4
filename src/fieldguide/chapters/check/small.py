"""The small form of a picture that copies are found by, and what its pixels are like.

====================  ==============================================================
``grey``              (48, 48) luma of the whole picture, pressed into a square
``tint``              (8, 8, 2) its colours without their lightness, Cb and Cr
``sharpness``         finest detail as a share of coarser detail, see below
``brightest``         luma, 0 to 255, that 99 of 100 pixels do not exceed
====================  ==============================================================

A picture in focus has detail of every size: its Laplacian is about as strong at full size as at
half, a quarter and an eighth of it, whatever it shows. Blur takes the finest away first, so that
the ratio falls; a plain background adds to neither. Only the strongest hundredth of the Laplacian
counts: a subject in focus before a soft background is sharp. Noise looks like fine detail, so that
a blurred picture with much noise passes for sharp.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order
from fieldguide._processes import Processes
from fieldguide.guide.shelf import open_picture

SIDE, TINT = 48, 8
WIDTH = SIDE * SIDE + 2 * TINT * TINT  # bytes of the small form
_STRONG = 0.99  # share of the pixels with a weaker Laplacian
_BRIGHT = 0.99
_NOISE = 2.0  # 255ths of luma: what a Laplacian of a blank picture may be
_LEVELS, _LEAST_PX = 4, 16  # sizes at which detail is measured, and the smallest
_LONGEST_PX = 512  # at which a picture is looked at
_BATCH = 32


class Small(NamedTuple):
    """Small forms of pictures, and their measures."""

    pixels: np.ndarray  # (n, WIDTH) uint8: grey, then Cb and Cr
    sharpness: np.ndarray  # (n,) float32
    brightest: np.ndarray  # (n,) float32

    def grey(self, ids: np.ndarray) -> np.ndarray:
        """Return the luma of some pictures, (len(ids), SIDE, SIDE) float32."""
        return self.pixels[ids, : SIDE * SIDE].astype(np.float32).reshape(-1, SIDE, SIDE)

    def tint(self, ids: np.ndarray) -> np.ndarray:
        """Return the colours of some pictures, (len(ids), TINT, TINT, 2) float32."""
        return self.pixels[ids, SIDE * SIDE :].astype(np.float32).reshape(-1, TINT, TINT, 2)


@dataclass(frozen=True)
class ReadSmall:
    """Measures some pictures of a guide, by their addresses below ``folder``; it travels."""

    folder: Path

    def __call__(self, addresses: Sequence[str]) -> Small:
        """Return the small forms of some pictures, and their measures."""
        opened = (open_picture(self.folder, each, at_most_px=_LONGEST_PX) for each in addresses)
        rows = [measure_picture(image) for image in opened]
        return Small(
            np.array([pixels for pixels, _, _ in rows], dtype=np.uint8).reshape(len(rows), WIDTH),
            np.array([sharp for _, sharp, _ in rows], dtype=np.float32),
            np.array([bright for _, _, bright in rows], dtype=np.float32),
        )


def read_pictures(
    folder: Path, addresses: Sequence[str], *, n_jobs: int, processes: Processes | None = None
) -> Small:
    """Measure pictures of a guide, one row for each address below ``folder``."""
    read = ReadSmall(folder)
    batches = [addresses[i : i + _BATCH] for i in range(0, len(addresses), _BATCH)]
    if processes is None:
        parts = list(map_in_order(read, batches, n_jobs=n_jobs))
    else:
        parts = [part for _, part in sorted(processes.map_as_done(read, batches))]
    if not parts:
        return read([])
    return Small(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def measure_picture(image: Image.Image) -> tuple[np.ndarray, float, float]:
    """Return the small form of one picture, (WIDTH,) uint8, its sharpness and its brightest.

    Examples
    --------
    >>> pixels, sharpness, brightest = measure_picture(Image.new("RGB", (90, 60), "white"))
    >>> len(pixels) == WIDTH, brightest
    (True, 255.0)
    """
    whole = image.convert("YCbCr")
    luma = whole.getchannel("Y")
    grey = _press(luma, SIDE)
    tint = [_press(whole.getchannel(name), TINT) for name in ("Cb", "Cr")]
    pixels = np.concatenate([grey.ravel(), np.stack(tint, axis=2).ravel()])
    values = np.asarray(luma)
    counts = np.bincount(values.ravel(), minlength=256)
    brightest = int(np.searchsorted(np.cumsum(counts), _BRIGHT * values.size))
    return pixels, measure_sharpness(values), float(min(brightest, 255))


def measure_sharpness(luma: np.ndarray) -> float:
    """Return the finest detail of a picture as a share of its coarser detail, about 0 to 1.5.

    1 for a picture that is too small to say.
    """
    if min(luma.shape) < 2 * _LEAST_PX:
        return 1.0
    level: np.ndarray = luma.astype(np.float32)
    strengths = [_strength(level)]
    while min(level.shape) >= 2 * _LEAST_PX and len(strengths) < _LEVELS:
        height, width = (side // 2 * 2 for side in level.shape)
        level = level[:height, :width]
        level = (level[::2, ::2] + level[1::2, ::2] + level[::2, 1::2] + level[1::2, 1::2]) / 4
        strengths.append(_strength(level))
    return (strengths[0] + _NOISE) / (max(strengths[1:]) + _NOISE)


def _strength(luma: np.ndarray) -> float:
    """Return how strong the Laplacian is where it is strong."""
    middle = luma[1:-1, 1:-1]
    around = luma[:-2, 1:-1] + luma[2:, 1:-1] + luma[1:-1, :-2] + luma[1:-1, 2:]
    laplacian = np.abs(4 * middle - around).ravel()
    last = round(_STRONG * (laplacian.size - 1))
    return float(np.partition(laplacian, last)[last:].mean())


def _press(channel: Image.Image, side: int) -> np.ndarray:
    return np.asarray(channel.resize((side, side), Image.Resampling.BILINEAR))

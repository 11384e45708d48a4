"""What a network is shown of a picture: which part, scaled to which size, in which numbers.

    usual     the middle square, .875 of the shorter side, in one resampling; pixels less ImageNet's
              mean, divided by its standard deviation: what most ONNX exports expect
    told      what a configuration file beside the network says
              (:mod:`fieldguide.features._network_config`)

A told preparation does what the program does that the network was trained with, step by step, so
that the numbers are the same: the picture is resized first, and what juts out is cut off then.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from PIL import Image

Box = tuple[float, float, float, float]
Triple = tuple[float, float, float]

CROP = 0.875  # a network of 224 px sees 224 of 256: the margin of the picture is left out
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and standard deviation
# A longer picture is cut to this before it is resized, which else takes memory without bound.
_LONGEST = 16


@dataclass(frozen=True)
class Preparation:
    """The usual preparation.

    Parameters
    ----------
    size_px : int
        Side of the square that the network is shown.
    mean, std : (float, float, float)
    divisor : float
        Of the pixels, before the mean is subtracted.
    """

    size_px: int
    mean: Triple = IMAGENET[0]
    std: Triple = IMAGENET[1]
    divisor: float = 255.0
    resampling: ClassVar[Image.Resampling] = Image.Resampling.BICUBIC

    def cut(self, image: Image.Image, box: Box) -> np.ndarray:
        """Return what the network is shown of a window of an RGB picture, uint8."""
        left, top, side = _find_square(box, *image.size)
        seen = image.resize(
            (self.size_px, self.size_px),
            self.resampling,
            box=(left, top, left + side, top + side),
            reducing_gap=2.0,
        )
        return np.asarray(seen)

    def find_area(self, box: Box, width: float, height: float) -> Box:
        """Return what the network is shown of a window, in shares of the picture's sides."""
        left, top, side = _find_square(box, width, height)
        return left / width, top / height, (left + side) / width, (top + side) / height

    def scale(self, pixels: np.ndarray) -> np.ndarray:
        """Return uint8 pixels (…, 3) as the numbers that the network takes, float32."""
        mean, std = np.array(self.mean, np.float32), np.array(self.std, np.float32)
        numbers: np.ndarray = (pixels.astype(np.float32) / np.float32(self.divisor) - mean) / std
        return numbers

    def tell(self) -> str:
        """Return what is done, as a clause."""
        return f"pictures are shown {self.tell_cut()}, {self.tell_numbers()}"

    def tell_cut(self) -> str:
        """Return which part of a picture is shown."""
        return f"by their middle square at {self.size_px} px"

    def tell_numbers(self) -> str:
        """Return what is done to the pixels."""
        mean, std = (" ".join(f"{each:.3g}" for each in part) for part in (self.mean, self.std))
        scaled = "" if self.divisor == 1 else f" divided by {self.divisor:.6g}"
        return f"pixels{scaled} less {mean}, over {std}"


@dataclass(frozen=True)
class ToldPreparation(Preparation):
    """A preparation that a configuration file tells.

    Parameters
    ----------
    resize_px : int
        To which the shorter side is scaled, or both.
    squashes : bool
        Whether both sides are scaled to ``resize_px``.
    resample : Image.Resampling
    rounds : bool
        Whether half a pixel of the margin is rounded to the nearest even number, as torchvision
        does, or down, as transformers does.
    """

    resize_px: int = 224
    squashes: bool = False
    resample: Image.Resampling = Image.Resampling.BICUBIC
    rounds: bool = False

    def cut(self, image: Image.Image, box: Box) -> np.ndarray:
        """Return what the network is shown of a window of an RGB picture, uint8."""
        x0, y0, x1, y1 = box
        width, height = image.size
        part = (x0 * width, y0 * height, x1 * width, y1 * height)
        part = _shorten(part, _LONGEST)
        wide, tall = self._resize(part[2] - part[0], part[3] - part[1])
        left, top = self._margin(wide), self._margin(tall)
        resized = image.resize((wide, tall), self.resample, box=part)
        return np.asarray(resized.crop((left, top, left + self.size_px, top + self.size_px)))

    def find_area(self, box: Box, width: float, height: float) -> Box:
        """Return what the network is shown of a window, in shares of the picture's sides."""
        x0, y0, x1, y1 = box
        across, down = (x1 - x0) * width, (y1 - y0) * height
        shorter = min(across, down)
        # Share of the window's sides that is cut off at each end.
        cut = [
            (1 - self.size_px / self.resize_px * (1 if self.squashes else shorter / side)) / 2
            for side in (across, down)
        ]
        left, top = cut[0] * (x1 - x0), cut[1] * (y1 - y0)
        return x0 + left, y0 + top, x1 - left, y1 - top

    def tell_cut(self) -> str:
        """Return which part of a picture is shown."""
        if self.squashes:
            shown = f"whole, both sides scaled to {self.resize_px} px"
        else:
            shown = f"by their middle, the shorter side scaled to {self.resize_px} px"
        cut = "" if self.size_px == self.resize_px else f" and cut to {self.size_px} px"
        if not self.squashes and not cut:
            cut = " and the longer one cut to it"
        return f"{shown}{cut} ({self.resample.name.lower()})"

    def _resize(self, width: float, height: float) -> tuple[int, int]:
        if self.squashes:
            return self.resize_px, self.resize_px
        shorter, longer = min(width, height), max(width, height)
        long_px = int(self.resize_px * longer / shorter)
        return (self.resize_px, long_px) if width <= height else (long_px, self.resize_px)

    def _margin(self, side_px: int) -> int:
        rest = side_px - self.size_px
        return round(rest / 2) if self.rounds else rest // 2


def _find_square(box: Box, width: float, height: float) -> tuple[float, float, float]:
    """Return left, top and side, in pixels, of the middle square of a window."""
    x0, y0, x1, y1 = box
    wide, tall = (x1 - x0) * width, (y1 - y0) * height
    side = min(wide, tall) * CROP
    return x0 * width + (wide - side) / 2, y0 * height + (tall - side) / 2, side


def _shorten(part: Box, longest: float) -> Box:
    """Return the middle of a part that is more than so many times as long as wide."""
    left, top, right, bottom = part
    wide, tall = right - left, bottom - top
    across, down = max(0.0, wide - longest * tall) / 2, max(0.0, tall - longest * wide) / 2
    return left + across, top + down, right - across, bottom - down

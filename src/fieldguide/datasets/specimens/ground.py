"""A background under construction, and the smooth noise that most of them begin with."""

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from fieldguide.datasets.specimens.outlines import Colour

_SHARPNESS = 2


class Ground:
    """A background under construction: a wash of colour first, then polygons on top."""

    def __init__(self, size_px: int, rng: np.random.Generator) -> None:
        self.rng = rng
        self.width_px = size_px * _SHARPNESS
        self.image = Image.new("RGB", (self.width_px, self.width_px))
        self._draw = ImageDraw.Draw(self.image)

    def wash(self, colours: list[Colour], texture: np.ndarray) -> None:
        """Cover everything: ``texture`` in [0, 1] picks between the colours."""
        stops = np.linspace(0, 255, len(colours))
        channels = np.array(colours, float).T
        palette = np.stack([np.interp(np.arange(256), stops, values) for values in channels], 1)
        # One plane is enlarged and then coloured, a third of the work of enlarging colours.
        index = Image.fromarray((np.clip(texture, 0, 1) * 255).astype(np.uint8))
        index = index.resize(self.image.size, Image.Resampling.BICUBIC)
        index.putpalette(palette.astype(np.uint8).tobytes())
        self.image.paste(index.convert("RGB"))

    def polygon(self, points: np.ndarray, colour: Colour) -> None:
        """Fill an outline with one colour."""
        self._draw.polygon((points * self.width_px).ravel().tolist(), fill=colour)

    def line(self, points: np.ndarray, colour: Colour, width: float) -> None:
        """Draw a line."""
        thick = max(1, round(width * self.width_px))
        self._draw.line((points * self.width_px).ravel().tolist(), fill=colour, width=thick)

    def disc(self, x: float, y: float, r: float, colour: Colour, squash: float = 1.0) -> None:
        """Fill a circle or a lying ellipse."""
        box = np.array([x - r, y - r * squash, x + r, y + r * squash]) * self.width_px
        self._draw.ellipse(box.tolist(), fill=colour)

    def blur(self, radius: float) -> None:
        """Put what has been drawn so far out of focus."""
        self.image = self.image.filter(ImageFilter.BoxBlur(radius * self.width_px))
        self._draw = ImageDraw.Draw(self.image)

    def finished(self) -> Image.Image:
        """Return the background at the size of the picture."""
        return self.image.reduce(_SHARPNESS)


def texture(
    rng: np.random.Generator, cells: int = 4, stretch: tuple[int, int] = (1, 1), n_octaves: int = 4
) -> np.ndarray:
    """Return smooth noise in about [0, 1] of shape (64, 64); ``stretch`` (x, y) makes streaks."""
    total = np.zeros((64, 64), np.float32)
    weight = 1.0
    for _ in range(n_octaves):
        shape = max(2, cells // stretch[1]), max(2, cells // stretch[0])
        noise = Image.fromarray(rng.random(shape, dtype=np.float32))
        total += weight * np.asarray(noise.resize((64, 64), Image.Resampling.BICUBIC))
        cells, weight = cells * 2, weight * 0.5
    total -= total.mean()
    return 0.5 + total * (0.22 / max(float(total.std()), 1e-6))

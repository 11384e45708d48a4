"""A pen that draws shapes in a creature's own coordinates, and keeps the truth of what it drew.

Every shape is given in local units (the creature is about one unit long, x to its front, y down)
and reaches the picture through one affine map.
Colour and cover go to two supersampled planes; beside them a small map of numbers, always
``TRUTH_PX`` wide, records which field mark every pixel belongs to.
A later shape hides an earlier one in both, so that boxes are those of what can be seen, and they
do not depend on the size of the picture.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import cast

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from fieldguide.datasets.specimens.outlines import Colour, Points, ellipse, ring, rotation

TRUTH_PX = 160
BODY = 1
_GRID = 9  # a wash of colour is computed on this many cells across and enlarged smoothly


class Pen:
    """Draws one layer of a picture and records the field marks in it.

    Parameters
    ----------
    size_px : int
        Width of the finished picture.
    rng : numpy.random.Generator
        Source of the fine mottling of the washes.
    sharpness : int, optional
        Supersampling; 3 where the picture is small, 2 where it is large.
    """

    def __init__(
        self, size_px: int, rng: np.random.Generator, sharpness: int | None = None
    ) -> None:
        self.sharpness = sharpness or (3 if size_px <= 256 else 2)
        self.width_px = size_px * self.sharpness
        size = (self.width_px, self.width_px)
        # Colour starts as ink: where an edge is smoothed it darkens, as an inked edge should.
        self.colour = Image.new("RGB", size, (60, 48, 42))
        self.cover = Image.new("L", size)
        self.truth = Image.new("L", (TRUTH_PX, TRUTH_PX))
        self.mark_names = ["", ""]  # numbers 0 and 1: not the creature, the creature itself
        self.warp: Callable[[np.ndarray], np.ndarray] | None = None
        self.scale = 1.0  # how large one local unit is, in fractions of the picture's width
        self._colour_draw = ImageDraw.Draw(self.colour)
        self._cover_draw = ImageDraw.Draw(self.cover)
        self._truth_draw = ImageDraw.Draw(self.truth)
        self._matrix = np.eye(2)
        self._offset = np.zeros(2)
        self._mottle = rng.normal(0, 2.2, (_GRID, _GRID, 1)) + rng.normal(0, 1.2, (_GRID, _GRID, 3))

    @contextmanager
    def placed(
        self, x: float = 0.0, y: float = 0.0, angle: float = 0.0, sx: float = 1.0, sy: float = 1.0
    ) -> Iterator[None]:
        """Draw inside with the origin at (x, y), turned by ``angle``, stretched by (sx, sy)."""
        before = self._matrix, self._offset, self.scale
        self._offset = self._offset + self._matrix @ (x, y)
        self._matrix = self._matrix @ rotation(angle) * (sx, sy)
        self.scale *= float(abs(sx * sy)) ** 0.5
        try:
            yield
        finally:
            self._matrix, self._offset, self.scale = before

    def new_mark(self, name: str) -> int:
        """Return the number of a new field mark called ``name``; a name may occur many times."""
        self.mark_names.append(name)
        return len(self.mark_names) - 1

    def mark(self, name: str) -> int:
        """Return the number of the one field mark called ``name``."""
        if name in self.mark_names:
            return self.mark_names.index(name)
        return self.new_mark(name)

    def to_picture(self, points: Points) -> np.ndarray:
        """Return local ``points`` in fractions of the picture's width."""
        points = np.asarray(points, float)
        if self.warp is not None:
            points = self.warp(points)
        placed: np.ndarray = points @ self._matrix.T + self._offset
        return placed

    def fill(
        self,
        points: Points,
        colour: Colour | Sequence[Colour],
        *,
        axis: Points | None = None,
        clip: Points | None = None,
        soft: float = 0.0,
        opacity: float = 1.0,
        ink: Colour | None = None,
        width: float = 0.008,
        mark: str | int | None = None,
        part: int | None = BODY,
    ) -> None:
        """Fill an outline.

        Parameters
        ----------
        points, clip : array of shape (n, 2)
            The outline, and optionally a second one that it must stay within.
        colour : colour or list of colours
            A list is a wash from the first to the last along ``axis``, two points
            (by default from the top of the shape to its bottom).
        soft : float
            Blur of the edge, in local units. A soft shape colours only what is drawn already.
        opacity : float
            Less than one lets what is drawn below shine through.
        ink, width : colour, float
            Edge line and its width in local units.
        mark : str or int
            Name of the field mark that this shape shows, or a number of ``new_mark``.
        part : int or None
            What the truth map records without a mark: the creature (``BODY``), something else (0),
            or nothing at all (None), the right thing for shading and pattern inside a part.
        """
        where = self.to_picture(points)
        inside = None if clip is None else self.to_picture(clip)
        if mark is None and (clip is not None or soft or opacity < 1):
            part = None
        self._record(where, inside, part if mark is None else self._number(mark))
        where *= self.width_px
        tint = _stops(colour)
        if len(tint) == 1 and clip is None and not soft and opacity == 1:
            self._colour_draw.polygon(where.ravel().tolist(), fill=tint[0])
        else:
            ends = None if axis is None else self.to_picture(axis) * self.width_px
            inside = None if inside is None else inside * self.width_px
            self._wash(where, tint, ends, inside, soft * self.scale * self.width_px, opacity)
        if clip is None and not soft and opacity == 1:
            self._cover_draw.polygon(where.ravel().tolist(), fill=255)
        if ink is not None:
            self._stroke(ring(where), ink, width)

    def line(
        self,
        points: Points,
        colour: Colour,
        width: float = 0.008,
        mark: str | int | None = None,
        part: int | None = None,
    ) -> None:
        """Draw a line of ``width`` local units; the truth map records it only if asked to."""
        where = self.to_picture(points)
        number = part if mark is None else self._number(mark)
        if number is not None:
            thick = max(1, round(width * self.scale * TRUTH_PX))
            self._truth_draw.line((where * TRUTH_PX).ravel().tolist(), fill=number, width=thick)
        self._stroke(where * self.width_px, colour, width)

    def dots(self, points: Points, radius: float, colour: Colour) -> None:
        """Draw small round dots that the truth map does not record."""
        r = max(0.5, radius * self.scale * self.width_px)
        for x, y in (self.to_picture(points) * self.width_px).tolist():
            self._colour_draw.ellipse((x - r, y - r, x + r, y + r), fill=colour)

    def sheet(self, points: Points, colour: Colour, opacity: float, part: int | None = 0) -> None:
        """Draw something that the background shines through: a clear wing, a bubble, a shade."""
        where = self.to_picture(points)
        self._record(where, None, part)
        where *= self.width_px
        self._colour_draw.polygon(where.ravel().tolist(), fill=colour)
        self._cover_draw.polygon(where.ravel().tolist(), fill=round(255 * opacity))

    def erase(self, points: Points) -> None:
        """Take away what has been drawn inside an outline, as water does below its surface."""
        where = self.to_picture(points)
        self._record(where, None, 0)
        self._cover_draw.polygon((where * self.width_px).ravel().tolist(), fill=0)

    def region(self, points: Points, mark: str | int, clip: Points | None = None) -> None:
        """Record an outline as (part of) a mark without drawing anything."""
        inside = None if clip is None else self.to_picture(clip)
        self._record(self.to_picture(points), inside, self._number(mark))

    def eye(
        self, x: float, y: float, r: float, iris: Colour = (30, 24, 24), pupil: float = 0.0
    ) -> None:
        """Draw an eye with a glint; ``pupil`` is its share of the iris."""
        self.fill(ellipse(x, y, r), iris, ink=(28, 22, 22), width=r * 0.3)
        if pupil:
            self.dots([(x, y)], r * pupil, (22, 18, 20))
        self.dots([(x + r * 0.3, y - r * 0.35)], r * 0.3, (255, 255, 250))

    def _number(self, mark: str | int) -> int:
        return mark if isinstance(mark, int) else self.mark(mark)

    def _stroke(self, where: np.ndarray, colour: Colour, width: float) -> None:
        thick = max(1, round(width * self.scale * self.width_px))
        joint = "curve" if thick > 4 else None
        xy = where.ravel().tolist()
        self._colour_draw.line(xy, fill=colour, width=thick, joint=joint)
        self._cover_draw.line(xy, fill=255, width=thick, joint=joint)

    def _record(self, where: np.ndarray, inside: np.ndarray | None, part: int | None) -> None:
        if part is None:
            return
        where = where * TRUTH_PX
        if inside is None:
            self._truth_draw.polygon(where.ravel().tolist(), fill=part)
            return
        mask, corner = _mask_of(where, inside * TRUTH_PX, TRUTH_PX, 255, 0.0)
        if mask is not None:
            self.truth.paste(part, corner, mask)

    def _wash(
        self,
        where: np.ndarray,
        tint: list[Colour],
        axis: np.ndarray | None,
        inside: np.ndarray | None,
        blur: float,
        opacity: float,
    ) -> None:
        mask, corner = _mask_of(where, inside, self.width_px, round(255 * opacity), blur)
        if mask is None:
            return
        if len(tint) == 1:
            self.colour.paste(tint[0], corner, mask)
            return
        if axis is None:
            axis = np.array([where.min(axis=0), where.max(axis=0)])
            axis[:, 0] = axis[:, 0].mean()
        self.colour.paste(self._tile(tint, axis - corner, *mask.size), corner, mask)

    def _tile(self, tint: list[Colour], axis: np.ndarray, w: int, h: int) -> Image.Image:
        """Return a rectangle filled with the wash, computed on a small grid and enlarged."""
        along = axis[1] - axis[0]
        along = along / max(float(along @ along), 1e-9)
        centre = _grid_centres()
        t = (centre * w - axis[0, 0]) * along[0] + ((centre * h - axis[0, 1]) * along[1])[:, None]
        stops = np.array(tint, float)
        place = np.minimum(np.maximum(t, 0), 1) * (len(stops) - 1)
        floor = np.minimum(place.astype(int), len(stops) - 2)
        start = stops[floor]
        grid = start + (stops[floor + 1] - start) * (place - floor)[..., None] + self._mottle
        grid = np.minimum(np.maximum(grid, 0), 255).astype(np.uint8)
        return Image.fromarray(grid).resize((w, h), Image.Resampling.BILINEAR)


def _stops(colour: Colour | Sequence[Colour]) -> list[Colour]:
    if isinstance(colour[0], int):
        return [cast(Colour, colour)]
    return list(cast(Sequence[Colour], colour))


@lru_cache(maxsize=1)
def _grid_centres() -> np.ndarray:
    return (np.arange(_GRID) + 0.5) / _GRID


def _mask_of(
    where: np.ndarray, inside: np.ndarray | None, width_px: int, value: int, blur: float
) -> tuple[Image.Image | None, tuple[int, int]]:
    """Return the mask of an outline within another, and the corner where it belongs."""
    margin = 2 * blur + 1
    low, high = where.min(axis=0) - margin, where.max(axis=0) + margin
    x0, y0 = max(int(low[0]), 0), max(int(low[1]), 0)
    x1, y1 = min(int(high[0]) + 1, width_px), min(int(high[1]) + 1, width_px)
    if inside is not None:
        edge_low, edge_high = inside.min(axis=0), inside.max(axis=0)
        x0, y0 = max(x0, int(edge_low[0])), max(y0, int(edge_low[1]))
        x1, y1 = min(x1, int(edge_high[0]) + 2), min(y1, int(edge_high[1]) + 2)
    if x1 <= x0 or y1 <= y0:
        return None, (x0, y0)
    mask = Image.new("L", (x1 - x0, y1 - y0))
    ImageDraw.Draw(mask).polygon((where - (x0, y0)).ravel().tolist(), fill=value)
    if blur:
        mask = mask.filter(ImageFilter.BoxBlur(blur))
    if inside is not None:
        bound = Image.new("L", mask.size)
        ImageDraw.Draw(bound).polygon((inside - (x0, y0)).ravel().tolist(), fill=255)
        mask = ImageChops.multiply(mask, bound)
    return mask, (x0, y0)

"""Local binary patterns: the texture of a picture as the ways in which a pixel meets its ring.

Each pixel is compared with P points on a circle of radius R around it, bilinear between pixels;
the P answers "at least as light as the middle" are its pattern. Patterns with at most two changes
around the circle are uniform: none light, all light, or one arc of k light points that starts at
one of P places. Those are P·(P − 1) + 2 bins; all other patterns share one more.

    P = 8: 59 bins      P = 12: 135 bins      P = 16: 243 bins

Each cell of each grid of a pyramid is a histogram; all of them together sum to 1. The picture is
mirrored at its sides, so that every pixel counts.

Reference: T. Ojala, M. Pietikäinen, T. Mäenpää, "Multiresolution gray-scale and rotation
invariant texture classification with local binary patterns", IEEE Transactions on Pattern
Analysis and Machine Intelligence 24 (2002).
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from fieldguide._check import check_number
from fieldguide._jit import jit
from fieldguide.errors import InvalidArgument
from fieldguide.features.transformer import Column, ImageTransformer, check_levels, shrink, to_grey

MOST_CELLS = 16
MOST_POINTS = 16
# Interpolating between equal pixels may end a rounding error below them; a 255th is 400 times it.
ROUNDING = np.float32(1e-5)


class LocalBinaryPatterns(ImageTransformer):
    """Histograms of uniform local binary patterns in a pyramid, one row per image; rows sum to 1.

    Parameters
    ----------
    rings : tuple of (int, float)
        Points on each circle, 4 to 16, and its radius in pixels.
    levels : tuple of int
        Cells per side of each grid.
    max_side_px : int
        Larger pictures are first shrunk to this longer side: textures have a scale.
    n_jobs : int, optional
        Threads; -1 is all cores. The answer does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.features import LocalBinaryPatterns
    >>> texture = LocalBinaryPatterns(rings=((8, 1),), levels=(1, 2))
    >>> texture.fit_transform(np.eye(64)[None]).shape
    (1, 295)
    >>> texture.get_feature_names_out()[[0, 9, 58]].tolist()
    ['darker all around at 1 px', 'lighter at 2 of 8 points at 1 px, about 22.5°', 'mixed at 1 px']
    """

    def __init__(
        self,
        rings: tuple[tuple[int, float], ...] = ((8, 1), (8, 2), (8, 4)),
        *,
        levels: tuple[int, ...] = (1, 2, 4),
        max_side_px: int = 160,
        n_jobs: int | None = 1,
    ) -> None:
        self.rings = rings
        self.levels = levels
        self.max_side_px = max_side_px
        self.n_jobs = n_jobs

    def _check_arguments(self) -> None:
        owner = "LocalBinaryPatterns"
        check_levels(owner, self.levels, MOST_CELLS, "(1, 2, 4)")
        rings = self.rings
        if not isinstance(rings, (tuple, list)) or not len(rings):
            raise InvalidArgument(
                f"rings of {owner} must be a tuple, ((8, 1), (8, 2)) say; got {rings!r}."
            )
        if len({str(ring) for ring in rings}) < len(rings):
            raise InvalidArgument(f"rings of {owner} must differ from each other; got {rings!r}.")
        for ring in self.rings:
            if not isinstance(ring, (tuple, list)) or len(ring) != 2:
                raise InvalidArgument(
                    f"rings of {owner} must be pairs of points and radius, ((8, 1), (8, 2)) say; "
                    f"got {self.rings!r}."
                )
            check_number(owner, "rings (points)", ring[0], 4, MOST_POINTS, integer=True)
            check_number(owner, "rings (radius)", ring[1], 1, 16)
        check_number(owner, "max_side_px", self.max_side_px, 16, 4096, integer=True)

    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        grey = to_grey(shrink(pixels, self.max_side_px))
        parts = []
        for n_points, radius in self.rings:
            patterns = label_patterns(grey, n_points, radius)
            for n in self.levels:
                counts = np.zeros((n, n, n_bins(n_points)))
                count_cells(patterns, counts)
                parts.append(counts.ravel())
        row = np.concatenate(parts)
        row /= row.sum()
        return row.astype(np.float32)

    def _columns(self) -> list[Column]:
        columns = []
        for n_points, radius in self.rings:
            names = _pattern_names(n_points, radius)
            for n in self.levels:
                for row in range(n):
                    for column in range(n):
                        place = (
                            f", in row {row + 1}, column {column + 1} of {n}×{n}" if n > 1 else ""
                        )
                        window = (column / n, row / n, (column + 1) / n, (row + 1) / n)
                        columns += [Column(f"{name}{place}", window) for name in names]
        return columns


def n_bins(n_points: int) -> int:
    """Return the number of uniform patterns and one for all others."""
    return n_points * (n_points - 1) + 3


def label_patterns(grey: np.ndarray, n_points: int, radius: float) -> np.ndarray:
    """Return the bin of each pixel of a float32 picture (h, w): int32 (h, w).

    Bin 0 is none light; 1 + (k − 1)·P + s an arc of k light points from point s on, counter-
    clockwise from the right; P·(P − 1) + 1 all light; the last bin all that is not uniform.
    """
    margin = math.ceil(radius)
    padded = np.pad(grey, margin, mode="symmetric")
    turns = 2 * np.pi * np.arange(n_points) / n_points
    # rounded, so that points that lie on pixels are those pixels
    down = np.round(-radius * np.sin(turns), 6)
    right = np.round(radius * np.cos(turns), 6)
    patterns = np.zeros(grey.shape, dtype=np.int32)
    compare_rings(padded, margin, down, right, _bin_of_pattern(n_points), patterns)
    return patterns


class Arc(NamedTuple):
    """A run of light points around the circle."""

    n_light: int
    start: int


def _arcs(n_points: int) -> list[Arc]:
    return [Arc(k, s) for k in range(1, n_points) for s in range(n_points)]


@cache
def _bin_of_pattern(n_points: int) -> np.ndarray:
    """Return the bin of each of 2^P patterns; bit p is point p."""
    bins = np.full(2**n_points, n_bins(n_points) - 1, dtype=np.int32)
    bins[0], bins[-1] = 0, n_bins(n_points) - 2
    for i, arc in enumerate(_arcs(n_points)):
        light = ((arc.start + k) % n_points for k in range(arc.n_light))
        bins[sum(1 << p for p in light)] = i + 1
    bins.setflags(write=False)
    return bins


def _pattern_names(n_points: int, radius: float) -> list[str]:
    """Name each bin as seen: 0° is to the right, 90° is up."""
    at = f"at {radius:g} px"
    arcs = [
        f"lighter at {n_light} of {n_points} points {at}, about "
        f"{(start + (n_light - 1) / 2) * 360 / n_points % 360:.4g}°"
        for n_light, start in _arcs(n_points)
    ]
    return [f"darker all around {at}", *arcs, f"flat or a dark spot {at}", f"mixed {at}"]


@jit
def compare_rings(
    padded: np.ndarray,
    margin: int,
    down: np.ndarray,
    right: np.ndarray,
    bin_of_pattern: np.ndarray,
    patterns: np.ndarray,
) -> None:
    """Fill ``patterns`` (h, w), zero before, from the padded picture; down, right (P,) are the
    ring. O(hwP).
    """
    height, width = patterns.shape
    n_points = len(down)
    for p in range(n_points):
        top, left = math.floor(down[p]), math.floor(right[p])
        v, u = np.float32(down[p] - top), np.float32(right[p] - left)
        one = np.float32(1)
        corner, beside, below, across = (one - v) * (one - u), (one - v) * u, v * (one - u), v * u
        y1, x1 = (1 if v > 0 else 0), (1 if u > 0 else 0)  # never beyond the margin
        bit = np.int32(1 << p)
        for row in range(height):
            i, j = row + margin + top, margin + left
            # views from 0 on let the compiler take several pixels at a time
            here, right_of = padded[i, j : j + width], padded[i, j + x1 : j + x1 + width]
            under, right_under = (
                padded[i + y1, j : j + width],
                padded[i + y1, j + x1 : j + x1 + width],
            )
            middle, pattern = padded[row + margin, margin : margin + width], patterns[row]
            for x in range(width):
                value = (
                    corner * here[x]
                    + beside * right_of[x]
                    + below * under[x]
                    + across * right_under[x]
                )
                pattern[x] |= bit if value - middle[x] >= -ROUNDING else np.int32(0)
    for row in range(height):
        for column in range(width):
            patterns[row, column] = bin_of_pattern[patterns[row, column]]


@jit
def count_cells(patterns: np.ndarray, counts: np.ndarray) -> None:
    """Add each pixel of ``patterns`` (h, w) to its cell and bin of ``counts`` (r, q, bins)."""
    height, width = patterns.shape
    n_rows, n_columns = counts.shape[:2]
    for y in range(height):
        for x in range(width):
            counts[y * n_rows // height, x * n_columns // width, patterns[y, x]] += 1

"""Leaves of trees, green or in autumn colours, lying or pressed."""

from dataclasses import dataclass

import numpy as np

from fieldguide.datasets.specimens.canvas import BODY, Pen
from fieldguide.datasets.specimens.outlines import (
    Colour,
    closed,
    curve,
    darker,
    ellipse,
    lighter,
    mix,
    moved,
    path,
    ring,
    taper,
    vary,
)


@dataclass(frozen=True)
class Leaf:
    """Shape of a leaf: which outline, and the colours of its autumn."""

    shape: str
    autumn: tuple[Colour, ...]


_GREENS = ((112, 140, 72), (134, 152, 80), (92, 124, 74))
_OAK_HALF = path(
    "8,330 40,290 75,255 110,250 105,205 75,175 130,150 190,125 185,75 110,45 165,10 "
    "225,-40 215,-95 115,-95 150,-150 185,-200 160,-250 85,-235 75,-285 60,-340 0,-365"
)
_MAPLE_HALF = path(
    "0,270 60,255 130,290 150,255 265,245 240,205 305,185 205,120 265,95 330,65 352,82 "
    "365,28 445,10 400,-30 432,-115 350,-88 325,-130 245,-72 135,-40 185,-150 168,-205 "
    "215,-250 158,-258 150,-312 85,-292 60,-370 0,-455"
)


def draw(pen: Pen, rng: np.random.Generator, look: Leaf, stance: str, phase: float) -> set[str]:
    """Draw a leaf, its tip up."""
    is_autumn = rng.random() < 0.5
    choices = look.autumn if is_autumn else _GREENS
    colour = vary(rng, choices[rng.integers(len(choices))], 11)
    other = vary(rng, choices[rng.integers(len(choices))], 11)
    vein = (
        lighter(colour, 0.4) if not is_autumn else mix(lighter(colour, 0.25), (150, 100, 60), 0.3)
    )
    outline = _OUTLINES[look.shape](rng)
    sway = rng.normal(0, 0.25)

    def bend(points: np.ndarray) -> np.ndarray:
        return points + np.stack([sway * points[:, 1] ** 2, 0.1 * sway * points[:, 0]], axis=1)

    pen.warp = bend
    try:
        stem = curve([(0, 0.25), (0.008, 0.38), (0.03 + rng.normal(0, 0.03), 0.5)])
        pen.fill(
            taper(stem, 0.02, 0.026),
            mix(colour, (140, 100, 66), 0.5),
            ink=darker(colour, 0.5),
            width=0.006,
            mark="stalk",
        )
        pen.fill(
            outline,
            [lighter(colour, 0.12), colour, mix(colour, other, 0.6), darker(other, 0.1)],
            axis=[(-0.2, -0.4), (0.2, 0.35)],
            ink=darker(colour, 0.6),
        )
        _EDGES[look.shape](pen, outline)
        inner = closed(outline[::5] * 0.8, 3)
        pen.fill(inner, colour, mark=None, part=None, soft=0.03, opacity=0.25)
        _VEINS[look.shape](pen, vein, darker(colour, 0.3))
        words = _damage(pen, rng, colour)
        pen.line(ring(outline), darker(colour, 0.6), 0.008)
    finally:
        pen.warp = None
    return words | {"autumn colours" if is_autumn else "mostly green"}


def _damage(pen: Pen, rng: np.random.Generator, colour: Colour) -> set[str]:
    if rng.random() < 0.55:
        return set()
    for _ in range(rng.integers(2, 7)):
        x, y, r = rng.uniform(-0.1, 0.1), rng.uniform(-0.25, 0.2), rng.uniform(0.008, 0.022)
        pen.fill(
            ellipse(x, y, r, r * 0.8),
            (112, 78, 56),
            ink=darker(colour, 0.3),
            width=0.006,
            part=None,
        )
    return {"blotched"}


def _both_sides(half: np.ndarray) -> np.ndarray:
    return np.concatenate([half, (half * (-1, 1))[::-1][1:]])


def _oak(rng: np.random.Generator) -> np.ndarray:
    return closed(_jitter(rng, _both_sides(_OAK_HALF), 0.008), 4)


def _maple(rng: np.random.Generator) -> np.ndarray:
    points = _jitter(rng, _both_sides(_MAPLE_HALF), 0.007)
    # Straight runs keep the points sharp; one extra point a side keeps them slightly hollow.
    nxt = np.roll(points, -1, axis=0)
    middle = (points + nxt) / 2 * 0.985
    return np.stack([points, middle], axis=1).reshape(-1, 2)


def _birch(rng: np.random.Generator) -> np.ndarray:
    return _toothed(rng, path("0,300 120,255 215,140 225,40 170,-110 80,-260 0,-420"), 15, 0.026)


def _toothed(rng: np.random.Generator, half: np.ndarray, n_teeth: int, depth: float) -> np.ndarray:
    edge = curve(half, 12)
    along = np.linspace(0, len(edge) - 1, 2 * n_teeth + 1)
    points = np.stack([np.interp(along, np.arange(len(edge)), edge[:, k]) for k in (0, 1)], axis=1)
    points[1:-1:2] *= np.array([1 + depth * 4, 1.0])
    points[1:-1:2, 1] -= depth
    points[1:-1] += rng.normal(0, 0.004, points[1:-1].shape)
    return _both_sides(points)


def _jitter(rng: np.random.Generator, points: np.ndarray, amount: float) -> np.ndarray:
    return points + rng.normal(0, amount, points.shape)


def _feather_veins(pen: Pen, vein: Colour, shade: Colour) -> None:
    top, wide = -0.33, 0.17
    pen.line([(0, 0.31), (0, top)], vein, 0.014)
    for y in np.linspace(0.2, top + 0.12, 7):
        reach = wide * (1 - 0.75 * max(0.05 - y, 0) / 0.4 - 0.35 * max(y - 0.1, 0) / 0.4)
        for side in (-1, 1):
            line = curve([(0, y), (side * reach * 0.55, y - 0.05), (side * reach, y - 0.115)], 4)
            pen.line(moved(line, 0.004, 0.005), shade, 0.006)
            pen.line(line, vein, 0.008)


def _oak_veins(pen: Pen, vein: Colour, shade: Colour) -> None:
    pen.line(curve([(0, 0.33), (0, -0.3)]), vein, 0.014)
    for y, x, rise in (
        (0.2, 0.12, 0.06),
        (0.14, 0.16, 0.03),
        (0.0, 0.19, 0.06),
        (-0.15, 0.15, 0.06),
    ):
        for side in (-1, 1):
            line = curve([(0, y), (side * x * 0.5, y - rise * 0.4), (side * x, y - rise)], 4)
            pen.line(moved(line, 0.004, 0.005), shade, 0.006)
            pen.line(line, vein, 0.009)


def _palm_veins(pen: Pen, vein: Colour, shade: Colour) -> None:
    for end in ((0, -0.4), (0.37, -0.045), (-0.37, -0.045), (0.25, 0.205), (-0.25, 0.205)):
        base = np.array([0, 0.24])
        line = curve([base, (base + end) / 2 + (0, -0.012), end], 4)
        pen.line(moved(line, 0.004, 0.005), shade, 0.006)
        pen.line(line, vein, 0.012)
        for t in (0.35, 0.55, 0.72):
            at = base + (np.array(end) - base) * t
            off = (np.array(end) - base) * 0.13 * (1.2 - t) / 0.7
            for side in (-1, 1):
                pen.line([at, at + off + side * np.array([-off[1], off[0]]) * 0.8], vein, 0.006)


def _mark_lobes(pen: Pen, outline: np.ndarray) -> None:
    for x, y in ((0.17, 0.11), (0.19, -0.07), (0.15, -0.21)):
        for side in (-1, 1):
            pen.region(ellipse(side * x, y, 0.075), pen.new_mark("lobe"), clip=outline)


def _mark_points(pen: Pen, outline: np.ndarray) -> None:
    for x, y in ((0, -0.37), (0.35, -0.05), (-0.35, -0.05), (0.25, 0.2), (-0.25, 0.2)):
        pen.region(ellipse(x, y, 0.09), pen.new_mark("point"), clip=outline)


def _mark_teeth(pen: Pen, outline: np.ndarray) -> None:
    pen.region(outline, "teeth")
    pen.region(outline * 0.72, BODY)


_OUTLINES = {"oak": _oak, "maple": _maple, "birch": _birch}
_VEINS = {"oak": _oak_veins, "maple": _palm_veins, "birch": _feather_veins}
_EDGES = {"oak": _mark_lobes, "maple": _mark_points, "birch": _mark_teeth}

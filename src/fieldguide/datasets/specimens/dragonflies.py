"""Dragonflies seen from above: four clear wings and a long jointed tail."""

from dataclasses import dataclass

import numpy as np

from fieldguide.datasets.specimens.canvas import Pen
from fieldguide.datasets.specimens.outlines import (
    Colour,
    closed,
    curve,
    darker,
    ellipse,
    lighter,
    path,
    ring,
    taper,
    vary,
)

INK = (44, 40, 44)


@dataclass(frozen=True)
class Dragonfly:
    """Colours of a dragonfly."""

    body: Colour
    thorax: Colour
    eye: Colour
    band: Colour | None = None
    club: Colour | None = None


_FORE = path("20,0 110,-42 260,-62 430,-60 492,-28 470,14 350,30 200,28 70,22")
_HIND = path("20,0 110,-34 250,-50 400,-46 462,-14 430,34 310,66 160,72 60,40")


def draw(
    pen: Pen, rng: np.random.Generator, look: Dragonfly, stance: str, phase: float
) -> set[str]:
    """Draw a dragonfly, head up; its wings quiver with ``phase``."""
    body, thorax = vary(rng, look.body), vary(rng, look.thorax)
    quiver = 0.12 * np.sin(2 * np.pi * phase)
    lean = rng.normal(0, 0.08)
    for side in (-1, 1):
        reach = np.clip(1 + side * lean, 0.75, 1.0)
        for points, y, angle in ((_HIND, -0.1, 0.16 - quiver), (_FORE, -0.17, -0.2 + quiver)):
            with pen.placed(0, y, 0, side * reach), pen.placed(0.02, 0, angle):
                _draw_wing(pen, rng, look, points)
    _draw_tail(pen, rng, look, body)
    pen.fill(
        ellipse(0, -0.165, 0.062, 0.095),
        [lighter(thorax, 0.25), thorax, darker(thorax, 0.25)],
        ink=INK,
    )
    for side in (-1, 1):
        pen.line(
            curve([(side * 0.02, -0.24), (side * 0.035, -0.17), (side * 0.02, -0.1)]),
            darker(thorax, 0.5),
            0.012,
        )
    pen.fill(ellipse(0, -0.275, 0.05, 0.035), darker(thorax, 0.2), ink=INK, width=0.008)
    eye = vary(rng, look.eye)
    for side in (-1, 1):
        pen.fill(
            ellipse(side * 0.045, -0.29, 0.04, 0.046, side * 0.4),
            [lighter(eye, 0.35), eye, darker(eye, 0.2)],
            ink=INK,
            width=0.008,
        )
        pen.dots([(side * 0.045 - 0.01, -0.305)], 0.009, (255, 255, 250))
    return set()


def _draw_wing(pen: Pen, rng: np.random.Generator, look: Dragonfly, points: np.ndarray) -> None:
    wing = closed(points, 5)
    glass = (224, 232, 226)
    pen.sheet(wing, glass, 0.45, part=1)
    if look.band is not None:
        band = closed(path("235,-90 330,-90 345,0 330,100 240,100 225,0"), 3)
        pen.fill(band, vary(rng, look.band, 8), clip=wing, mark=pen.new_mark("wing band"))
    ink = (104, 98, 92)
    for t in (-0.7, -0.35, 0.0, 0.4):
        pen.line(
            curve([(0.03, 0.0), (0.25, 0.05 * t), (0.46 - abs(t) * 0.06, 0.055 * t - 0.015)], 4),
            ink,
            0.005,
        )
    for x in np.arange(0.1, 0.44, 0.055):
        pen.line([(x, -0.045), (x + 0.012, 0.03)], ink, 0.004)
    pen.line(ring(wing), INK, 0.008)
    pen.line(curve(points[:5]), INK, 0.012)
    stigma = path("385,-62 435,-58 435,-42 385,-46")
    pen.fill(stigma, (70, 52, 48), part=None)


def _draw_tail(pen: Pen, rng: np.random.Generator, look: Dragonfly, body: Colour) -> None:
    bend = rng.normal(0, 0.05)
    line = curve([(0, -0.1), (bend * 0.3, 0.12), (bend, 0.32), (bend * 1.6, 0.5)], 6)
    outline = taper(line, 0.07, 0.036, 0.05)
    pen.fill(outline, [lighter(body, 0.25), body, darker(body, 0.15)], ink=INK)
    for k in range(3, len(line) - 1, 2):
        x, y = line[k]
        pen.line([(x - 0.024, y), (x + 0.024, y)], darker(body, 0.5), 0.008)
    if look.club is not None:
        pen.fill(
            taper(line[-6:], 0.045, 0.03, 0.07),
            look.club,
            ink=INK,
            width=0.008,
            mark="dark tail tip",
        )

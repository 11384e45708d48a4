"""Ducks, seen from the side: afloat on a pond or standing on the shore."""

from dataclasses import dataclass

import numpy as np

from fieldguide.datasets.specimens.canvas import Pen
from fieldguide.datasets.specimens.outlines import (
    Colour,
    closed,
    curve,
    darker,
    lighter,
    moved,
    path,
    ring,
    taper,
    vary,
)

INK = (52, 40, 38)
_ORANGE = (214, 130, 58)


@dataclass(frozen=True)
class Drake:
    """Colours of a duck; None where the kind lacks the mark."""

    head: Colour
    breast: Colour
    flank: Colour
    back: Colour
    beak: Colour
    ring: Colour | None = None
    wing_patch: Colour | None = None
    head_mark: str = "green head"


_HULL = path(
    "318,40 300,-40 240,-75 120,-85 -40,-110 -210,-105 -330,-75 -430,-120 -480,-125 "
    "-440,-40 -370,60 -250,150 -60,190 140,180 270,120"
)
_HEAD = path(
    "300,40 345,-70 365,-150 415,-200 425,-265 380,-325 300,-330 240,-285 "
    "225,-210 225,-120 190,-40 240,30"
)
_DUCK_WING = path("190,-55 90,-100 -60,-120 -230,-100 -370,-60 -250,0 -90,60 70,60 160,20")


def draw(pen: Pen, rng: np.random.Generator, look: Drake, stance: str, phase: float) -> set[str]:
    """Draw a drake that faces right, on its waterline or on its feet."""
    head, breast, flank, back = (
        vary(rng, c, 9) for c in (look.head, look.breast, look.flank, look.back)
    )
    stretch = rng.normal(0, 0.1)
    if stance == "standing":
        for x in (0.0, 0.1):
            pen.line(
                curve([(x, 0.15), (x + 0.01, 0.24), (x - 0.01, 0.3)]),
                vary(rng, _ORANGE),
                0.028,
                part=1,
            )
            foot = curve(moved(path("-20,295 100,330 50,345 -40,330"), x, 0), 4)
            pen.fill(foot, vary(rng, _ORANGE), ink=INK, width=0.007, mark="feet")
    hull = closed(_HULL)
    tail = darker(flank, 0.55)
    pen.fill(hull, [lighter(flank, 0.15), flank, darker(flank, 0.3)], ink=INK)
    rear = closed(path("-300,-140 -500,-150 -420,60 -300,120 -270,0"))
    pen.fill(rear, [tail, darker(tail, 0.3)], clip=hull, soft=0.008)
    chest = closed(path("330,60 310,-60 180,-110 150,0 170,110 250,180 330,150"))
    pen.fill(chest, [breast, darker(breast, 0.25)], clip=hull, soft=0.012)
    _vermiculate(pen, rng, flank)
    pen.line(ring(hull), INK, 0.008)
    _draw_duck_wing(pen, rng, look, back)
    with pen.placed(0.27, 0.0, stretch), pen.placed(-0.27, 0.0):
        _draw_duck_head(pen, rng, look, head)
    if stance == "swimming":
        _draw_waterline(pen, rng)
    return set()


def _vermiculate(pen: Pen, rng: np.random.Generator, flank: Colour) -> None:
    ink = darker(flank, 0.2)
    for x, y in zip(rng.uniform(-0.22, 0.13, 16), rng.uniform(0.05, 0.14, 16), strict=True):
        pen.line([(x, y), (x + 0.03, y - 0.008), (x + 0.055, y)], ink, 0.005)


def _draw_duck_wing(pen: Pen, rng: np.random.Generator, look: Drake, back: Colour) -> None:
    wing = closed(_DUCK_WING)
    pen.fill(moved(wing, 0, 0.02), (60, 48, 42), soft=0.015, opacity=0.3)
    pen.fill(wing, [lighter(back, 0.2), back, darker(back, 0.25)], ink=INK)
    if look.wing_patch is not None:
        blue = vary(rng, look.wing_patch)
        for line, colour in (
            (path("-215,35 -60,50"), (244, 240, 230)),
            (path("-200,20 -70,32"), blue),
        ):
            pen.fill(taper(line, 0.07, 0.06), colour, clip=wing, mark="wing patch")
    for k in range(5):
        y = -0.075 + 0.027 * k
        feather = curve(
            [(0.11 - 0.03 * k, y), (-0.1, y - 0.004), (-0.31 + 0.015 * k, y * 0.6 - 0.03)], 4
        )
        pen.line(feather, darker(back, 0.4), 0.006)
    pen.line(ring(wing), INK, 0.008)


def _draw_duck_head(pen: Pen, rng: np.random.Generator, look: Drake, head: Colour) -> None:
    neck = closed(_HEAD)
    pen.fill(
        neck, [lighter(head, 0.22), head, darker(head, 0.3)], axis=path("390,-320 230,-40"), ink=INK
    )
    if look.ring is not None:
        ring = curve(path("190,-105 270,-75 370,-105"))
        pen.fill(taper(ring, 0.036, 0.036, 0.042), look.ring, clip=neck, mark="neck ring")
    pen.region(neck, look.head_mark, clip=path("150,-340 450,-340 450,-110 150,-110"))
    under = closed(path("150,-20 200,-70 270,-45 345,-70 340,30 240,60"))
    pen.fill(under, vary(rng, look.breast, 6), clip=neck, soft=0.006)
    pen.line(curve(_HEAD[2:11]), INK, 0.008)
    beak = vary(rng, look.beak, 8)
    pen.fill(
        curve(path("405,-255 450,-245 520,-222 545,-195 500,-182 405,-185"), 4),
        [lighter(beak, 0.25), beak, darker(beak, 0.15)],
        mark="beak",
        ink=INK,
        width=0.008,
    )
    pen.line(curve(path("410,-205 470,-203 535,-197")), darker(beak, 0.5), 0.007)
    pen.dots([(0.44, -0.225)], 0.006, darker(beak, 0.6))
    pen.eye(0.352, -0.262, 0.02)


def _draw_waterline(pen: Pen, rng: np.random.Generator) -> None:
    """Take away what is below the surface, then draw a shade of the bird and ripples on it."""
    x = np.linspace(-0.7, 0.7, 12)
    surface = np.stack([x, 0.115 + 0.012 * np.sin(x * 16 + rng.uniform(0, 6))], axis=1)
    pen.erase(np.concatenate([curve(surface, 3), [(0.7, 0.6), (-0.7, 0.6)]]))
    pen.sheet(
        closed(path("-360,128 -100,120 300,126 340,150 200,200 -60,222 -300,180"), 4),
        (52, 66, 74),
        0.28,
    )
    for _ in range(7):
        cx, y, w = rng.uniform(-0.4, 0.4), rng.uniform(0.125, 0.25), rng.uniform(0.05, 0.16)
        ripple = curve([(cx - w, y), (cx, y + 0.012), (cx + w, y)], 4)
        pen.line(ripple, (222, 232, 230), 0.007)
    pen.line(moved(curve(surface[1:-1] * (0.62, 1), 3), -0.03, 0.004), (226, 236, 234), 0.008)

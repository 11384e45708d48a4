"""Butterflies and moths: two pairs of patterned wings, open and seen from above, or closed."""

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
    mix,
    path,
    ring,
    taper,
    vary,
)
from fieldguide.datasets.specimens.wing_patterns import PATTERNS, Wing

INK = (44, 34, 36)


@dataclass(frozen=True)
class Wings:
    """Outlines (right side, origin at the thorax), colours and the name of a pattern."""

    fore: np.ndarray
    hind: np.ndarray
    colour: Colour
    root: Colour
    edge: Colour
    pattern: str
    body: Colour = (72, 56, 52)
    is_moth: bool = False


FORE = path("15,-60 120,-230 300,-370 430,-400 455,-330 400,-200 330,-70 180,-5 20,10")
HIND = path("15,0 170,-10 320,-30 370,60 340,190 250,290 150,290 70,190 15,70")
TAILED = path(
    "15,0 170,-10 320,-20 350,70 310,180 260,250 265,330 240,400 215,400 "
    "222,320 195,270 110,240 60,160 15,70"
)
MOON_FORE = path("15,-60 130,-220 290,-330 440,-360 420,-290 380,-180 320,-70 180,-5 20,10")
MOON_HIND = path(
    "15,0 170,-15 300,-20 320,70 260,170 210,250 225,360 280,460 225,470 "
    "160,390 120,270 70,180 15,80"
)


def draw(pen: Pen, rng: np.random.Generator, look: Wings, stance: str, phase: float) -> set[str]:
    """Draw a butterfly, head up; ``phase`` opens and folds the wings."""
    colours = vary(rng, look.colour, 9), vary(rng, look.root, 9), vary(rng, look.edge, 9)
    if stance == "wings closed":
        _draw_closed(pen, rng, look, colours)
        return set()
    spread = 0.5 + 0.5 * np.cos(2 * np.pi * phase)
    lean = rng.normal(0, 0.1)
    sweep = rng.normal(0, 0.09)
    for side in (-1, 1):
        open_to = np.clip(0.62 + 0.38 * spread + side * lean, 0.35, 1.0)
        with pen.placed(sx=side * open_to):
            with pen.placed(angle=sweep * 0.6):
                _draw_wing(pen, look, colours, is_fore=False)
            with pen.placed(angle=sweep - 0.05):
                _draw_wing(pen, look, colours, is_fore=True)
    _draw_body(pen, rng, look)
    return set()


def _draw_closed(
    pen: Pen, rng: np.random.Generator, look: Wings, colours: tuple[Colour, Colour, Colour]
) -> None:
    """Draw it from the side: both pairs together above the body, the underside paler."""
    drab = (214, 196, 164)
    under = mix(colours[0], drab, 0.3), mix(colours[1], drab, 0.3), mix(colours[2], drab, 0.3)
    with pen.placed(-0.12, 0.24, -0.35, 0.95, 0.95):
        for x in (0.04, 0.0, -0.04):
            pen.line(curve([(x, 0.0), (x + 0.05, 0.09), (x + 0.03, 0.15)]), INK, 0.012, part=1)
        with pen.placed(0.02, -0.02, -0.5, 0.98, 1.0):
            _draw_wing(pen, look, under, is_fore=True)
        with pen.placed(-0.01, -0.02, -0.95, 1.0, 1.0):
            _draw_wing(pen, look, under, is_fore=False)
        with pen.placed(0.0, 0.0, 1.75, 0.85, 0.85):
            _draw_body(pen, rng, look)


def _draw_wing(
    pen: Pen, look: Wings, colours: tuple[Colour, Colour, Colour], is_fore: bool
) -> None:
    colour, root, edge = colours
    points = look.fore if is_fore else look.hind
    wing = Wing(points, closed(points, 5), is_fore, colour, root, edge)
    far = points[np.argmax(np.hypot(points[:, 0], points[:, 1]))]
    pen.fill(wing.outline, [root, colour, colour, edge], axis=[(0, 0), far])
    PATTERNS[look.pattern](pen, wing)
    pen.line(ring(wing.outline), INK, 0.008)


def _draw_body(pen: Pen, rng: np.random.Generator, look: Wings) -> None:
    body = vary(rng, look.body, 8)
    wide = 1.5 if look.is_moth else 1.0
    sway = rng.normal(0, 0.03)
    for side in (-1, 1):
        tip = (side * 0.13 + sway, -0.33)
        feeler = curve([(side * 0.015, -0.14), (side * 0.07, -0.25), tip], 5)
        if look.is_moth:
            feather = taper(feeler, 0.01, 0.012, 0.05)
            pen.fill(
                feather,
                (196, 160, 104),
                ink=darker((196, 160, 104), 0.5),
                width=0.006,
                mark="feathery antennae",
            )
            pen.line(feeler, (112, 84, 62), 0.007)
        else:
            pen.line(feeler, INK, 0.011, mark="antennae")
            pen.fill(ellipse(*tip, 0.014), INK, mark="antennae")
    abdomen = closed(path("0,-10 26,30 30,110 16,200 0,230 -16,200 -30,110 -26,30"), 4) * (wide, 1)
    pen.fill(abdomen, [body, darker(body, 0.3)], ink=INK, width=0.008)
    for y in (0.06, 0.1, 0.14, 0.18):
        pen.line(np.array([(-0.022, y), (0.022, y)]) * (wide, 1), lighter(body, 0.35), 0.008)
    pen.fill(
        ellipse(0, -0.055, 0.036 * wide, 0.06), [lighter(body, 0.25), body], ink=INK, width=0.008
    )
    pen.fill(ellipse(0, -0.13, 0.028 * wide, 0.026), darker(body, 0.15), ink=INK, width=0.008)
    for side in (-1, 1):
        pen.fill(ellipse(side * 0.02 * wide, -0.138, 0.011), (24, 20, 22), part=None)

"""Beetles seen from above: wing cases, shield, head, six jointed legs."""

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
    mirrored,
    moved,
    path,
    ring,
    taper,
    vary,
)

INK = (36, 30, 32)


@dataclass(frozen=True)
class Beetle:
    """Shape and colours of a beetle; outlines are the right half, from front to back."""

    case: np.ndarray
    shield: np.ndarray
    head: tuple[float, float]
    colour: Colour
    edge: Colour
    shield_colour: Colour
    leg: float
    antenna: float
    spots: tuple[tuple[float, float, float], ...] = ()
    jaws: bool = False
    stripe: Colour | None = None
    is_glossy: bool = False
    cheek: Colour | None = None


def draw(pen: Pen, rng: np.random.Generator, look: Beetle, stance: str, phase: float) -> set[str]:
    """Draw a beetle that walks upwards; its legs move with ``phase``."""
    case, shield = vary(rng, look.colour, 10), vary(rng, look.shield_colour, 8)
    wide = rng.uniform(0.93, 1.06)
    with pen.placed(sx=wide):
        _draw_legs(pen, look, phase, rng)
        _draw_antennae(pen, look, rng)
        if look.jaws:
            _draw_jaws(pen, rng)
        x, y = look.head
        pen.fill(ellipse(0, y, x, x * 0.72), [lighter(shield, 0.15), darker(shield, 0.2)], ink=INK)
        for side in (-1, 1):
            pen.fill(ellipse(side * x * 0.85, y - 0.01, 0.022), (30, 24, 26))
        _draw_shield(pen, look, shield)
        _draw_cases(pen, rng, look, case)
    return {"glossy"} if look.is_glossy else set()


def _draw_legs(pen: Pen, look: Beetle, phase: float, rng: np.random.Generator) -> None:
    reach = look.leg
    for side in (-1, 1):
        for k, (y, aim) in enumerate(((-0.13, -0.75), (0.02, 0.1), (0.15, 0.85))):
            step = 0.28 * np.sin(2 * np.pi * phase + np.pi * ((k + (side > 0)) % 2))
            a = aim + step + rng.normal(0, 0.06)
            knee = np.array([0.16 + reach * 0.5 * np.cos(a * 0.7), y + reach * 0.5 * np.sin(a)])
            foot = knee + np.array(
                [reach * 0.45 * np.cos(a + 0.15), reach * 0.55 * np.sin(a + 0.55 * np.sign(aim))]
            )
            toe = foot + np.array([0.04 * np.cos(a), 0.075 * np.sign(aim)])
            hip = np.array([0.1, y])
            with pen.placed(sx=side):
                pen.fill(
                    taper(np.array([hip, knee]), 0.045, 0.034), (58, 46, 44), ink=INK, width=0.006
                )
                pen.fill(
                    taper(np.array([knee, foot]), 0.032, 0.02), (50, 40, 40), ink=INK, width=0.006
                )
                pen.line([foot, toe], (50, 40, 40), 0.015, part=1)


def _draw_antennae(pen: Pen, look: Beetle, rng: np.random.Generator) -> None:
    x, y = look.head
    r = look.antenna
    sway = rng.normal(0, 0.04)
    for side in (-1, 1):
        line = curve(
            [
                (side * x * 0.5, y - 0.04),
                (side * (x * 0.8 + r * 0.45), y - 0.04 - r * 0.5),
                (side * (x + r * 0.8) + sway, y - r * 0.75),
            ],
            7,
        )
        pen.line(line, (54, 44, 42), 0.018, mark="antennae")
        pen.fill(ellipse(line[-1, 0], line[-1, 1], 0.02), (54, 44, 42), mark="antennae")


def _draw_jaws(pen: Pen, rng: np.random.Generator) -> None:
    gape = rng.uniform(-0.3, 0.15)
    for side in (-1, 1):
        with pen.placed(side * 0.07, -0.37, side * gape, sx=side):
            jaw = curve(
                path(
                    "-20,10 40,-40 95,-110 100,-190 55,-245 5,-260 40,-225 55,-195 20,-190 52,-165 "
                    "45,-110 5,-105 30,-85 -5,-45 -50,-20 -20,10"
                ),
                4,
            )
            tone = (118, 58, 40)
            pen.fill(jaw, [darker(tone, 0.2), tone, darker(tone, 0.35)], ink=INK, mark="jaws")


def _draw_shield(pen: Pen, look: Beetle, shield: Colour) -> None:
    half = look.shield
    outline = closed(np.concatenate([half, mirrored(half)[::-1]]), 5)
    pen.fill(outline, [lighter(shield, 0.22), shield, darker(shield, 0.3)], ink=INK)
    if look.cheek is not None:
        for side in (-1, 1):
            y = float(half[:, 1].mean()) - 0.01
            pen.fill(
                ellipse(side * float(half[:, 0].max()) * 0.72, y, 0.045, 0.032),
                look.cheek,
                clip=outline,
            )


def _draw_cases(pen: Pen, rng: np.random.Generator, look: Beetle, case: Colour) -> None:
    half = look.case
    outline = closed(np.concatenate([half, mirrored(half)[::-1]]), 6)
    low, high = float(half[:, 1].min()), float(half[:, 1].max())
    wide = float(half[:, 0].max())
    pen.fill(
        outline,
        [look.edge, case, lighter(case, 0.12), case, look.edge],
        axis=[(-wide * 1.05, 0), (wide * 1.05, 0)],
        ink=INK,
        width=0.011,
    )
    if look.stripe is not None:
        for side in (-1, 1):
            start, middle, end = (wide * 0.35, low), (wide * 0.62, low + 0.3), (wide * 0.3, high)
            line = curve([start, middle, end]) * (side, 1)
            pen.fill(
                taper(line, 0.03, 0.01, 0.06),
                vary(rng, look.stripe),
                clip=outline,
                soft=0.006,
                mark="copper stripes",
            )
    if look.stripe is not None or look.jaws:
        for t in (-0.86, -0.7, -0.5, -0.3, 0.3, 0.5, 0.7, 0.86):
            x = wide * t
            groove = curve([(x, low + 0.05), (x * 1.05, 0.1), (x * 0.4, high - 0.05)])
            pen.line(groove[1:-1], darker(case, 0.35), 0.005)
    shine = closed(moved(path("-620,120 -360,70 -300,200 -500,300") * (wide, 1), 0, low), 5)
    strength = 0.75 if look.is_glossy else 0.5
    pen.fill(shine, (255, 252, 244), clip=outline, soft=0.022, opacity=strength)
    size = rng.uniform(0.85, 1.15)
    for x, y, r in look.spots:
        for side in (-1, 1) if x else (1,):
            spot = ellipse(
                side * x + rng.normal(0, 0.006), y + rng.normal(0, 0.006), r * size, r * size * 1.1
            )
            pen.fill(
                spot,
                (38, 30, 32),
                clip=outline,
                mark=pen.new_mark("side spot" if x else "middle spot"),
            )
    pen.line([(0, low + 0.015), (0, high - 0.01)], INK, 0.011)
    rim = curve([(wide * 0.82, low + 0.2), (wide * 0.9, 0.15), (wide * 0.62, high - 0.12)])
    pen.line(rim, lighter(case, 0.45), 0.009)
    pen.line(ring(outline), INK, 0.011)


ROUND = path("10,-165 110,-165 230,-90 270,60 225,230 110,335 10,360")
LONG = path("10,-150 110,-155 185,-110 205,40 185,230 110,380 10,425")
TAPERED = path("10,-170 110,-180 175,-150 180,0 150,180 80,360 10,430")
ROUND_SHIELD = path("10,-285 90,-275 170,-215 175,-160 100,-140 10,-140")
WIDE_SHIELD = path("10,-330 110,-320 190,-265 185,-170 120,-140 10,-135")
TALL_SHIELD = path("10,-330 90,-325 150,-270 170,-180 110,-155 10,-150")

SEVEN = ((0.0, -0.105, 0.055), (0.13, -0.01, 0.05), (0.17, 0.15, 0.046), (0.085, 0.235, 0.046))
TWO = ((0.135, 0.07, 0.062),)

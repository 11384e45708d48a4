"""Owls on a branch that look out of the picture."""

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
    moved,
    path,
    taper,
    vary,
)

INK = (52, 40, 38)


@dataclass(frozen=True)
class Owl:
    """Colours of an owl."""

    back: Colour
    breast: Colour
    face: Colour
    iris: Colour
    mottle: Colour
    has_tufts: bool
    has_heart: bool
    has_bars: bool
    has_spots: bool = False


_OWL_BODY = path(
    "0,-440 120,-425 205,-350 215,-240 235,-120 250,40 220,220 130,350 0,385 -130,350 "
    "-220,220 -250,40 -235,-120 -215,-240 -205,-350 -120,-425"
)


def draw(pen: Pen, rng: np.random.Generator, look: Owl, stance: str, phase: float) -> set[str]:
    """Draw an owl that sits and looks out of the picture."""
    back, breast, mottle = (vary(rng, c, 9) for c in (look.back, look.breast, look.mottle))
    turn = rng.normal(0, 0.028)
    _draw_owl_tail(pen, back)
    bark = vary(rng, (112, 90, 74))
    branch = curve(
        [
            (-2.0, 0.4 + rng.normal(0, 0.12)),
            (-0.2, 0.385),
            (0.25, 0.39),
            (2.0, 0.4 + rng.normal(0, 0.15)),
        ]
    )
    body = closed(_OWL_BODY)
    pen.fill(body, [back, mix(back, breast, 0.35), breast, breast, darker(breast, 0.15)], ink=INK)
    pen.fill(
        taper(branch, 0.1, 0.075),
        [lighter(bark, 0.2), bark, darker(bark, 0.4)],
        ink=darker(bark, 0.5),
        part=0,
    )
    _draw_breast(pen, rng, look, mottle)
    for side in (-1, 1):
        with pen.placed(sx=side):
            _draw_owl_wing(pen, rng, back)
        for dx in (-0.035, 0.0, 0.035):
            pen.fill(
                ellipse(side * 0.09 + dx, 0.375, 0.02, 0.034),
                lighter(breast, 0.1),
                ink=INK,
                width=0.007,
            )
            pen.line([(side * 0.09 + dx, 0.395), (side * 0.09 + dx, 0.422)], INK, 0.012)
    with pen.placed(turn, 0, turn * 2.5):
        _draw_owl_head(pen, rng, look, back)
    return set()


def _draw_owl_tail(pen: Pen, back: Colour) -> None:
    tail = curve(path("-90,300 -100,500 -50,520 0,528 50,520 100,500 90,300"), 4)
    pen.fill(tail, [back, darker(back, 0.3)], ink=INK)
    for x in (-0.05, 0.0, 0.05):
        pen.line([(x * 0.8, 0.35), (x, 0.51)], darker(back, 0.5), 0.007)


def _draw_breast(pen: Pen, rng: np.random.Generator, look: Owl, mottle: Colour) -> None:
    if look.has_bars:
        for row in range(6):
            y = -0.09 + 0.068 * row
            for x in np.arange(-2, 3) * 0.065 + (0.032 if row % 2 else 0):
                bar = curve([(x - 0.026, y), (x, y + 0.016), (x + 0.026, y)], 3)
                pen.line(bar, mottle, 0.016)
        area = closed(path("-140,-120 140,-120 150,120 90,310 -90,310 -150,120"))
        pen.region(area, "breast bars")
    if look.has_spots:
        for x, y in zip(rng.uniform(-0.13, 0.13, 26), rng.uniform(-0.08, 0.28, 26), strict=True):
            pen.dots([(x, y)], 0.007, mottle)


def _draw_owl_wing(pen: Pen, rng: np.random.Generator, back: Colour) -> None:
    wing = closed(path("190,-190 245,-100 272,50 255,210 190,370 150,340 140,200 145,40 150,-100"))
    pen.fill(wing, [lighter(back, 0.1), back, darker(back, 0.3)], ink=INK)
    for k in range(5):
        line = curve(
            [
                (0.17 + 0.016 * k, 0.05),
                (0.165 + 0.016 * k, 0.18),
                (0.165 + 0.01 * k, 0.33 - 0.03 * k),
            ],
            3,
        )
        pen.line(line, darker(back, 0.4), 0.007)
    for y in (-0.1, -0.05, 0.0):
        for x in (0.175, 0.21, 0.24):
            pen.line(
                curve([(x - 0.016, y), (x, y + 0.018), (x + 0.016, y)], 3),
                darker(back, 0.35),
                0.006,
            )
    pen.dots(rng.uniform((0.16, -0.12), (0.24, 0.1), (9, 2)), 0.008, lighter(back, 0.5))


def _draw_owl_head(pen: Pen, rng: np.random.Generator, look: Owl, back: Colour) -> None:
    face = vary(rng, look.face, 7)
    head = closed(
        path(
            "0,-455 130,-440 225,-355 232,-240 170,-140 0,-105 -170,-140 -232,-240 "
            "-225,-355 -130,-440"
        )
    )
    if look.has_tufts:
        lift = rng.uniform(0.75, 1.15)
        for side in (-1, 1):
            ear = curve(
                [
                    (side * 0.07, -0.42),
                    (side * 0.17, -0.44 - 0.05 * lift),
                    (side * 0.235, -0.45 - 0.13 * lift),
                    (side * 0.235, -0.4),
                    (side * 0.21, -0.32),
                    (side * 0.07, -0.42),
                ],
                4,
            )
            pen.fill(ear, [darker(back, 0.35), back], ink=INK, mark="ear tufts")
    pen.fill(head, [darker(back, 0.15), back, lighter(back, 0.15)], ink=INK)
    pen.dots(rng.uniform((-0.12, -0.44), (0.12, -0.36), (14, 2)), 0.008, lighter(back, 0.4))
    if look.has_heart:
        heart = closed(
            path(
                "0,-345 70,-400 165,-390 200,-290 150,-190 0,-115 -150,-190 -200,-290 "
                "-165,-390 -70,-400"
            )
        )
        pen.fill(
            heart,
            [face, lighter(face, 0.4), face],
            ink=darker(back, 0.35),
            width=0.014,
            mark="heart face",
        )
        pen.fill(
            curve(path("0,-330 22,-250 0,-190 -22,-250 0,-330")), darker(face, 0.16), part=None
        )
    else:
        for side in (-1, 1):
            disc = ellipse(side * 0.098, -0.28, 0.112, 0.125, side * 0.2)
            pen.fill(disc, [lighter(face, 0.2), face], ink=darker(face, 0.5), width=0.008)
            for a in np.linspace(0, 2 * np.pi, 16, endpoint=False):
                ray = np.array([np.cos(a) * 0.112, np.sin(a) * 0.125])
                pen.line(
                    moved([ray * 0.62, ray * 0.92], side * 0.098, -0.28),
                    darker(face, 0.3),
                    0.006,
                )
        brow = path(
            "0,-330 90,-400 200,-420 110,-365 20,-280 -20,-280 -110,-365 -200,-420 -90,-400"
        )
        pen.fill(brow, lighter(face, 0.55), part=None)
    iris = vary(rng, look.iris, 6)
    for side in (-1, 1):
        pen.eye(side * 0.095, -0.285, 0.05 if not look.has_heart else 0.036, iris, 0.55)
    beak = curve(path("-28,-250 0,-262 28,-250 18,-205 0,-172 -18,-205 -28,-250"), 4)
    pen.fill(beak, [(222, 206, 168), (150, 128, 96)], ink=INK, width=0.008, mark="beak")

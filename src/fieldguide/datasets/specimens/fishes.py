"""Fishes: body, fins and pattern, deep for those of the reef, slender for those of the river."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

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
    ring,
    taper,
    vary,
)

INK = (48, 44, 50)


@dataclass(frozen=True)
class Fish:
    """Shape and colours of a fish. Outlines are control points of smooth curves."""

    outline: np.ndarray
    back: Colour
    side: Colour
    belly: Colour
    fin: Colour
    fins: tuple[np.ndarray, ...]
    tail: np.ndarray
    eye: tuple[float, float, float]
    pattern: str
    ink: Colour
    pale: Colour = (244, 240, 228)
    tail_mark: str | None = None
    fin_marks: tuple[str | None, ...] = ()


DEEP = path(
    "440,25 370,-60 280,-170 130,-255 -40,-270 -200,-190 -300,-75 -330,-20 "
    "-330,30 -290,90 -190,200 -40,275 130,260 280,185 370,95"
)
OVAL = path(
    "450,10 400,-60 300,-130 140,-175 -40,-170 -210,-115 -320,-55 -345,-25 "
    "-345,35 -310,65 -200,130 -40,185 130,185 290,130 390,70"
)
SLIM = path(
    "480,15 420,-45 310,-95 150,-120 -40,-110 -220,-65 -350,-35 -385,-28 "
    "-385,28 -340,38 -210,75 -40,115 140,125 310,95 420,50"
)
STOUT = SLIM * (0.97, 1.18)

REEF_FINS = (
    path("180,-235 60,-330 -90,-360 -240,-330 -360,-330 -300,-240 -260,-110 -60,-250"),
    path("160,250 40,330 -100,370 -240,340 -350,330 -300,240 -250,120 -60,260"),
)
LONG_FINS = (
    path("150,-240 20,-380 -150,-500 -330,-560 -240,-440 -210,-300 -230,-160 -60,-260"),
    path("130,255 20,380 -150,490 -320,540 -235,430 -205,300 -225,170 -60,265"),
)
CLOWN_FINS = (
    path("240,-150 180,-215 90,-225 20,-190 -60,-225 -170,-215 -230,-150 -200,-110 -40,-165"),
    path("60,180 -20,240 -130,240 -200,190 -190,125 -60,180"),
)
TROUT_FINS = (
    path("110,-115 60,-200 -20,-190 -60,-150 -70,-100 20,-115"),
    path("-215,-68 -250,-110 -285,-100 -275,-55"),
    path("-150,85 -190,150 -250,140 -250,65 -200,70"),
    path("20,115 -20,180 -80,165 -70,105"),
)
PERCH_FINS = (
    path("230,-115 190,-230 130,-225 60,-215 0,-180 -40,-115 80,-125"),
    path("-60,-108 -100,-170 -180,-160 -220,-110 -230,-65 -140,-90"),
    path("-120,92 -170,165 -230,145 -230,70 -180,80"),
    path("130,120 80,190 20,170 40,115"),
)
FAN_TAIL = path("-310,-35 -400,-110 -490,-130 -480,-60 -470,0 -480,60 -490,130 -400,110 -310,35")
ROUND_TAIL = path("-320,-40 -400,-90 -480,-80 -505,0 -480,80 -400,90 -320,40")
FORK_TAIL = path("-360,-30 -440,-110 -520,-160 -490,-60 -455,0 -490,60 -520,160 -440,110 -360,30")
BROAD_TAIL = path("-360,-30 -440,-105 -505,-125 -490,-50 -482,0 -490,50 -505,125 -440,105 -360,30")


def draw(pen: Pen, rng: np.random.Generator, look: Fish, stance: str, phase: float) -> set[str]:
    """Draw a fish that swims to the right; its tail swings with ``phase``."""
    swing = 0.16 * np.sin(2 * np.pi * phase)
    slope = 0.05 * np.cos(2 * np.pi * phase)
    depth = rng.uniform(0.9, 1.1)

    def bend(points: np.ndarray) -> np.ndarray:
        rear = np.clip(0.15 - points[:, 0], 0, None)
        lift = swing * rear * rear * 2.2 - slope * points[:, 0]
        shorten = 1 - abs(swing) * np.where(points[:, 0] < -0.3, 0.9, 0.2)
        return np.stack([points[:, 0] * shorten, points[:, 1] * depth + lift], axis=1)

    pen.warp = bend
    try:
        _draw_fins(pen, rng, look)
        _draw_body(pen, rng, look)
    finally:
        pen.warp = None
    return set()


def _draw_fins(pen: Pen, rng: np.random.Generator, look: Fish) -> None:
    fin = vary(rng, look.fin)
    tail = closed(look.tail, 5)
    pen.fill(
        tail, [fin, lighter(fin, 0.25)], axis=path("-330,0 -500,0"), ink=INK, mark=look.tail_mark
    )
    for y in np.linspace(-0.09, 0.09, 7):
        pen.line([(-0.35, y * 0.3), (-0.46, y)], darker(fin, 0.3), 0.006)
    if look.pattern == "white bars":
        pen.line(closed(look.tail * (0.985, 0.9), 5)[6:-6], look.ink, 0.02)
    for outline, mark in zip_longest(look.fins, look.fin_marks):
        wash = [lighter(fin, 0.3), fin] if outline[0, 1] < 0 else [fin, lighter(fin, 0.3)]
        pen.fill(closed(outline, 5), wash, ink=INK, mark=mark)
        base = outline[-1] + (outline[0] - outline[-1]) * np.linspace(0.1, 0.9, 6)[:, None]
        middle = outline[len(outline) // 2 - 1]
        far = middle + (outline[1] - middle) * np.linspace(0, 1, 6)[:, None]
        for a, b in zip(base, far, strict=True):
            pen.line([a, a + (b - a) * 0.9], darker(fin, 0.3), 0.006)


def _draw_body(pen: Pen, rng: np.random.Generator, look: Fish) -> None:
    back, side, belly = (vary(rng, c, 9) for c in (look.back, look.side, look.belly))
    body = closed(look.outline)
    pen.fill(body, [back, mix(back, side, 0.7), side, mix(side, belly, 0.6), belly], ink=INK)
    _draw_scales(pen, look, side)
    PATTERNS[look.pattern](pen, rng, look, body)
    pen.line(ring(body), INK, 0.009)
    x, y, r = look.eye
    gill = curve([(x - 0.09, y - 0.085), (x - 0.13, y + 0.01), (x - 0.085, y + 0.12)])
    pen.line(gill, darker(side, 0.5), 0.01)
    mouth_x, mouth_y = look.outline[0]
    mouth = moved(path("0,0 -40,18 -65,30"), mouth_x, mouth_y)
    pen.line(curve(mouth), INK, 0.009)
    fin = vary(rng, look.fin)
    with pen.placed(x - 0.16, y + 0.1, rng.normal(0.3, 0.25)):
        pectoral = closed(path("20,-10 -60,-45 -140,-40 -165,10 -120,50 -40,45"), 5)
        pen.fill(pectoral, [lighter(fin, 0.35), fin], ink=INK, width=0.007)
        for dy in (-0.02, 0.005, 0.03):
            pen.line([(-0.03, dy * 0.4), (-0.14, dy)], darker(fin, 0.3), 0.006)
    pen.fill(ellipse(x, y, r * 1.35), lighter(side, 0.5), part=None)
    pen.eye(x, y, r, (222, 190, 96), 0.62)


def _draw_scales(pen: Pen, look: Fish, side: Colour) -> None:
    ink = darker(side, 0.22)
    half = float(np.abs(look.outline[:, 1]).max())
    for row in range(-2, 3):
        y = row * half * 0.3
        for k in range(6):
            x = -0.27 + 0.085 * k + (0.042 if row % 2 else 0)
            if abs(y) < half * (0.92 - 1.1 * abs(x + 0.02)):
                pen.line(curve([(x, y - 0.022), (x - 0.02, y), (x, y + 0.022)], 3), ink, 0.006)


if TYPE_CHECKING:
    from fieldguide.datasets.specimens.fishes import Fish


def paint_wide_bars(pen: Pen, rng: np.random.Generator, look: "Fish", body: np.ndarray) -> None:
    """Paint wide dark bars from back to belly."""
    for x, w, bend in (
        (0.30, 0.05, 0.03),
        (0.08, 0.075, 0.03),
        (-0.14, 0.07, 0.02),
        (-0.285, 0.04, 0.0),
    ):
        bar = curve([(x, -0.32), (x + bend, 0), (x, 0.32)])
        pen.fill(taper(bar, w, w, w * 1.15), vary(rng, look.ink, 6), clip=body, mark="dark bars")


def paint_eyespot(pen: Pen, rng: np.random.Generator, look: "Fish", body: np.ndarray) -> None:
    """Paint a bar through the eye and a ringed spot near the tail."""
    bar = curve(path("240,-300 285,-50 240,300"))
    pen.fill(taper(bar, 0.06, 0.05, 0.085), vary(rng, look.ink, 6), clip=body, mark="eye bar")
    spot = pen.new_mark("tail spot")
    x, y = -0.2, -0.07
    pen.fill(ellipse(x, y, 0.078), look.pale, mark=spot)
    pen.fill(ellipse(x, y, 0.056), vary(rng, look.ink, 6), mark=spot)
    for k in range(4):
        front, height = 0.16 - 0.07 * k, 0.2 - 0.02 * k
        chevron = curve([(front, -height), (front - 0.05, 0.0), (front, height)])
        pen.line(chevron, darker(look.side, 0.25), 0.007)


def paint_white_bars(pen: Pen, rng: np.random.Generator, look: "Fish", body: np.ndarray) -> None:
    """Paint white bars with dark edges."""
    for x, w, bend in ((0.22, 0.085, 0.04), (-0.03, 0.105, 0.07), (-0.27, 0.055, 0.01)):
        bar = curve([(x - 0.02, -0.3), (x + bend, 0), (x - 0.02, 0.3)])
        pen.fill(taper(bar, w + 0.026, w + 0.026, w + 0.046), look.ink, clip=body)
        pen.fill(taper(bar, w, w, w + 0.02), look.pale, clip=body, mark="white bars")


def paint_speckles(pen: Pen, rng: np.random.Generator, look: "Fish", body: np.ndarray) -> None:
    """Paint a pink band and dark speckles above it."""
    band = curve(path("360,0 100,5 -370,0"))
    pen.fill(
        taper(band, 0.05, 0.03, 0.07),
        (208, 120, 112),
        clip=body,
        soft=0.012,
        opacity=0.8,
        mark="pink band",
    )
    area = closed(path("300,-85 100,-115 -150,-85 -340,-30 -340,0 -100,-10 200,-15"))
    pen.region(area, "speckles", clip=body)
    x, y = rng.uniform(-0.34, 0.3, 34), rng.uniform(-0.1, 0.03, 34)
    for a, b in zip(x, y, strict=True):
        if b > -0.115 + 0.28 * abs(a + 0.02) ** 1.3:
            pen.dots([(a, b)], rng.uniform(0.007, 0.012), look.ink)


def paint_narrow_bars(pen: Pen, rng: np.random.Generator, look: "Fish", body: np.ndarray) -> None:
    """Paint dark bars that taper down from the back."""
    for x in np.linspace(0.22, -0.3, 6):
        w = rng.uniform(0.035, 0.05)
        bar = curve([(x, -0.2), (x - 0.01, -0.05), (x + rng.normal(0, 0.01), 0.06)])
        pen.fill(taper(bar, w, 0.008, w), look.ink, clip=body, soft=0.004, mark="dark bars")


PATTERNS: dict[str, Callable[[Pen, np.random.Generator, "Fish", np.ndarray], None]] = {
    "wide bars": paint_wide_bars,
    "eyespot": paint_eyespot,
    "white bars": paint_white_bars,
    "speckles": paint_speckles,
    "narrow bars": paint_narrow_bars,
}

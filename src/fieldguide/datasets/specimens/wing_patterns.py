"""What is painted on the wings of butterflies and moths, one function per pattern."""

from collections.abc import Callable
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
    taper,
)

_CREAM = (246, 240, 228)


@dataclass(frozen=True)
class Wing:
    """One wing on the right side: its control points, smooth outline and colours."""

    points: np.ndarray
    outline: np.ndarray
    is_fore: bool
    colour: Colour
    root: Colour
    edge: Colour


def paint_swallowtail(pen: Pen, wing: Wing) -> None:
    """Paint dark veins and borders, a red spot and a dark tail."""
    _veins(pen, wing, wing.edge, 0.012)
    _rim(pen, wing, 0.3, pen.new_mark("dark border") if wing.is_fore else None)
    _edge_dots(pen, wing.points, 0.86, 0.017, lighter(wing.colour, 0.15))
    if wing.is_fore:
        _bars(pen, wing, "170,-270 200,-120", "260,-330 290,-200")
        return
    spot = ellipse(0.16, 0.205, 0.038)
    pen.fill(spot, (196, 62, 48), ink=wing.edge, width=0.012, mark=pen.new_mark("red spot"))
    pen.fill(
        closed(wing.points[5:10], 4), wing.edge, clip=wing.outline, mark=pen.new_mark("wing tail")
    )


def paint_peacock(pen: Pen, wing: Wing) -> None:
    """Paint one large eye spot."""
    _veins(pen, wing, darker(wing.colour, 0.3), 0.007)
    _rim(pen, wing, 0.16, None)
    x, y, r = (0.315, -0.265, 0.085) if wing.is_fore else (0.225, 0.135, 0.078)
    _eye_spot(pen, wing, x, y, r, ((232, 202, 130), (52, 44, 60), (92, 128, 178)))
    pen.dots([(x + 0.02, y - 0.02)], 0.011, _CREAM)
    if wing.is_fore:
        _bars(pen, wing, "150,-220 185,-150", "220,-300 255,-230")


def paint_milkweed(pen: Pen, wing: Wing) -> None:
    """Paint heavy dark veins and a dark border with white dots."""
    _rim(
        pen,
        wing,
        0.22,
        pen.new_mark("dark border") if wing.is_fore else pen.new_mark("white edge dots"),
    )
    _veins(pen, wing, wing.edge, 0.018)
    _edge_dots(pen, wing.points, 0.9, 0.012, _CREAM)
    if wing.is_fore:
        _edge_dots(pen, wing.points[:7], 0.78, 0.014, _CREAM)


def paint_tortoiseshell(pen: Pen, wing: Wing) -> None:
    """Paint dark patches, a white one near the tip, and a border with blue dots."""
    _veins(pen, wing, darker(wing.colour, 0.3), 0.006)
    _rim(
        pen,
        wing,
        0.17,
        pen.new_mark("dark border") if wing.is_fore else pen.new_mark("blue edge dots"),
    )
    _edge_dots(pen, wing.points, 0.9, 0.013, (112, 144, 190))
    if wing.is_fore:
        _bars(pen, wing, "140,-230 170,-130", "230,-310 260,-200", "270,-100 290,-90")
        white = ellipse(0.325, -0.325, 0.034, 0.025)
        pen.fill(white, _CREAM, clip=wing.outline, mark=pen.new_mark("white patch"))
    else:
        root = closed(path("0,0 140,0 170,60 120,130 0,110"), 4)
        pen.fill(root, mix(wing.edge, wing.root, 0.4), clip=wing.outline, soft=0.012)


def paint_moon(pen: Pen, wing: Wing) -> None:
    """Paint a wine-red front edge, small eye spots and a pale tail."""
    _veins(pen, wing, darker(wing.colour, 0.14), 0.006)
    wine = (150, 92, 96)
    if wing.is_fore:
        lead = taper(curve(wing.points[:4]), 0.05, 0.04)
        pen.fill(lead, wine, clip=wing.outline, mark=pen.new_mark("dark leading edge"))
    else:
        tail = closed(wing.points[5:12], 4)
        pale = mix(wing.colour, (224, 206, 150), 0.5)
        pen.fill(tail, pale, clip=wing.outline, soft=0.02, mark=pen.new_mark("wing tail"))
    x, y = (0.255, -0.2) if wing.is_fore else (0.185, 0.085)
    _eye_spot(pen, wing, x, y, 0.042, (wine, (238, 220, 150), (60, 46, 54)))


def _veins(pen: Pen, wing: Wing, colour: Colour, width: float) -> None:
    base = np.array([0.03, -0.02 if wing.is_fore else 0.03])
    for end in wing.points[2:-1]:
        middle = (base + end) / 2 + np.array([0.01, -0.012])
        pen.line(curve([base, middle, end], 3), colour, width)


def _rim(pen: Pen, wing: Wing, inset: float, mark: str | int | None) -> None:
    """Colour a border along the outer edge."""
    centre = wing.points.mean(axis=0) * 0.55
    outer = wing.points[2:-1]
    inner = centre + (outer - centre) * (1 - inset)
    border = np.concatenate([curve(outer, 4) * 1.06, curve(inner, 4)[::-1]])
    pen.fill(border, wing.edge, clip=wing.outline, mark=mark)


def _edge_dots(pen: Pen, points: np.ndarray, at: float, r: float, colour: Colour) -> None:
    centre = points.mean(axis=0) * 0.55
    line = curve(points[3:-2], 3)
    pen.dots(centre + (line - centre) * at, r, colour)


def _bars(pen: Pen, wing: Wing, *lines: str) -> None:
    for line in lines:
        pen.fill(taper(path(line), 0.05, 0.035), wing.edge, clip=wing.outline)


def _eye_spot(
    pen: Pen, wing: Wing, x: float, y: float, r: float, tones: tuple[Colour, Colour, Colour]
) -> None:
    spot = pen.new_mark("eye spot")
    for share, tone in zip((1.0, 0.77, 0.47), tones, strict=True):
        pen.fill(ellipse(x, y, r * share), tone, clip=wing.outline, mark=spot)


PATTERNS: dict[str, Callable[[Pen, Wing], None]] = {
    "swallowtail": paint_swallowtail,
    "peacock": paint_peacock,
    "milkweed": paint_milkweed,
    "tortoiseshell": paint_tortoiseshell,
    "moon": paint_moon,
}

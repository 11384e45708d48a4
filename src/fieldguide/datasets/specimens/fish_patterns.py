"""What is painted on the sides of fishes, one function per pattern."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fieldguide.datasets.specimens.canvas import Pen
from fieldguide.datasets.specimens.outlines import closed, curve, darker, ellipse, path, taper, vary

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

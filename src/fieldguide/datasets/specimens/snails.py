"""Snails seen from the side, creeping or withdrawn into a coiled shell."""

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
class Snail:
    """Colours of a snail."""

    shell: Colour
    body: Colour
    bands: Colour | None = None
    lip: Colour = (76, 54, 48)
    lip_mark: str = "dark lip"


def draw(pen: Pen, rng: np.random.Generator, look: Snail, stance: str, phase: float) -> set[str]:
    """Draw a snail that creeps to the right; its body stretches with ``phase``."""
    shell, skin = vary(rng, look.shell), vary(rng, look.body)
    reach = 0.05 * np.sin(2 * np.pi * phase) + rng.normal(0, 0.02)
    if stance == "crawling":
        _draw_foot(pen, rng, skin, reach)
    turn = rng.normal(-0.1, 0.12)
    with pen.placed(-0.08, -0.06, turn):
        _draw_shell(pen, rng, look, shell)
    return set()


def _draw_foot(pen: Pen, rng: np.random.Generator, skin: Colour, reach: float) -> None:
    foot = closed(
        [
            (-0.5, 0.235),
            (-0.36, 0.19),
            (-0.1, 0.12),
            (0.15, 0.1),
            (0.26 + reach, 0.0),
            (0.33 + reach, -0.06),
            (0.41 + reach, -0.055),
            (0.45 + reach, 0.03),
            (0.42 + reach, 0.13),
            (0.36 + reach, 0.22),
            (0.2, 0.25),
            (-0.2, 0.255),
        ]
    )
    for x, lift in ((0.35, 0.0), (0.41, 0.02)):
        sway = rng.normal(0, 0.025)
        stalk = curve(
            [(x + reach, -0.03), (x + 0.02 + reach, -0.13), (x + 0.05 + reach + sway, -0.23 + lift)]
        )
        pen.fill(taper(stalk, 0.032, 0.018), skin, ink=INK, width=0.007, mark="horns")
        pen.fill(ellipse(stalk[-1, 0], stalk[-1, 1], 0.02), (52, 42, 42), mark="horns")
    pen.line(
        curve([(0.44 + reach, 0.06), (0.49 + reach, 0.08), (0.51 + reach, 0.12)]),
        skin,
        0.022,
        part=1,
    )
    pen.fill(foot, [lighter(skin, 0.2), skin, darker(skin, 0.25)], ink=INK)
    for x, y in zip(rng.uniform(-0.3, 0.36, 16), rng.uniform(0.12, 0.21, 16), strict=True):
        pen.line([(x, y), (x + 0.03, y - 0.008)], darker(skin, 0.22), 0.006)
    pen.line(curve([(-0.46, 0.23), (-0.1, 0.215), (0.35 + reach, 0.2)]), darker(skin, 0.4), 0.007)


def _draw_shell(pen: Pen, rng: np.random.Generator, look: Snail, shell: Colour) -> None:
    rim = closed(
        path(
            "-290,120 -320,-20 -260,-190 -110,-290 70,-280 210,-180 255,-30 240,110 "
            "190,190 60,195 -120,195"
        )
    )
    pen.fill(rim, [lighter(shell, 0.3), shell, darker(shell, 0.35)], ink=INK, width=0.011)
    t = np.linspace(0, 1, 60)
    centre = np.array([-0.03, -0.05])

    def whorl(scale: float) -> np.ndarray:
        angle = 0.95 - 2 * np.pi * 2.15 * t
        r = 0.262 * scale * (1 - t) ** 1.15 + 0.004
        return centre + np.stack([r * np.cos(angle), r * np.sin(angle) * 0.93], axis=1)

    if look.bands is not None and rng.random() < 0.85:
        mark = pen.mark("spiral bands")
        for scale, width in ((1.0, 0.036), (0.83, 0.03)):
            band = whorl(scale * 0.94)
            pen.fill(taper(band[:46], width, 0.006), vary(rng, look.bands, 6), clip=rim, mark=mark)
    pen.line(whorl(0.76), darker(shell, 0.55), 0.012)
    for k in np.linspace(0.1, 2.9, 13):
        a = np.pi + k
        ray = np.array([np.cos(a), np.sin(a) * 0.9])
        pen.line(centre + np.outer([0.215, 0.27], ray) + (0.0, 0.01), darker(shell, 0.25), 0.006)
    lip = curve(path("250,-20 245,80 205,180 120,200"))
    pen.fill(taper(lip, 0.03, 0.03, 0.055), look.lip, ink=INK, width=0.007, mark=look.lip_mark)
    shine = closed(path("-190,-150 -120,-220 -50,-235 -100,-190 -160,-110"), 5)
    pen.fill(shine, (255, 252, 242), clip=rim, soft=0.02, opacity=0.55)
    pen.line(ring(rim), INK, 0.01)

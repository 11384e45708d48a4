"""Mushrooms: a cap on a stem, alone or in a small troop."""

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
    mix,
    moved,
    path,
    ring,
    rotation,
    vary,
)

INK = (54, 42, 38)


@dataclass(frozen=True)
class Mushroom:
    """Shape and colours of a mushroom."""

    cap: Colour
    stem: Colour
    gill: Colour
    shape: str
    warts: bool = False
    ring: bool = False
    bulb: float = 1.0
    stem_width: float = 1.0
    blush: Colour | None = None


_CAPS = {
    "dome": path(
        "-330,-30 -300,-160 -190,-290 0,-345 190,-290 300,-160 330,-30 170,10 0,22 -170,10"
    ),
    "funnel": path(
        "-330,-190 -300,-225 -180,-205 0,-190 180,-205 300,-225 330,-190 250,-100 "
        "140,20 0,70 -140,20 -250,-100"
    ),
}


def draw(pen: Pen, rng: np.random.Generator, look: Mushroom, stance: str, phase: float) -> set[str]:
    """Draw one mushroom, or a large one with one or two small ones beside it."""
    words = set()
    n_small = int(rng.choice([0, 1, 2], p=[0.5, 0.3, 0.2]))
    side = rng.choice([-1, 1])
    for k in range(n_small):
        x = side * (0.33 - 0.62 * k)
        with pen.placed(x, 0.24, rng.normal(side * 0.12 * (1 - 2 * k), 0.08), 0.42, 0.42):
            _draw_one(pen, rng, look, rng.uniform(0.75, 1.0))
    if n_small:
        words.add("in a troop")
    _draw_one(pen, rng, look, rng.uniform(0.85, 1.12))
    _draw_tuft(pen, rng)
    return words


def _draw_one(pen: Pen, rng: np.random.Generator, look: Mushroom, spread: float) -> None:
    cap, stem = vary(rng, look.cap, 10), vary(rng, look.stem, 7)
    lean = rng.normal(0, 0.05)
    w, b = 0.075 * look.stem_width, look.bulb
    top, middle, foot = (w, -0.12), (w * 0.95, 0.12), (w * 1.15 * b, 0.33)
    right = np.array([top, middle, foot, (w * b, 0.43), (0, 0.455)])
    stalk = np.concatenate([mirrored(right)[:-1], right[::-1]])
    stalk = closed(stalk + np.outer(np.interp(stalk[:, 1], (-0.12, 0.33), (lean, 0)), (1, 0)))
    pen.fill(
        stalk,
        [darker(stem, 0.1), lighter(stem, 0.2), stem, darker(stem, 0.28)],
        axis=[(-w * 1.3, 0), (w * 1.3, 0)],
        ink=INK,
    )
    if look.blush is not None:
        blush = ellipse(w * 0.3 + lean * 0.5, 0.17, w * 0.8, 0.16)
        pen.fill(
            blush, vary(rng, look.blush, 8), clip=stalk, soft=0.03, mark=pen.new_mark("pink stem")
        )
    for k in (-0.5, 0.05, 0.5):
        pen.line(
            curve([(k * w + lean, 0.0), (k * w * 1.1, 0.2), (k * w * b, 0.36)], 4),
            darker(stem, 0.22),
            0.006,
        )
    with pen.placed(lean, 0.0, rng.normal(0, 0.1) + lean, spread):
        if look.shape == "funnel":
            _draw_funnel(pen, rng, look, cap)
        else:
            _draw_cap(pen, rng, look, cap)
    if look.ring:
        skirt = closed(
            moved(path("-85,20 0,0 85,20 135,90 60,85 0,105 -60,85 -135,90"), lean * 0.7, 0.02), 5
        )
        pen.fill(
            skirt,
            [lighter(stem, 0.4), darker(stem, 0.12)],
            ink=INK,
            width=0.008,
            mark=pen.new_mark("stem ring"),
        )


def _draw_cap(pen: Pen, rng: np.random.Generator, look: Mushroom, cap: Colour) -> None:
    outline = closed(_CAPS[look.shape])
    wide, low = 0.31, -0.015
    gills = ellipse(0, low, wide, 0.055)
    pen.fill(gills, [darker(look.gill, 0.45), look.gill], ink=INK, mark=pen.new_mark("gills"))
    for x in np.linspace(-0.9, 0.9, 15):
        pen.line(
            [(x * wide * 0.35, low - 0.02), (x * wide, low + 0.052 * (1 - x * x) ** 0.5)],
            darker(look.gill, 0.35),
            0.005,
        )
    over = outline[outline[:, 1] < low + 0.02]
    pen.fill(
        over, [lighter(cap, 0.25), cap, darker(cap, 0.3)], axis=path("-120,-330 160,20"), ink=INK
    )
    shine = closed(path("-190,-170 -130,-250 -50,-280 -90,-220 -150,-140"), 5)
    pen.fill(shine, (255, 250, 240), clip=over, soft=0.022, opacity=0.5)
    if look.warts and rng.random() > 0.12:  # rain washes them off now and then
        _draw_warts(pen, rng, cap, over)
    pen.line(ring(over), INK, 0.009)


_WARTS = path(
    "-200,-100 -80,-190 70,-120 200,-130 120,-250 -30,-300 -170,-225 260,-50 -40,-50 -280,-45"
)
_WART = path("-1000,0 -500,-800 600,-700 1000,100 300,750 -600,600")


def _draw_warts(pen: Pen, rng: np.random.Generator, cap: Colour, over: np.ndarray) -> None:
    warts = pen.new_mark("warts")
    for x, y in _WARTS:
        if rng.random() < 0.85:
            r = rng.uniform(0.024, 0.042)
            wart = moved(closed(_WART * r @ rotation(rng.normal(0, 0.5)), 4), x, y)
            pen.fill(wart, (246, 238, 222), clip=over, mark=warts)
            pen.line(wart[len(wart) // 2 :], darker(cap, 0.35), 0.005)


def _draw_funnel(pen: Pen, rng: np.random.Generator, look: Mushroom, cap: Colour) -> None:
    wave = np.array(_CAPS["funnel"])
    wave = wave + np.where(wave[:, 1:] < -0.15, rng.normal(0, 0.02, (len(wave), 2)), 0)
    outline = closed(wave)
    pen.fill(outline, [lighter(cap, 0.2), cap, mix(cap, look.stem, 0.8)])
    pen.line(np.concatenate([outline[-35:], outline[:57]]), INK, 0.008)
    ridges = pen.new_mark("ridges")
    for x in np.linspace(-0.85, 0.85, 11):
        ridge = curve([(x * 0.31, -0.19), (x * 0.2, -0.06), (x * 0.09, 0.08), (x * 0.065, 0.25)], 4)
        pen.line(ridge, darker(cap, 0.35), 0.008, mark=ridges)
    bowl = ellipse(0, -0.2, 0.3, 0.035)
    pen.fill(bowl, [darker(cap, 0.3), mix(cap, darker(cap), 0.2)], ink=INK, width=0.007)


def _draw_tuft(pen: Pen, rng: np.random.Generator) -> None:
    for x in rng.uniform(-0.35, 0.35, 16):
        colour = vary(rng, (104, 122, 66), 16)
        height = rng.uniform(0.05, 0.13)
        lean = rng.normal(0, 0.03)
        pen.fill(
            np.array([(x - 0.012, 0.475), (x + lean, 0.46 - height), (x + 0.012, 0.475)]),
            colour,
            part=0,
        )

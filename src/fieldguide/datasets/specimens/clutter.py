"""What stands before the specimen: grass, twigs, leaves, tape, weed, bubbles, snowflakes."""

import numpy as np

from fieldguide.datasets.specimens.canvas import Pen
from fieldguide.datasets.specimens.outlines import (
    closed,
    curve,
    darker,
    ellipse,
    lighter,
    moved,
    path,
    taper,
    vary,
)

_GREENS = ((104, 128, 70), (132, 146, 80), (88, 112, 74), (150, 148, 88))


def draw_clutter(pen: Pen, rng: np.random.Generator, scene: str, amount: float) -> None:
    """Draw clutter that suits ``scene``; ``amount`` from 0 to 1 says how much of it there is."""
    if scene in ("deep water", "reef", "stream"):
        _draw_weed(pen, rng, amount)
        _draw_bubbles(pen, rng, amount)
    elif scene == "snow":
        _draw_twigs(pen, rng, amount)
        _draw_flakes(pen, rng, amount)
    elif scene == "paper" and rng.random() < 0.7:
        _draw_tape(pen, rng, amount)
    elif scene in ("sky", "bark", "paper"):
        _draw_twigs(pen, rng, amount)
    elif scene in ("forest floor", "foliage", "green leaf"):
        _draw_leaves(pen, rng, amount)
        if rng.random() < 0.5:
            _draw_grass(pen, rng, amount * 0.6)
    else:
        _draw_grass(pen, rng, amount)


def _draw_grass(pen: Pen, rng: np.random.Generator, amount: float) -> None:
    for _ in range(round(3 + 13 * amount)):
        x, height = rng.uniform(-0.05, 1.05), rng.uniform(0.25, 0.35 + 0.6 * amount)
        lean = rng.normal(0, 0.3) * height
        colour = vary(rng, _GREENS[rng.integers(4)], 14)
        stem = curve(
            [(x, 1.05), (x + lean * 0.25, 1.05 - height * 0.6), (x + lean, 1.05 - height)], 5
        )
        width = rng.uniform(0.016, 0.038)
        # Two flat halves and a rib: a wash on every blade would double the cost of a meadow.
        pen.fill(taper(stem, width, 0.003), colour, ink=darker(colour, 0.5), width=0.003)
        pen.fill(taper(moved(stem, width / 4, 0), width / 2, 0.0), darker(colour, 0.18))
        pen.line(stem[:-2], darker(colour, 0.35), 0.003)


def _draw_twigs(pen: Pen, rng: np.random.Generator, amount: float) -> None:
    for _ in range(1 + round(1.6 * amount)):
        start = np.array([rng.choice([-0.05, 1.05]), rng.uniform(0, 1)])
        end = np.array(
            [rng.uniform(0.3, 0.7) + (0.4 if start[0] < 0 else -0.4) * amount, rng.uniform(0, 1)]
        )
        bend = (start + end) / 2 + rng.normal(0, 0.06, 2)
        bark = vary(rng, (112, 90, 74), 10)
        line = curve([start, bend, end], 6)
        pen.fill(
            taper(line, 0.045 * (0.5 + amount), 0.01),
            [lighter(bark, 0.2), darker(bark, 0.25)],
            ink=darker(bark, 0.55),
            width=0.004,
        )
        for k in (6, 9, 11):
            _draw_leaf(pen, rng, line[k], 0.05 + 0.06 * amount * rng.random())


def _draw_tape(pen: Pen, rng: np.random.Generator, amount: float) -> None:
    """Draw the gummed strips that hold a specimen to its sheet."""
    for _ in range(1 + round(2 * amount)):
        x, y = rng.uniform(0.2, 0.8, 2)
        with pen.placed(x, y, rng.uniform(-0.6, 0.6) + rng.choice([0, 1.5])):
            half, wide = rng.uniform(0.16, 0.36), rng.uniform(0.018, 0.03 + 0.03 * amount)
            strip = np.array([(-half, -wide), (half, -wide), (half, wide), (-half, wide)])
            pen.fill(strip, [(240, 230, 204), (226, 212, 180)], ink=(178, 160, 128), width=0.003)


def _draw_leaves(pen: Pen, rng: np.random.Generator, amount: float) -> None:
    for _ in range(round(1 + 4 * amount)):
        edge = rng.integers(4)
        t = rng.uniform(0.1, 0.9)
        at = np.array([(t, -0.02), (t, 1.02), (-0.02, t), (1.02, t)][edge])
        at = at + (0.5 - at) * rng.uniform(0, 0.75) * amount
        _draw_leaf(pen, rng, at, rng.uniform(0.08, 0.12 + 0.12 * amount))


def _draw_leaf(pen: Pen, rng: np.random.Generator, at: np.ndarray, length: float) -> None:
    colour = vary(rng, (*_GREENS, (172, 120, 64))[rng.integers(5)], 14)
    with pen.placed(at[0], at[1], rng.uniform(0, 2 * np.pi), length, length):
        outline = closed(path("0,0 500,-360 1100,-340 1700,0 1100,320 500,360"), 5)
        pen.fill(
            outline,
            [lighter(colour, 0.3), colour, darker(colour, 0.25)],
            ink=darker(colour, 0.5),
            width=0.03,
        )
        vein = darker(colour, 0.35)
        pen.line([(-0.2, 0.0), (1.6, 0.0)], vein, 0.035)
        for x in (0.35, 0.7, 1.05):
            pen.line([(x, 0), (x + 0.28, -0.24)], vein, 0.02)
            pen.line([(x, 0), (x + 0.28, 0.24)], vein, 0.02)


def _draw_weed(pen: Pen, rng: np.random.Generator, amount: float) -> None:
    for _ in range(round(1 + 5 * amount)):
        x, height = rng.uniform(0, 1), rng.uniform(0.25, 0.45 + 0.5 * amount)
        y = np.linspace(1.05, 1.05 - height, 6)
        sway = (
            0.035 * np.sin(np.arange(6) * 1.4 + rng.uniform(0, 6))
            + rng.normal(0, 0.05) * np.arange(6) / 5
        )
        colour = vary(rng, ((70, 112, 92), (92, 124, 78), (120, 104, 72))[rng.integers(3)], 12)
        ribbon = taper(curve(np.stack([x + sway, y], axis=1), 5), 0.03, 0.006, 0.05)
        pen.fill(
            ribbon,
            [lighter(colour, 0.25), darker(colour, 0.25)],
            ink=darker(colour, 0.5),
            width=0.004,
        )


def _draw_bubbles(pen: Pen, rng: np.random.Generator, amount: float) -> None:
    for x, y, r in rng.random((round(3 + 8 * amount), 3)):
        radius = 0.006 + 0.016 * r * r
        pen.sheet(ellipse(x, y, radius), (226, 242, 240), 0.4)
        pen.line(ellipse(x, y, radius), (240, 250, 248), 0.003)


def _draw_flakes(pen: Pen, rng: np.random.Generator, amount: float) -> None:
    for x, y, r in rng.random((round(6 + 24 * amount), 3)):
        pen.fill(ellipse(x, y, 0.006 + 0.012 * r * r), (252, 252, 250))

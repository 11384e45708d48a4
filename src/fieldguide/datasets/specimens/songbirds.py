"""How a songbird is drawn: a plump body from the side, on a twig, on the ground or in flight."""

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
    ring,
    taper,
    vary,
)

INK = (52, 40, 38)


@dataclass(frozen=True)
class Plumage:
    """Colours of a songbird; None where the kind lacks the mark."""

    back: Colour
    breast: Colour
    belly: Colour
    wing: Colour
    beak: Colour = (96, 84, 78)
    cap: Colour | None = None
    crest: Colour | None = None
    mask: Colour | None = None
    eye_stripe: Colour | None = None
    wing_bar: Colour | None = None
    patch: Colour | None = None


def draw(pen: Pen, rng: np.random.Generator, look: Plumage, stance: str, phase: float) -> set[str]:
    """Draw a songbird that faces right."""
    if stance == "in flight":
        _draw_flying(pen, rng, look, phase)
        return set()
    _draw_sitting(pen, rng, look, stance)
    return set()


_BODY = path(
    "300,-235 270,-295 215,-320 145,-300 80,-230 -30,-145 -160,-10 -270,120 "
    "-255,185 -130,235 30,240 170,175 260,45 285,-80 315,-175"
)
_WING = path("165,-100 90,-155 -20,-110 -160,15 -300,165 -345,225 -240,185 -90,145 60,105 145,30")


def _draw_sitting(pen: Pen, rng: np.random.Generator, look: Plumage, stance: str) -> None:
    plump = rng.uniform(0.94, 1.12)
    nod = rng.normal(0, 0.12)
    body = closed(_BODY * (1, plump))
    back, breast, belly, wing = (
        vary(rng, c) for c in (look.back, look.breast, look.belly, look.wing)
    )
    foot = 0.345 * plump
    if stance == "perched":
        _draw_perch(pen, rng, foot)
    _draw_tail(pen, back, wing, rng.normal(0, 0.12))
    for x in (0.02, 0.09):
        leg = curve([(x, 0.2 * plump), (x + 0.012, 0.28 * plump), (x + 0.035, foot - 0.01)])
        pen.line(leg, (122, 84, 66), 0.016, part=1)
        for dx in (-0.03, 0.0, 0.035):
            pen.line(
                [(x + 0.035, foot - 0.012), (x + 0.03 + dx, foot + 0.022)], (122, 84, 66), 0.014
            )
    pen.fill(body, [breast, mix(breast, belly, 0.5), belly], axis=[(0.28, -0.1), (-0.05, 0.22)])
    upper = path("340,-250 300,-420 50,-400 -330,100 -240,160 -20,0 120,-130 200,-200")
    pen.fill(upper, [lighter(back, 0.12), back], clip=body, soft=0.022)
    if look.patch is not None:
        patch = closed(path("300,-180 340,-50 270,120 130,160 100,20 200,-130"))
        pen.fill(patch, vary(rng, look.patch), clip=body, soft=0.012, mark="breast patch")
    _fleck(pen, rng, belly, plump)
    pen.line(body[26:-8], INK, 0.007)  # not the head, which turns by itself
    _draw_wing(pen, rng, look, wing)
    with pen.placed(0.2, -0.22, nod), pen.placed(-0.2, 0.22):
        _draw_head(pen, rng, look, back)


def _draw_perch(pen: Pen, rng: np.random.Generator, foot: float) -> None:
    slope = rng.normal(0, 0.10)
    x = np.array([-2.0, -0.4, 0.0, 0.35, 2.0])
    y = foot + 0.035 + slope * (x - 0.08) + rng.normal(0, 0.012, 5) * (np.abs(x) > 0.1)
    bark = vary(rng, (116, 92, 74))
    line = curve(np.stack([x, y], axis=1))
    pen.fill(
        taper(line, 0.085, 0.05),
        [lighter(bark, 0.25), bark, darker(bark, 0.35)],
        ink=darker(bark, 0.55),
        width=0.007,
        part=0,
    )
    for side in rng.uniform(-0.6, 0.6, 3):
        y0 = float(np.interp(side, x, y))
        up = rng.choice([-1, 1])
        tip = (side + rng.uniform(0.05, 0.16), y0 + up * rng.uniform(0.07, 0.16))
        leaf = vary(rng, (118, 140, 84), 16)
        mid = ((side + tip[0]) / 2, (y0 + tip[1]) / 2)
        across = (-(tip[1] - y0) * 0.32, (tip[0] - side) * 0.32)
        blade = closed([(side, y0), np.add(mid, across), tip, np.subtract(mid, across)])
        pen.fill(blade, [lighter(leaf, 0.2), leaf], ink=darker(leaf, 0.45), width=0.006, part=0)


def _draw_tail(pen: Pen, back: Colour, wing: Colour, lift: float) -> None:
    with pen.placed(-0.22, 0.12, lift):
        tail = curve(path("50,-55 -120,35 -300,155 -335,205 -290,205 -275,235 -120,140 40,75"), 4)
        shade = darker(mix(back, wing, 0.6), 0.15)
        pen.fill(tail, [lighter(shade, 0.15), shade], ink=INK)
        for k in (0.35, 0.65):
            pen.line(
                [(0.0, -0.03 + 0.09 * k), (-0.295, 0.165 + 0.06 * k)], darker(shade, 0.4), 0.006
            )


def _fleck(pen: Pen, rng: np.random.Generator, belly: Colour, plump: float) -> None:
    x = rng.uniform(-0.08, 0.22, 22)
    y = rng.uniform(0.06, 0.19, 22) * plump
    ink = darker(belly, 0.22)
    for a, b in zip(x, y, strict=True):
        if b < 0.22 - 0.9 * max(a - 0.05, 0):
            pen.line([(a, b), (a - 0.025, b + 0.022)], ink, 0.006)


def _draw_wing(pen: Pen, rng: np.random.Generator, look: Plumage, wing: Colour) -> None:
    outline = closed(_WING)
    pen.fill(moved(outline, 0.0, 0.025), darker(wing, 0.5), soft=0.02, opacity=0.35)
    pen.fill(
        outline,
        [lighter(wing, 0.22), wing, darker(wing, 0.28)],
        axis=[(0.14, -0.1), (-0.3, 0.2)],
        ink=INK,
    )
    edge = darker(wing, 0.45)
    for k in np.linspace(0.12, 0.9, 6):
        start = (0.03 - 0.1 * k, -0.07 + 0.17 * k)
        end = (-0.31 + 0.1 * k, 0.18 - 0.02 * k)
        middle = (np.mean([start[0], end[0]]), np.mean([start[1], end[1]]) + 0.012)
        pen.line(curve([start, middle, end], 4), edge, 0.006)
    scallop = path("110,-100 120,-40 100,20 75,-60 135,0")
    for x, y in scallop:
        pen.line(
            curve([(x - 0.02, y - 0.015), (x - 0.028, y + 0.006), (x - 0.012, y + 0.02)], 3),
            edge,
            0.006,
        )
    if look.wing_bar is not None:
        bar = curve(path("85,-110 45,-30 45,100"))
        pen.fill(
            taper(bar, 0.035, 0.055), vary(rng, look.wing_bar, 6), clip=outline, mark="wing bar"
        )


def _draw_head(pen: Pen, rng: np.random.Generator, look: Plumage, back: Colour) -> None:
    beak = vary(rng, look.beak, 8)
    if look.crest is not None:
        crest = vary(rng, look.crest)
        lift = rng.uniform(0.6, 1.15)
        spikes = [
            (0.325, -0.31),
            (0.26, -0.40 * (0.9 + 0.1 * lift)),
            (0.16, -0.40 - 0.11 * lift),
            (0.165, -0.42),
            (0.06, -0.39 - 0.10 * lift),
            (0.1, -0.36),
            (0.03, -0.33 - 0.06 * lift),
            (0.1, -0.28),
            (0.2, -0.3),
        ]
        outline = curve([*spikes, spikes[0]], 4)
        pen.fill(outline, [lighter(crest, 0.15), crest, darker(crest, 0.25)], ink=INK, mark="crest")
        for dx, dy in ((0.18, -0.44), (0.10, -0.42)):
            pen.line(curve([(0.26, -0.32), (0.2, -0.37), (dx, dy)], 3), darker(crest, 0.4), 0.006)
    head = closed(path("335,-245 305,-330 225,-370 135,-340 90,-250 140,-170 240,-140 310,-175"))
    pen.fill(head, [back, mix(back, look.breast, 0.55)], part=1)
    if look.cap is not None:
        cap = closed(path("345,-265 310,-360 220,-410 100,-370 85,-270 170,-265 270,-285"))
        colour = vary(rng, look.cap)
        pen.fill(cap, [lighter(colour, 0.15), colour], clip=head, mark="cap")
    if look.eye_stripe is not None:
        stripe = curve(path("335,-262 260,-285 170,-285 100,-250"))
        pen.fill(
            taper(stripe, 0.018, 0.03, 0.034),
            vary(rng, look.eye_stripe, 6),
            clip=head,
            mark="eye stripe",
        )
    if look.mask is not None:
        mask = closed(path("350,-235 320,-285 240,-305 150,-265 170,-225 250,-205 320,-200"))
        pen.fill(mask, vary(rng, look.mask, 6), clip=head, mark="mask")
    pen.line(np.concatenate([head[-7:], head[:32]]), INK, 0.007)
    upper = curve(path("325,-270 390,-262 445,-222 325,-222"), 4)
    lower = curve(path("325,-224 420,-216 380,-196 325,-193"), 4)
    pen.fill(lower, darker(beak, 0.15), ink=INK, width=0.007, mark="beak")
    pen.fill(upper, [lighter(beak, 0.3), beak], ink=INK, width=0.007, mark="beak")
    pen.fill(ellipse(0.262, -0.262, 0.03), lighter(back, 0.3), part=None)
    pen.eye(0.262, -0.262, 0.022)


def _draw_flying(pen: Pen, rng: np.random.Generator, look: Plumage, phase: float) -> None:
    back, breast, belly, wing = (
        vary(rng, c) for c in (look.back, look.breast, look.belly, look.wing)
    )
    beat = np.sin(2 * np.pi * phase)
    _draw_flight_wing(pen, darker(wing, 0.2), None, -0.06, 0.25 + 0.75 * beat, 0.85)
    with pen.placed(-0.24, 0.02, 0.05 * beat):
        fan = path("80,-45 -100,-70 -260,-85 -285,-30 -260,0 -285,35 -250,85 -100,60 80,45")
        tail = darker(mix(back, wing, 0.5), 0.1)
        pen.fill(curve([*fan, fan[0]], 3), [lighter(tail, 0.2), tail], ink=INK)
        for y in (-0.045, 0.0, 0.045):
            pen.line([(0.0, y * 0.5), (-0.26, y * 1.2)], darker(tail, 0.4), 0.006)
    body = closed(
        path(
            "330,-60 290,-125 210,-145 100,-115 -80,-100 -250,-30 -270,30 -120,105 "
            "80,125 220,80 300,0"
        )
    )
    pen.fill(
        body,
        [back, mix(back, breast, 0.5), breast, belly],
        axis=[(0.05, -0.12), (0.0, 0.13)],
        ink=INK,
    )
    if look.patch is not None:
        patch = closed(path("300,0 240,120 100,170 -20,120 60,40 200,20"))
        pen.fill(patch, vary(rng, look.patch), clip=body, soft=0.01, mark="breast patch")
        pen.line(ring(body), INK, 0.007)
    with pen.placed(-0.015, 0.19):
        _draw_head(pen, rng, look, back)
    _draw_flight_wing(pen, wing, look.wing_bar, 0.02, -0.05 + 0.95 * beat, 1.0)


def _draw_flight_wing(
    pen: Pen, wing: Colour, bar: Colour | None, x: float, beat: float, length: float
) -> None:
    """Draw an open wing, raised for ``beat`` near 1 and lowered near -1."""
    angle = -np.pi / 2 * np.clip(beat, -1, 1)
    reach = length * (0.62 + 0.38 * abs(beat))
    with pen.placed(x, -0.04, angle, sx=reach, sy=1.0 if beat < 0 else -1.0):
        # Along x from shoulder to tip; the trailing edge (y > 0) ends in separate feathers.
        tips = path(
            "540,40 490,60 495,85 430,90 425,125 360,120 345,155 280,145 255,180 "
            "190,165 150,190 60,165"
        )
        front = path("-50,30 20,-50 120,-85 240,-80 420,-35")
        outline = curve(np.concatenate([front, tips, path("-30,110 -50,30")]), 3)
        pen.fill(
            outline,
            [lighter(wing, 0.25), wing, darker(wing, 0.3)],
            axis=[(0.1, -0.07), (0.2, 0.2)],
            ink=INK,
        )
        for k, (tx, ty) in enumerate(tips[1::2]):
            pen.line(
                [(0.28 - 0.05 * k, 0.02 + 0.008 * k), (tx - 0.01, ty - 0.01)],
                darker(wing, 0.45),
                0.006,
            )
        pen.line(curve(path("20,45 160,55 330,20"), 4), darker(wing, 0.35), 0.007)
        if bar is not None:
            band = curve(path("0,50 160,70 350,40"))
            pen.fill(taper(band, 0.03, 0.02, 0.035), bar, clip=outline, mark="wing bar")

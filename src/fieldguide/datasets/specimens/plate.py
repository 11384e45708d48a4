"""One picture of one specimen: stance, scene, creature, clutter and light, and the truth about it.

    picture = grain · light · (clutter over creature over shadow over scene)

The layers are drawn apart and brought together at the size of the picture, where the soft parts
(shadow, the roundness of the body, vignette) cost little.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageFilter

from fieldguide.datasets.specimens.canvas import TRUTH_PX, Pen
from fieldguide.datasets.specimens.clutter import draw_clutter
from fieldguide.datasets.specimens.kinds import Kind
from fieldguide.datasets.specimens.scenery import SCENES, Ground

_CLUTTERED = 0.6  # share of pictures with something in front of the specimen
_MIN_MARK = 7  # pixels of the truth map that must show before a mark counts as seen
_MIN_SHARE = 0.3  # and the share of it that clutter must leave free


@dataclass(frozen=True)
class Light:
    """Direction, strength and colour of the light."""

    angle: float
    gain: np.ndarray
    vignette: float
    centre: tuple[float, float]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Plate:
    """One finished picture with its truth, in fractions of its width."""

    image: np.ndarray
    box: np.ndarray
    mask: np.ndarray
    marks: list[tuple[str, float, float, float, float]]
    words: set[str]


def paint_plate(kind: Kind, rng: np.random.Generator, size_px: int) -> Plate:
    """Paint one specimen of ``kind``."""
    stance_name = _pick(rng, {name: s.weight for name, s in kind.stances.items()})
    stance = kind.stances[stance_name]
    scene = _pick(rng, stance.scenes)
    light = choose_light(rng)
    ground = Ground(size_px, rng)
    SCENES[scene][0](ground)

    pen = Pen(size_px, rng)
    low, high = stance.size
    size = low + (high - low) * rng.beta(1.4, 1.5)
    facing = rng.choice([-1.0, 1.0])
    is_any_way = np.isinf(stance.tilt)
    angle = rng.uniform(-np.pi, np.pi) if is_any_way else rng.normal(0, stance.tilt)
    slack = 0.06 + 0.45 * max(0.0, 0.95 - size)
    x, y = 0.5 + rng.uniform(-slack, slack, 2)
    squash = rng.uniform(0.82, 1.0)
    with pen.placed(x, y, angle, facing * size * (squash if not is_any_way else 1), size):
        own_words = kind.draw(pen, rng, kind.look, stance_name, rng.random())

    front = None
    if rng.random() < _CLUTTERED:
        front = Pen(size_px, rng, sharpness=2)
        draw_clutter(front, rng, scene, float(rng.beta(1.6, 1.5)))
    image = compose(ground.finished(), pen, front, light, stance.is_grounded)

    box, marks, hidden = read_truth(pen, front)
    words = set(kind.words) | set(stance.words) | own_words | set(light.words) | {SCENES[scene][1]}
    if stance.is_directed:
        words.add("facing right" if facing > 0 else "facing left")
    if hidden > 0.12:
        words.add("partly hidden")
    if max(box[2] - box[0], box[3] - box[1]) > 0.85:
        words.add("close up")
    for name, *_ in marks:
        words.update(kind.marks.get(name, ()))
    return Plate(image, box, see_parts(pen, front) > 0, marks, words)


def _pick(rng: np.random.Generator, weights: Mapping[str, float]) -> str:
    names = list(weights)
    share = np.array([weights[name] for name in names])
    return names[int(rng.choice(len(names), p=share / share.sum()))]


def choose_light(rng: np.random.Generator) -> Light:
    """Return a light: mostly from above, sometimes dim, warm or cold."""
    brightness = float(np.clip(rng.normal(0.98, 0.11), 0.66, 1.12))
    warmth = rng.normal(0, 0.05)
    gain = brightness * np.array([1 + warmth, 1.0 + 0.15 * warmth, 1 - warmth], np.float32)
    words = []
    if brightness < 0.85:
        words.append("in dim light")
    if warmth > 0.055:
        words.append("in warm light")
    elif warmth < -0.055:
        words.append("in cold light")
    centre = (rng.uniform(0.3, 0.7), rng.uniform(0.2, 0.6))
    return Light(rng.normal(-2.2, 0.35), gain, rng.uniform(0.1, 0.4), centre, tuple(words))


def compose(
    ground: Image.Image, pen: Pen, front: Pen | None, light: Light, is_grounded: bool
) -> np.ndarray:
    """Bring the layers together under one light.

    All weights are planes; the three colours are then summed one by one, which numpy does several
    times faster than broadcasting over a last axis of length three.
    """
    size_px = ground.width
    cover = pen.cover.reduce(pen.sharpness)
    # What is smooth can be computed at half the size.
    small = cover.reduce(2).filter(ImageFilter.GaussianBlur(0.011 * size_px))
    body = _plane(small.resize(cover.size, Image.Resampling.BILINEAR))
    reach = 0.018 * size_px
    dx, dy = round(reach * np.cos(light.angle)), round(reach * np.sin(light.angle))
    lit = np.clip((body - _shifted(body, -dx, -dy)) * 0.42, -0.28, 0.28) + 1
    shadow = 1 - _shifted(body, -2 * dx, -2 * dy) * (0.42 if is_grounded else 0.1)
    solid = _plane(cover)
    layers = [(np.asarray(pen.colour.reduce(pen.sharpness)), solid * lit)]
    behind = shadow * (1 - solid)
    if front is not None:
        cover = front.cover.reduce(front.sharpness)
        solid = _plane(cover)
        shade = _plane(cover.filter(ImageFilter.BoxBlur(0.012 * size_px)))
        free = (1 - 0.3 * _shifted(shade, -dx, -dy)) * (1 - solid)
        layers = [(colour, weight * free) for colour, weight in layers]
        layers.append((np.asarray(front.colour.reduce(front.sharpness)), solid))
        behind *= free
    layers.append((np.asarray(ground), behind))

    step = np.linspace(0, 1, size_px, dtype=np.float32)
    away = (step - light.centre[0]) ** 2 + ((step - light.centre[1]) ** 2)[:, None]
    fall = (1 - light.vignette * away) * _grain(size_px)
    picture = np.empty((size_px, size_px, 3), np.uint8)
    for c, gain in enumerate(light.gain):
        total = sum(colour[..., c] * weight for colour, weight in layers)
        picture[..., c] = np.minimum(total * fall * gain, 255)
    return picture


def _plane(image: Image.Image) -> np.ndarray:
    return np.asarray(image, np.float32) * np.float32(1 / 255)


def _shifted(values: np.ndarray, dx: int, dy: int) -> np.ndarray:
    """Return ``values`` moved by (dx, dy), with nothing coming in from beyond the edge."""
    moved = np.zeros_like(values)
    h, w = values.shape
    moved[max(dy, 0) : h + min(dy, 0), max(dx, 0) : w + min(dx, 0)] = values[
        max(-dy, 0) : h + min(-dy, 0), max(-dx, 0) : w + min(-dx, 0)
    ]
    return moved


@lru_cache(maxsize=4)
def _grain(size_px: int) -> np.ndarray:
    """Return the grain of the paper, the same for every picture."""
    rng = np.random.default_rng(7)
    fine = Image.fromarray(rng.normal(0, 0.016, (TRUTH_PX, TRUTH_PX)).astype(np.float32))
    coarse = Image.fromarray(rng.normal(0, 0.016, (56, 56)).astype(np.float32))
    size = (size_px, size_px)
    grain: np.ndarray = 1 + np.asarray(fine.resize(size, 3)) + np.asarray(coarse.resize(size, 3))
    return grain


def read_truth(
    pen: Pen, front: Pen | None
) -> tuple[np.ndarray, list[tuple[str, float, float, float, float]], float]:
    """Return the box of what is seen of the creature, its visible marks, and the share hidden."""
    n_drawn = np.bincount(np.asarray(pen.truth).ravel(), minlength=256)
    part = see_parts(pen, front)
    n_seen = np.bincount(part.ravel(), minlength=256)
    hidden = 1 - n_seen[1:].sum() / max(n_drawn[1:].sum(), 1)
    box = _box_of(part > 0)
    marks = []
    for number, name in enumerate(pen.mark_names[2:], start=2):
        if n_seen[number] >= max(_MIN_MARK, _MIN_SHARE * n_drawn[number]):
            marks.append((name, *_box_of(part == number).tolist()))
    return box, marks, float(hidden)


def see_parts(pen: Pen, front: Pen | None) -> np.ndarray:
    """Return the number of the part of the creature that each pixel shows, 0 for none."""
    part = np.array(pen.truth)
    if front is not None:
        part[np.asarray(front.truth) > 0] = 0
    return part


def _box_of(mask: np.ndarray) -> np.ndarray:
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    if not len(columns):
        return np.array([0.0, 0.0, 1.0, 1.0])
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]) / TRUTH_PX

"""Backgrounds: what a specimen is seen against, painted in soft washes with a few drawn details.

Each painter takes a ``Ground`` and fills it, beginning with smooth noise for the most part; all
sizes are fractions of the picture.
"""

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from fieldguide.datasets.specimens.outlines import (
    Colour,
    closed,
    curve,
    darker,
    lighter,
    mix,
    moved,
    taper,
    vary,
)

_SHARPNESS = 2


class Ground:
    """A background under construction: a wash of colour first, then polygons on top."""

    def __init__(self, size_px: int, rng: np.random.Generator) -> None:
        self.rng = rng
        self.width_px = size_px * _SHARPNESS
        self.image = Image.new("RGB", (self.width_px, self.width_px))
        self._draw = ImageDraw.Draw(self.image)

    def wash(self, colours: list[Colour], texture: np.ndarray) -> None:
        """Cover everything: ``texture`` in [0, 1] picks between the colours."""
        stops = np.linspace(0, 255, len(colours))
        channels = np.array(colours, float).T
        palette = np.stack([np.interp(np.arange(256), stops, values) for values in channels], 1)
        # One plane is enlarged and then coloured, a third of the work of enlarging colours.
        index = Image.fromarray((np.clip(texture, 0, 1) * 255).astype(np.uint8))
        index = index.resize(self.image.size, Image.Resampling.BICUBIC)
        index.putpalette(palette.astype(np.uint8).tobytes())
        self.image.paste(index.convert("RGB"))

    def polygon(self, points: np.ndarray, colour: Colour) -> None:
        """Fill an outline with one colour."""
        self._draw.polygon((points * self.width_px).ravel().tolist(), fill=colour)

    def line(self, points: np.ndarray, colour: Colour, width: float) -> None:
        """Draw a line."""
        thick = max(1, round(width * self.width_px))
        self._draw.line((points * self.width_px).ravel().tolist(), fill=colour, width=thick)

    def disc(self, x: float, y: float, r: float, colour: Colour, squash: float = 1.0) -> None:
        """Fill a circle or a lying ellipse."""
        box = np.array([x - r, y - r * squash, x + r, y + r * squash]) * self.width_px
        self._draw.ellipse(box.tolist(), fill=colour)

    def blur(self, radius: float) -> None:
        """Put what has been drawn so far out of focus."""
        self.image = self.image.filter(ImageFilter.BoxBlur(radius * self.width_px))
        self._draw = ImageDraw.Draw(self.image)

    def finished(self) -> Image.Image:
        """Return the background at the size of the picture."""
        return self.image.reduce(_SHARPNESS)


def texture(
    rng: np.random.Generator, cells: int = 4, stretch: tuple[int, int] = (1, 1), n_octaves: int = 4
) -> np.ndarray:
    """Return smooth noise in about [0, 1] of shape (64, 64); ``stretch`` (x, y) makes streaks."""
    total = np.zeros((64, 64), np.float32)
    weight = 1.0
    for _ in range(n_octaves):
        shape = max(2, cells // stretch[1]), max(2, cells // stretch[0])
        noise = Image.fromarray(rng.random(shape, dtype=np.float32))
        total += weight * np.asarray(noise.resize((64, 64), Image.Resampling.BICUBIC))
        cells, weight = cells * 2, weight * 0.5
    total -= total.mean()
    return 0.5 + total * (0.22 / max(float(total.std()), 1e-6))


def _fall() -> np.ndarray:
    """Return 0 at the top to 1 at the bottom, of shape (64, 1)."""
    return np.linspace(0, 1, 64, dtype=np.float32)[:, None]


def paint_sky(ground: Ground) -> None:
    """Paint a pale sky with clouds."""
    rng = ground.rng
    top = vary(rng, (128, 168, 198), 14)
    low = vary(rng, (226, 228, 216), 10)
    clouds = texture(rng, 5, (2, 1), 4)
    tint = np.clip(1.3 * (clouds - 0.45), 0, 1) * rng.uniform(0.4, 1.1)
    ground.wash([top, mix(top, low, 0.6), low, (250, 247, 238)], 0.12 + 0.55 * _fall() + tint * 0.7)


def paint_foliage(ground: Ground) -> None:
    """Paint leaves out of focus."""
    rng = ground.rng
    green = vary(rng, (126, 150, 104), 18)
    ground.wash([darker(green, 0.35), green, lighter(green, 0.5)], texture(rng, 4))
    for _ in range(16):
        x, y, r = rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0.05, 0.14)
        tone = lighter(green, rng.uniform(0, 0.5)) if rng.random() < 0.6 else darker(green, 0.2)
        angle = rng.uniform(0, np.pi)
        tip = np.array([np.cos(angle), np.sin(angle)]) * r
        side = np.array([-tip[1], tip[0]]) * 0.45
        ground.polygon(closed(moved([-tip, side, tip, -side], x, y), 5), vary(rng, tone, 10))
    ground.blur(0.016)


def paint_meadow(ground: Ground) -> None:
    """Paint grass under a pale sky, with a few flowers."""
    rng = ground.rng
    horizon = rng.uniform(0.1, 0.4)  # low enough for what stands in the grass
    sky, grass = vary(rng, (214, 222, 216), 10), vary(rng, (150, 164, 98), 14)
    level = np.clip((_fall() - horizon) * 5 + 0.5, 0, 1)
    ground.wash(
        [sky, lighter(grass, 0.45), grass, darker(grass, 0.25)],
        level * 0.7 + 0.35 * (texture(rng, 8, (2, 1)) - 0.35),
    )
    for _ in range(26):
        x, y = rng.uniform(0, 1), rng.uniform(horizon + 0.12, 1.1)
        blade(ground, x, y, rng.uniform(0.1, 0.25), vary(rng, grass, 16))
    ground.blur(0.008)
    for _ in range(rng.integers(3, 9)):
        petal = ((238, 214, 110), (238, 236, 226), (206, 130, 150), (150, 140, 196))[
            rng.integers(4)
        ]
        x, y, r = rng.uniform(0, 1), rng.uniform(horizon + 0.1, 1), rng.uniform(0.008, 0.018)
        ground.disc(x, y, r, vary(rng, petal), 0.8)
        ground.disc(x, y, r * 0.35, (196, 150, 60), 0.8)


def blade(ground: Ground, x: float, y: float, height: float, colour: Colour) -> None:
    """Draw one blade of grass that grows from (x, y)."""
    lean = ground.rng.normal(0, 0.35) * height
    line = curve([(x, y), (x + lean * 0.3, y - height * 0.6), (x + lean, y - height)], 4)
    ground.polygon(taper(line, 0.014, 0.002), colour)


def paint_snow(ground: Ground) -> None:
    """Paint drifts of snow with blue shadows and a few tufts of dry grass."""
    rng = ground.rng
    ground.wash(
        [(166, 186, 210), (214, 225, 236), (246, 247, 246)],
        texture(rng, 5, (2, 1), 3) + 0.25 - 0.1 * _fall(),
    )
    for _ in range(rng.integers(2, 5)):
        x, y = rng.uniform(0, 1), rng.uniform(0.15, 1.0)
        ground.disc(x + 0.012, y + 0.006, 0.035, (196, 208, 224), 0.3)
        straw = vary(rng, (164, 142, 108), 10)
        for _ in range(6):
            blade(ground, x + rng.normal(0, 0.01), y, rng.uniform(0.05, 0.16), vary(rng, straw, 10))
    for x, y in rng.random((22, 2)).tolist():
        ground.disc(x, y, rng.uniform(0.002, 0.005), (255, 255, 255))


def paint_moss(ground: Ground) -> None:
    """Paint cushions of moss, with small tufts that catch the light."""
    rng = ground.rng
    moss = vary(rng, (116, 130, 70), 14)
    ground.wash([darker(moss, 0.55), darker(moss, 0.2), moss, lighter(moss, 0.2)], texture(rng, 6))
    for (x, y), t in zip(rng.random((70, 2)), rng.random(70), strict=True):
        tone = mix(darker(moss, 0.3), lighter(moss, 0.22), t)
        height = 0.02 + 0.018 * t
        for angle in (-0.9, -0.45, 0.0, 0.45, 0.9):
            tip = (x + np.sin(angle) * height, y - np.cos(angle) * height)
            ground.line(np.array([(x, y), tip]), tone, 0.005)


def paint_forest_floor(ground: Ground) -> None:
    """Paint fallen leaves on dark earth."""
    rng = ground.rng
    earth = vary(rng, (112, 88, 66), 10)
    ground.wash([darker(earth, 0.5), earth, lighter(earth, 0.2)], texture(rng, 7))
    litter = ((164, 116, 66), (140, 96, 60), (180, 140, 86), (124, 104, 70), (150, 84, 54))
    for _ in range(24):
        x, y, r = rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0.04, 0.1)
        angle = rng.uniform(0, 2 * np.pi)
        tip = np.array([np.cos(angle), np.sin(angle)]) * r
        side = np.array([-tip[1], tip[0]]) * rng.uniform(0.3, 0.55)
        colour = darker(vary(rng, litter[rng.integers(5)], 12), rng.uniform(0, 0.35))
        leaf = closed(moved([-tip, side, tip, -side], x, y), 5)
        ground.polygon(moved(leaf, 0.006, 0.009), darker(earth, 0.6))
        ground.polygon(leaf, colour)
        ground.line(moved([-tip, tip], x, y), darker(colour, 0.3), 0.003)


def paint_sand(ground: Ground) -> None:
    """Paint rippled sand with pebbles."""
    rng = ground.rng
    sand = vary(rng, (214, 190, 150), 10)
    wave = texture(rng, 4, (1, 1), 2)
    ripple = 0.5 + 0.22 * np.sin(_fall() * rng.uniform(30, 60) + wave * 9)
    ground.wash([darker(sand, 0.22), sand, lighter(sand, 0.45)], 0.6 * ripple + 0.4 * wave)
    _scatter_pebbles(ground, int(rng.integers(5, 14)), (168, 154, 140))


def _scatter_pebbles(ground: Ground, n: int, colour: Colour) -> None:
    rng = ground.rng
    for _ in range(n):
        x, y, r = rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0.008, 0.035)
        stone = vary(rng, colour, 20)
        ground.disc(x + r * 0.25, y + r * 0.3, r, darker(stone, 0.45), 0.7)
        ground.disc(x, y, r, stone, 0.72)
        ground.disc(x - r * 0.25, y - r * 0.22, r * 0.5, lighter(stone, 0.3), 0.65)


def paint_deep_water(ground: Ground) -> None:
    """Paint water seen from within, with light falling through it."""
    rng = ground.rng
    top, low = vary(rng, (150, 198, 196), 12), vary(rng, (44, 98, 116), 12)
    ground.wash(
        [lighter(top, 0.3), top, mix(top, low, 0.6), low],
        _fall() * 0.85 + 0.35 * (texture(rng, 6, (2, 1)) - 0.5),
    )
    for _ in range(4):
        x, w, slant = rng.uniform(-0.1, 1.1), rng.uniform(0.03, 0.1), rng.normal(0.15, 0.15)
        for depth, tone in ((1.1, 0.62), (0.75, 0.42), (0.45, 0.2)):
            ray = [
                (x, 0),
                (x + w, 0),
                (x + w + (w + slant) * depth, depth),
                (x + slant * depth, depth),
            ]
            ground.polygon(np.array(ray), mix(lighter(top, 0.22), low, tone))
    ground.blur(0.03)
    for x, y in rng.random((12, 2)):
        r = rng.uniform(0.004, 0.012)
        ground.disc(x, y, r, lighter(top, 0.4))
        ground.disc(x, y, r * 0.65, mix(top, low, 0.35 * y + 0.2))


def paint_reef(ground: Ground) -> None:
    """Paint a reef: corals and stones below clear water."""
    rng = ground.rng
    paint_deep_water(ground)
    for _ in range(9):
        x, h = rng.uniform(0, 1), rng.uniform(0.1, 0.32)
        hue = ((196, 124, 112), (212, 164, 110), (150, 116, 150), (110, 140, 120))[rng.integers(4)]
        coral = mix(vary(rng, hue, 14), (70, 120, 130), 0.35)
        for angle in rng.normal(0, 0.45, 4):
            end = (x + np.sin(angle) * h, 1.02 - np.cos(angle) * h)
            branch = curve([(x, 1.04), (x + np.sin(angle) * h * 0.4, 1.0 - 0.55 * h), end], 4)
            ground.polygon(taper(branch, 0.05, 0.02), coral)
            ground.disc(*end, 0.014, lighter(coral, 0.25))


def paint_stream(ground: Ground) -> None:
    """Paint the bed of a stream through moving water."""
    rng = ground.rng
    bed = vary(rng, (124, 128, 104), 12)
    ground.wash([darker(bed, 0.35), bed, lighter(bed, 0.3)], texture(rng, 5, (1, 1)))
    _scatter_pebbles(ground, 22, mix(bed, (150, 140, 124), 0.6))
    ground.blur(0.006)
    for _ in range(7):
        y = rng.uniform(0, 1)
        x = np.linspace(-0.05, 1.05, 6)
        ripple = curve(np.stack([x, y + rng.normal(0, 0.02, 6)], axis=1), 5)
        ground.line(ripple, lighter(bed, 0.5), 0.004)
    ground.blur(0.004)


def paint_pond(ground: Ground) -> None:
    """Paint the surface of a pond with ripples and reeds."""
    rng = ground.rng
    water = vary(rng, (122, 156, 160), 14)
    ground.wash(
        [lighter(water, 0.55), water, darker(water, 0.25)],
        0.15 + 0.5 * _fall() + 0.6 * (texture(rng, 8, (4, 1), 3) - 0.4),
    )
    for _ in range(14):
        x, y, w = rng.uniform(0, 1), rng.uniform(0.15, 1), rng.uniform(0.05, 0.25)
        tone = lighter(water, 0.5) if rng.random() < 0.6 else darker(water, 0.25)
        ground.polygon(closed([(x - w, y), (x, y - 0.006), (x + w, y), (x, y + 0.006)], 4), tone)
    side = rng.choice([0.05, 0.95])
    for _ in range(rng.integers(0, 12)):
        reed = mix(vary(rng, (110, 128, 78), 14), water, 0.3)
        blade(
            ground, side + rng.normal(0, 0.12), rng.uniform(0.3, 0.5), rng.uniform(0.2, 0.5), reed
        )


def paint_paper(ground: Ground) -> None:
    """Paint a herbarium sheet: cream paper with fibres, a ruled label and a stain."""
    rng = ground.rng
    paper = vary(rng, (236, 226, 202), 7)
    ground.wash([darker(paper, 0.1), paper, lighter(paper, 0.4)], texture(rng, 3, (1, 1), 5))
    for _ in range(16):
        x, y, a = rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0, np.pi)
        step = np.array([np.cos(a), np.sin(a)]) * rng.uniform(0.008, 0.03)
        ground.line(moved([(0, 0), step], x, y), darker(paper, 0.16), 0.003)
    if rng.random() < 0.6:
        x, y = rng.choice([0.05, 0.63]), rng.choice([0.04, 0.83])
        label = np.array([(x, y), (x + 0.32, y), (x + 0.32, y + 0.13), (x, y + 0.13)])
        ground.polygon(moved(label, 0.004, 0.006), darker(paper, 0.18))
        ground.polygon(label, lighter(paper, 0.5))
        ink = (120, 104, 90)
        for k, length in enumerate(rng.uniform(0.14, 0.27, 3)):
            wiggle = np.linspace(0, length, 18)
            row = np.stack(
                [x + 0.02 + wiggle, y + 0.035 + 0.032 * k + rng.normal(0, 0.004, 18)], axis=1
            )
            ground.line(row, ink, 0.003)


def paint_bark(ground: Ground) -> None:
    """Paint the bark of a tree with cracks and lichen."""
    rng = ground.rng
    bark = vary(rng, (132, 114, 98), 12)
    ground.wash([darker(bark, 0.45), bark, lighter(bark, 0.35)], texture(rng, 10, (1, 4), 3))
    for _ in range(16):
        x, y = rng.uniform(0, 1), rng.uniform(-0.1, 1)
        crack = np.stack([x + rng.normal(0, 0.012, 5).cumsum(), y + np.linspace(0, 0.3, 5)], axis=1)
        ground.polygon(taper(curve(crack, 3), 0.002, 0.002, 0.014), darker(bark, 0.55))
    for _ in range(rng.integers(2, 8)):
        x, y, r = rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0.015, 0.05)
        ring = closed(
            np.stack(
                [
                    x + r * rng.uniform(0.6, 1.2, 8) * np.cos(np.arange(8) * 0.785),
                    y + r * rng.uniform(0.6, 1.2, 8) * np.sin(np.arange(8) * 0.785),
                ],
                1,
            ),
            4,
        )
        ground.polygon(ring, mix(vary(rng, (164, 176, 140), 10), bark, 0.25))


def paint_green_leaf(ground: Ground) -> None:
    """Paint one great leaf that fills the picture."""
    rng = ground.rng
    green = vary(rng, (128, 156, 88), 16)
    ground.wash([darker(green, 0.25), green, lighter(green, 0.3)], texture(rng, 4, (1, 1), 4))
    angle = rng.uniform(0, np.pi)
    along = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-along[1], along[0]])
    centre = rng.uniform(0.35, 0.65, 2)
    pale = lighter(green, 0.35)
    for k in np.arange(-6, 7) * 0.13:
        base = centre + along * k
        for side in (-1, 1):
            end = base + along * 0.35 + across * side * 0.8
            vein = curve([base, (base + end) / 2 + along * -0.04, end], 5)
            ground.line(vein + 0.004, darker(green, 0.2), 0.005)
            ground.line(vein, pale, 0.005)
    ground.polygon(taper(np.array([centre - along, centre, centre + along]), 0.03, 0.02), pale)


SCENES: dict[str, tuple[Callable[[Ground], None], str]] = {
    "sky": (paint_sky, "against the sky"),
    "foliage": (paint_foliage, "among foliage"),
    "meadow": (paint_meadow, "in a meadow"),
    "snow": (paint_snow, "on snow"),
    "moss": (paint_moss, "on moss"),
    "forest floor": (paint_forest_floor, "on the forest floor"),
    "sand": (paint_sand, "on sand"),
    "deep water": (paint_deep_water, "under water"),
    "reef": (paint_reef, "under water"),
    "stream": (paint_stream, "under water"),
    "pond": (paint_pond, "on water"),
    "paper": (paint_paper, "on paper"),
    "bark": (paint_bark, "on bark"),
    "green leaf": (paint_green_leaf, "on a leaf"),
}

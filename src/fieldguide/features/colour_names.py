"""The eleven basic names of colours, for any pixel.

A colour is turned into lightness L, chroma C and hue h of CIELAB. Colours of little chroma are
black, grey or white; the hue decides the others, except where people leave it for lightness:
dark orange is brown, light red is pink. A few colours between two names, such as olive, have none.

Reference: B. Berlin, P. Kay, "Basic color terms", University of California Press (1969).
"""

from functools import cache

import numpy as np

from fieldguide.features.color_histogram import to_lab

COLOURS = (
    "black", "grey", "white", "red", "orange", "brown", "yellow", "green", "blue", "purple", "pink",
)  # fmt: skip
NO_NAME = len(COLOURS)
_LEVELS = 32  # of a channel in the table


def name_colours(image: np.ndarray) -> np.ndarray:
    """Return the position in `COLOURS` of each pixel's name, or `NO_NAME`, (height, width) uint8.

    Parameters
    ----------
    image : uint8 array of shape (height, width, 3)

    Examples
    --------
    >>> COLOURS[name_colours(np.full((1, 1, 3), (230, 120, 20), np.uint8))[0, 0]]
    'orange'
    """
    names: np.ndarray = _name_table()[_code(image)]
    return names


def name_grounds(image: np.ndarray) -> np.ndarray:
    """Return the names as in `name_colours`, but for flat surfaces: a ground, or a whole picture.

    White paper is lighter than a white bird in the shade, a pale sky is blue, and sand not brown.
    """
    names: np.ndarray = _ground_table()[_code(image)]
    return names


def _code(image: np.ndarray) -> np.ndarray:
    """Return the place of each pixel in the tables of 5 bits per channel."""
    fine = (image >> 3).astype(np.int32)
    return (fine[..., 0] << 10) | (fine[..., 1] << 5) | fine[..., 2]


@cache
def _name_table() -> np.ndarray:
    """Return the name of each colour of 5 bits per channel, (32768,)."""
    lightness, chroma, hue = _list_colours()

    def between(low: float, high: float) -> np.ndarray:
        return (hue >= low) & (hue < high)

    reddish, orangish = ~between(45, 350), between(45, 76)
    # Lemon is yellow where it is strong or light; where not, it is olive, which has no basic name.
    yellowish = between(76, 102) | (between(76, 111) & ((chroma > 35) | (lightness > 80)))
    # The hue of CIELAB turns towards purple where blue is strong.
    greenish = between(102, 180)
    bluish = between(180, 304) | (between(304, 309) & (chroma > 65))
    limit = np.select([between(20, 105), between(180, 310)], [9, 12], 8)
    weak = chroma < limit
    rules = [  # the last that holds decides
        ("red", reddish),
        ("orange", orangish),
        ("green", greenish),
        ("yellow", yellowish),
        ("purple", between(300, 332)),
        ("blue", bluish),
        ("pink", between(332, 350) | (reddish & (lightness > 62) & (chroma < 50))),
        ("pink", ~between(12, 350) & (lightness > 50)),
        (None, (between(300, 332) & (chroma < 20)) | (between(332, 360) & (chroma < 12))),
        (None, between(38, 45) & (lightness > 62) & (chroma < 50)),
        ("brown", between(20, 45) & (chroma < 36) & (lightness < 62)),
        ("brown", orangish & ((chroma < 36) | ((lightness < 54) & (chroma < 52)))),
        ("brown", yellowish & (((chroma < 30) & (lightness < 80)) | (lightness < 45))),
        (None, between(40, 76) & (chroma < 36) & (lightness > 80)),
        (None, between(102, 118) & (chroma < 22) & (lightness < 65)),
        (None, between(118, 180) & (chroma < 13)),
        (None, bluish & (chroma < 17)),
        ("black", bluish & (chroma < 25) & (lightness < 32)),  # the sheen of a raven
        ("white", between(40, 110) & (chroma < 20) & (lightness > 76)),
        ("grey", weak),
        ("white", weak & (lightness > 70)),
        ("black", weak & (lightness < 26)),
        ("black", (lightness < 14) | ((lightness < 18) & (chroma < 14))),
    ]
    table = np.zeros(len(hue), np.uint8)
    for name, holds in rules:
        table[holds] = COLOURS.index(name) if name else NO_NAME
    table.setflags(write=False)
    return table


@cache
def _ground_table() -> np.ndarray:
    """Return the name of each colour as a ground, (32768,)."""
    lightness, chroma, hue = _list_colours()
    table = _name_table().copy()
    is_shaded = (table == COLOURS.index("white")) & (lightness < 82)
    table[is_shaded] = np.where(chroma[is_shaded] < 8, COLOURS.index("grey"), NO_NAME)
    table[(table == COLOURS.index("brown")) & (lightness > 65)] = NO_NAME
    table[(hue >= 200) & (hue < 300) & (chroma >= 7) & (lightness > 30)] = COLOURS.index("blue")
    table.setflags(write=False)
    return table


@cache
def _list_colours() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lightness, chroma and hue of the colours of the tables, in degrees."""
    level = (np.arange(_LEVELS) * 8 + 4) / 255
    rgb = np.stack(np.meshgrid(level, level, level, indexing="ij"), axis=-1).reshape(-1, 3)
    lightness, a, b = to_lab(rgb).T
    return lightness, np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360

"""Colours and outlines: the vocabulary in which every body plan is written.

Outlines are arrays of points of shape (n, 2) in the units of whatever is drawn, x to the right and
y down. Colours are three numbers from 0 to 255.
"""

from functools import lru_cache
from typing import Any

import numpy as np

Colour = tuple[int, int, int]
Points = Any  # anything that numpy reads as an array of shape (n, 2)


def mix(a: Colour, b: Colour, t: float) -> Colour:
    """Return the colour a fraction ``t`` of the way from ``a`` to ``b``.

    >>> mix((0, 0, 0), (100, 200, 50), 0.5)
    (50, 100, 25)
    """
    u = 1 - t
    return int(a[0] * u + b[0] * t), int(a[1] * u + b[1] * t), int(a[2] * u + b[2] * t)


def darker(colour: Colour, amount: float = 0.3) -> Colour:
    """Return ``colour`` nearer to ink."""
    return mix(colour, (38, 28, 30), amount)


def lighter(colour: Colour, amount: float = 0.3) -> Colour:
    """Return ``colour`` nearer to paper."""
    return mix(colour, (255, 250, 238), amount)


def vary(rng: np.random.Generator, colour: Colour, amount: float = 12.0) -> Colour:
    """Return ``colour`` a little brighter or darker, and of a slightly different hue."""
    value, red, green, blue = rng.standard_normal(4).tolist()
    shift = 0.75 * value
    return (
        min(max(int(colour[0] + amount * (shift + 0.4 * red)), 0), 255),
        min(max(int(colour[1] + amount * (shift + 0.4 * green)), 0), 255),
        min(max(int(colour[2] + amount * (shift + 0.4 * blue)), 0), 255),
    )


@lru_cache(maxsize=256)
def _spline_matrix(n_points: int, n_between: int, is_closed: bool) -> np.ndarray:
    """Return the matrix that takes control points to samples of their Catmull-Rom spline."""
    n_spans = n_points if is_closed else n_points - 1
    t = np.arange(n_between) / n_between
    basis = 0.5 * np.stack(
        [-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2]
    )
    matrix = np.zeros((n_spans * n_between + (not is_closed), n_points))
    for span in range(n_spans):
        rows = slice(span * n_between, (span + 1) * n_between)
        for k in range(4):
            j = span + k - 1
            j = j % n_points if is_closed else min(max(j, 0), n_points - 1)
            matrix[rows, j] += basis[k]
    if not is_closed:
        matrix[-1, -1] = 1.0
    return matrix


@lru_cache(maxsize=1024)
def path(text: str) -> np.ndarray:
    """Return control points written as "x,y x,y ..." in thousandths of a unit.

    >>> path("100,-250 80,0").tolist()
    [[0.1, -0.25], [0.08, 0.0]]
    """
    points = np.array([pair.split(",") for pair in text.split()], float) / 1000
    points.flags.writeable = False  # shared by every caller
    return points


def closed(points: Points, n_between: int = 7) -> np.ndarray:
    """Return a smooth closed outline through ``points``."""
    points = np.asarray(points, float)
    outline: np.ndarray = _spline_matrix(len(points), n_between, True) @ points
    return outline


def curve(points: Points, n_between: int = 6) -> np.ndarray:
    """Return a smooth open line through ``points``."""
    points = np.asarray(points, float)
    line: np.ndarray = _spline_matrix(len(points), n_between, False) @ points
    return line


def ellipse(x: float, y: float, rx: float, ry: float | None = None, angle: float = 0.0) -> Any:
    """Return the outline of an ellipse with its long axis turned by ``angle`` (radians)."""
    circle = _circle()
    points = circle * (rx, rx if ry is None else ry)
    return points @ rotation(angle).T + (x, y)


@lru_cache(maxsize=1)
def _circle() -> np.ndarray:
    angle = np.arange(26) * (2 * np.pi / 26)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def rotation(angle: float) -> np.ndarray:
    """Return the 2 x 2 matrix that turns by ``angle`` radians."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def taper(line: Points, start: float, end: float, middle: float | None = None) -> np.ndarray:
    """Return the outline of a stroke along ``line`` whose width goes from ``start`` to ``end``."""
    line = np.asarray(line, float)
    across = np.empty_like(line)
    across[1:-1] = line[2:] - line[:-2]
    across[0], across[-1] = line[1] - line[0], line[-1] - line[-2]
    across = across[:, ::-1] * (-1, 1)
    length = np.sqrt(np.einsum("ij,ij->i", across, across))
    t = np.arange(len(line)) / (len(line) - 1)
    if middle is None:
        width = start + (end - start) * t
    else:
        width = np.interp(t, (0, 0.5, 1), (start, middle, end))
    across *= (width / (2 * np.maximum(length, 1e-9)))[:, None]
    return np.concatenate([line + across, (line - across)[::-1]])


def mirrored(points: Points) -> np.ndarray:
    """Return ``points`` reflected in the y axis."""
    return np.asarray(points, float) * (-1, 1)


def moved(points: Points, dx: float, dy: float) -> np.ndarray:
    """Return ``points`` displaced by (dx, dy)."""
    displaced: np.ndarray = np.asarray(points, float) + np.array([dx, dy])
    return displaced


def ring(points: np.ndarray) -> np.ndarray:
    """Return ``points`` with the first one repeated at the end, to draw an outline as a line."""
    return np.concatenate([points, points[:1]])

"""A small map of the subject of a picture: which colour it has where, and what that is in words.

The map is a grid of cells over the box around the subject's pixels. A cell that is mostly subject
has the colour that most of its pixels have; the others are not of the subject. So the map does not
depend on where the subject is in the picture, nor on its size.

Its words (yellow below, black at the edge, much wider than tall) are finer than those of a specimen
(:mod:`~fieldguide.features.subject_words`), and more often wrong of one picture. They serve to say
what sets a kind apart, where a word counts by how often it is true of many pictures. Between two
kinds, measures are compared too: more yellow below, darker, plainer.

With s the share of a colour in a part of the subject and o that in the surroundings, what counts
is s − λ o, since a little of the surroundings is always taken for the subject. The parts are what
is above and below (35 % of each column of cells), the middle and the edge (by the distance to what
is outside).
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from fieldguide.features.color_histogram import to_lab
from fieldguide.features.colour_names import COLOURS, NO_NAME
from fieldguide.features.looks import spread_cells
from fieldguide.features.network import Box
from fieldguide.features.properties import squash
from fieldguide.features.subject_words import LENT, NEIGHBOURS, SeenSubject, share_names

N_CELLS = 16  # along each side
OUTSIDE = NO_NAME + 1  # of cells that are not of the subject
PARTS = ("above", "below", "in the middle", "at the edge")
_OPPOSITE = {0: 1, 1: 0, 2: 3, 3: 2}
_END = 0.35  # of each column
_EDGE, _MIDDLE = 0.4, 0.6  # of the largest distance to what is outside
_LEAST_CELLS = 6  # of a part
_HEAD = 4 + 1 + 1 + len(COLOURS) + 2 * (1 + len(PARTS))
MAP_SIZE = _HEAD + N_CELLS**2


class MapWord(NamedTuple):
    """A word of the map, with the colours and the part of the subject that it is about."""

    name: str
    colours: tuple[str, ...] = ()  # () for words on the form
    part: str = ""  # "" for the whole subject


class Measure(NamedTuple):
    """What two kinds are compared by, and what is said of the one with more, and with less."""

    more: str
    less: str  # "" where less of it is not worth saying
    least: float  # difference of the medians that can be seen
    colour: str = ""
    part: str = ""


_PAIRS = tuple(
    pair
    for pair in combinations(range(len(COLOURS)), 2)
    if {COLOURS[k] for k in pair} not in NEIGHBOURS
)
# Each with its threshold and width, in the unit of what is measured.
_FORM = (
    ("much wider than tall", 0.8, 0.15),  # octaves of width over height
    ("much taller than wide", 0.7, 0.15),
    ("mostly of one colour", 0.75, 0.05),  # share of the first
    ("of many colours", 4.0, 0.4),  # as many of equal share
)
MAP_WORDS = (
    *(MapWord(f"mostly {c}", (c,)) for c in COLOURS),
    *(MapWord(f"with {c}", (c,)) for c in COLOURS),
    *(MapWord(f"{c} {part}", (c,), part) for part in PARTS for c in COLOURS),
    *(MapWord(f"{COLOURS[a]} and {COLOURS[b]}", (COLOURS[a], COLOURS[b])) for a, b in _PAIRS),
    *(MapWord(name) for name, _, _ in _FORM),
)
_WHERE = ("", *(f" {part}" for part in PARTS))
MEASURES = (
    *(Measure(f"more {c}{w}", "", 0.08, c, w.strip()) for w in _WHERE for c in COLOURS),
    *(Measure(f"paler{w}", f"darker{w}", 5.0, "", w.strip()) for w in _WHERE),
    *(Measure(f"more vivid{w}", f"duller{w}", 5.0, "", w.strip()) for w in _WHERE),
    Measure("more patterned", "plainer", 2.0),
    Measure("wider for its height", "taller for its width", 0.5),
    Measure("fuller in outline", "more open in outline", 0.07),
)


class SubjectMap(NamedTuple):
    """What is kept of the subject of one picture.

    Examples
    --------
    >>> from fieldguide.features.colour_names import name_colours
    >>> image = np.full((60, 60, 3), (60, 150, 60), np.uint8)  # green
    >>> image[20:30, 10:50], image[30:40, 10:50] = (10, 10, 10), (240, 215, 40)  # black over yellow
    >>> row = map_subject(SeenSubject(image, name_colours(image), image[..., 1] != 150))
    >>> found = SubjectMap.from_row(row)
    >>> found.aspect, [round(float(x), 2) for x in found.find_box(("yellow",), "below")]
    (2.0, [0.17, 0.54, 0.83, 0.67])
    """

    box: Box  # around its pixels, in shares of the picture
    aspect: float  # width over height, in pixels
    detail: float  # mean difference of lightness between neighbouring pixels
    around: np.ndarray  # (11,) share of each colour in the surroundings
    tones: np.ndarray  # (5, 2) lightness and chroma of CIELAB: the whole, then each of PARTS
    cells: np.ndarray  # (N_CELLS, N_CELLS) uint8: place in COLOURS, NO_NAME or OUTSIDE

    def to_row(self) -> np.ndarray:
        """Return the map as `MAP_SIZE` numbers."""
        head = [*self.box, self.aspect, self.detail]
        parts = head, self.around, self.tones.ravel(), self.cells.ravel()
        return np.concatenate(parts).astype(np.float32)

    @classmethod
    def from_row(cls, row: np.ndarray) -> "SubjectMap | None":
        """Return the map from its numbers; None where there was no subject."""
        if not np.isfinite(row).all():
            return None
        x0, y0, x1, y1, aspect, detail = (float(value) for value in row[:6])
        around, tones = row[6 : 6 + len(COLOURS)], row[6 + len(COLOURS) : _HEAD]
        cells = row[_HEAD:].astype(np.uint8).reshape(N_CELLS, N_CELLS)
        return cls((x0, y0, x1, y1), aspect, detail, around, tones.reshape(-1, 2), cells)

    def find_box(self, colours: tuple[str, ...], part: str) -> Box:
        """Return where a word is seen: the box around the cells of its colours, in its part."""
        where = self.cells != OUTSIDE
        if part:
            where = _split_parts(where[None])[PARTS.index(part)][0]
        coloured = where & np.isin(self.cells, [COLOURS.index(c) for c in colours])
        if coloured.any():
            where = coloured
        if not where.any():
            return self.box
        rows, columns = (np.flatnonzero(where.any(axis=a)) for a in (1, 0))
        x0, y0, x1, y1 = self.box
        across, down = (x1 - x0) / N_CELLS, (y1 - y0) / N_CELLS
        left, right = x0 + columns[0] * across, x0 + (columns[-1] + 1) * across
        return left, y0 + rows[0] * down, right, y0 + (rows[-1] + 1) * down


def map_subject(seen: SeenSubject | None) -> np.ndarray:
    """Return the map of a subject as a row of `MAP_SIZE` numbers, NaN where there is none.

    Parameters
    ----------
    seen : SeenSubject or None
        What :func:`see_subject` returned of the picture.

    Examples
    --------
    >>> from fieldguide.features.colour_names import name_colours
    >>> image = np.full((60, 60, 3), (60, 150, 60), np.uint8)  # green
    >>> image[20:30, 10:50], image[30:40, 10:50] = (10, 10, 10), (240, 215, 40)  # black over yellow
    >>> row = map_subject(SeenSubject(image, name_colours(image), image[..., 1] != 150))
    >>> row.shape == (MAP_SIZE,), [round(float(side), 2) for side in row[:4]]
    (True, [0.17, 0.33, 0.83, 0.67])
    """
    if seen is None:
        return np.full(MAP_SIZE, np.nan, dtype=np.float32)
    height, width = seen.is_subject.shape
    rows, columns = (np.flatnonzero(seen.is_subject.any(axis=a)) for a in (1, 0))
    y0, y1, x0, x1 = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    inside, names = seen.is_subject[y0:y1, x0:x1], seen.names[y0:y1, x0:x1]
    counts = np.stack([_shrink(inside & (names == colour)) for colour in range(NO_NAME + 1)])
    cells = np.where(_shrink(inside) >= 0.5, counts.argmax(axis=0), OUTSIDE).astype(np.uint8)
    lab = to_lab(seen.image[y0:y1, x0:x1].reshape(-1, 3) / 255).reshape(*inside.shape, 3)
    return SubjectMap(
        (x0 / width, y0 / height, x1 / width, y1 / height),
        (x1 - x0) / (y1 - y0),
        _measure_detail(lab[..., 0], inside),
        share_names(seen.names[~seen.is_subject]),
        _measure_tones(lab, inside),
        cells,
    ).to_row()


def score_maps(rows: np.ndarray) -> np.ndarray:
    """Return the score of each of `MAP_WORDS` for each map, (n, n_words) float32 in [0, 1].

    At least 0.5 means yes; NaN where a picture has no subject.

    Parameters
    ----------
    rows : array of shape (n, MAP_SIZE)
        Maps of subjects, as :func:`map_subject` returns them.

    Examples
    --------
    >>> from fieldguide.features.colour_names import name_colours
    >>> image = np.full((60, 60, 3), (60, 150, 60), np.uint8)  # green
    >>> image[20:30, 10:50], image[30:40, 10:50] = (10, 10, 10), (240, 215, 40)  # black over yellow
    >>> row = map_subject(SeenSubject(image, name_colours(image), image[..., 1] != 150))
    >>> scores = score_maps(row[None])[0]
    >>> [word.name for word, score in zip(MAP_WORDS, scores) if word.part and score > 0.5]
    ['black above', 'yellow below']
    """
    is_known, rows, cells = _read_rows(rows)
    lent = LENT * rows[:, 6 : 6 + len(COLOURS)]
    whole, shares, is_large = _share_parts(cells)
    rise = whole - lent
    measures = [(rise - 0.4) / 0.08, (rise - 0.1) / 0.03]
    for part, other in _OPPOSITE.items():
        more = shares[part] - np.maximum(shares[other], lent)
        more[~(is_large[part] & is_large[other])] = -1
        measures.append((more - 0.25) / 0.06)
    first, second = (rise[:, list(side)] for side in zip(*_PAIRS, strict=True))
    least = np.minimum(first, second)
    measures.append(np.minimum((first + second - 0.55) / 0.06, (least - 0.15) / 0.04))
    entropy = -(whole * np.log(np.maximum(whole, 1e-12))).sum(axis=1)
    octaves = _count_octaves(rows)
    form = np.stack([octaves, -octaves, whole.max(axis=1), np.exp(entropy)], axis=1)
    _, thresholds, widths = zip(*_FORM, strict=True)
    measures.append((form - np.array(thresholds)) / np.array(widths))
    scores = squash(np.concatenate(measures, axis=1))
    scores[~is_known] = np.nan
    return scores


def measure_maps(rows: np.ndarray) -> np.ndarray:
    """Return each of `MEASURES` for each map, (n, n_measures) float32; NaN without a subject.

    Parameters
    ----------
    rows : array of shape (n, MAP_SIZE)
        Maps of subjects, as :func:`map_subject` returns them.

    Examples
    --------
    >>> from fieldguide.features.colour_names import name_colours
    >>> image = np.full((60, 60, 3), (60, 150, 60), np.uint8)  # green
    >>> image[20:40, 10:50] = (240, 215, 40)  # and yellow
    >>> row = map_subject(SeenSubject(image, name_colours(image), image[..., 1] == 215))
    >>> found = {m.more: v for m, v in zip(MEASURES, measure_maps(row[None])[0].tolist())}
    >>> round(found["more yellow"], 2), round(found["wider for its height"], 2)
    (1.0, 1.0)
    """
    is_known, rows, cells = _read_rows(rows)
    lent = LENT * rows[:, 6 : 6 + len(COLOURS)]
    whole, shares, _ = _share_parts(cells)
    tones = rows[:, 6 + len(COLOURS) : _HEAD].reshape(len(rows), -1, 2)
    columns = [
        *(share - lent for share in (whole, *shares)),
        tones[..., 0],
        tones[..., 1],
        rows[:, 5:6],
        _count_octaves(rows)[:, None],
        (cells != OUTSIDE).mean(axis=(1, 2))[:, None],
    ]
    measures = np.concatenate(columns, axis=1).astype(np.float32)
    measures[~is_known] = np.nan
    return measures


def around_maps(rows: np.ndarray) -> np.ndarray:
    """Return the share of each colour around the subject of each map, (n, 11) float32.

    Parameters
    ----------
    rows : array of shape (n, MAP_SIZE)
        Maps of subjects, as :func:`map_subject` returns them.

    Examples
    --------
    >>> from fieldguide.features.colour_names import name_colours
    >>> image = np.full((60, 60, 3), (60, 150, 60), np.uint8)  # green
    >>> image[20:40, 10:50] = (240, 215, 40)  # and yellow
    >>> row = map_subject(SeenSubject(image, name_colours(image), image[..., 1] == 215))
    >>> float(around_maps(row[None])[0, COLOURS.index("green")])
    1.0
    """
    return np.asarray(rows, dtype=np.float32)[:, 6 : 6 + len(COLOURS)]


def _read_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which maps are known, their numbers (0 where not), and their cells."""
    rows = np.asarray(rows, dtype=np.float32)
    is_known = np.isfinite(rows).all(axis=1)
    rows = np.where(is_known[:, None], rows, 0)
    cells = np.where(is_known[:, None], rows[:, _HEAD:], OUTSIDE).astype(np.uint8)
    return is_known, rows, cells.reshape(-1, N_CELLS, N_CELLS)


def _count_octaves(rows: np.ndarray) -> np.ndarray:
    return np.log2(np.where(rows[:, 4] > 0, rows[:, 4], 1))


def _share_parts(cells: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """Return the share of each colour in subjects, in their parts, and which parts are large."""
    inside = cells != OUTSIDE
    parts = _split_parts(inside)
    is_large = [part.sum(axis=(1, 2)) >= _LEAST_CELLS for part in parts]
    return _share_cells(cells, inside), [_share_cells(cells, part) for part in parts], is_large


def _split_parts(inside: np.ndarray) -> list[np.ndarray]:
    """Return what of subjects, (n, height, width) bool, is in each of the `PARTS`."""
    depth = (inside.cumsum(axis=1) - 0.5) / np.maximum(inside.sum(axis=1, keepdims=True), 1)
    framed = np.pad(inside, ((0, 0), (1, 1), (1, 1)))
    far = np.zeros(inside.shape, dtype=np.float32)
    for each, distance in zip(framed, far, strict=True):
        distance[:] = ndimage.distance_transform_edt(each)[1:-1, 1:-1]
    far /= np.maximum(far.max(axis=(1, 2), keepdims=True, initial=0), 1)
    wheres = (depth < _END, depth > 1 - _END, far >= _MIDDLE, far <= _EDGE)
    return [inside & where for where in wheres]


def _share_cells(cells: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the share of each colour among the cells of a part, (n, 11)."""
    n = np.maximum(where.sum(axis=(1, 2)), 1)
    return np.stack([((cells == c) & where).sum(axis=(1, 2)) / n for c in range(NO_NAME)], axis=1)


def _shrink(mask: np.ndarray) -> np.ndarray:
    """Return the share of a mask in each of the cells of a map, (N_CELLS, N_CELLS)."""
    down, across = (spread_cells(0, length, N_CELLS, length) for length in mask.shape)
    return np.asarray(down @ mask.astype(np.float64) @ across.T)


def _measure_tones(lab: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return lightness and chroma of the subject and of its parts, (5, 2)."""
    chroma = np.hypot(lab[..., 1], lab[..., 2])
    tones = []
    for part in (inside, *(each[0] for each in _split_parts(inside[None]))):
        where = part if part.any() else inside
        tones.append([lab[..., 0][where].mean(), chroma[where].mean()])
    return np.array(tones)


def _measure_detail(lightness: np.ndarray, inside: np.ndarray) -> float:
    steps = [
        np.abs(np.diff(lightness, axis=0))[inside[1:] & inside[:-1]],
        np.abs(np.diff(lightness, axis=1))[inside[:, 1:] & inside[:, :-1]],
    ]
    return float(np.concatenate(steps).mean()) if any(map(len, steps)) else 0.0

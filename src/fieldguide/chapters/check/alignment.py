"""Whether two small pictures are one picture, one of them cut, mirrored or compressed.

The second is laid over the first: x ↦ (1 + sx) x + tx, y ↦ (1 + sy) y + ty, with the gain and the
offset of its luma free. The four numbers that fit best are found by Gauss and Newton's method on
blurred copies, the more blurred first (Lucas and Kanade 1981), for many pairs at once. What counts
then is the correlation of their *detail*, the luma less its own blur, where they overlap: two
airplanes in the same sky correlate as a whole, and not in their detail.
"""

from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter

from fieldguide._parallel import map_in_order
from fieldguide.chapters.check.small import Small

SAME_DETAIL = 0.8  # correlation of detail; chosen on Caltech-101, see docs/check.md
SAME_TINT = 6.0  # 255ths: how far the colours may be apart, on average
LEAST_OVERLAP = 0.6  # share of the picture
LEAST_BLURRED = 0.6  # correlation of the blurred pictures as they lie, to lay one over the other
LEAST_ALIGNED = 0.85  # and when one lies over the other, to look closer
_COARSE, _CLOSE = (1.2, 6), (1.2, 4)  # blur in px at half size and at full size, and how many steps
_FINE, _DETAIL = 0.6, 2.0  # px: blur before pictures are compared, and that is taken off
_LONGEST, _FURTHEST = 0.06, 0.3  # of half a side: one step, and all of them
_FIRM = 1e-2  # keeps the equations solvable for blank pictures
_FLAT = 4.0  # 255ths: deviation of luma that counts as blank
_BATCH = 256
_BLOCK = 1024  # pictures


class Match(NamedTuple):
    """How two pictures of each pair compare."""

    detail: np.ndarray  # (n_pairs,) correlation of detail, −1 to 1
    tint: np.ndarray  # (n_pairs,) mean difference of colours, 255ths
    is_mirrored: np.ndarray  # (n_pairs,)

    @property
    def is_copy(self) -> np.ndarray:
        """Whether the two are one picture."""
        return (self.detail >= SAME_DETAIL) & (self.tint <= SAME_TINT)


class Blurred(NamedTuple):
    """Blurred pictures, and what they are mirrored: (n, 256) each."""

    plain: np.ndarray
    mirrored: np.ndarray


def match_pairs(small: Small, pairs: np.ndarray) -> Match:
    """Compare the two pictures of each pair, (n_pairs, 2)."""
    n, blurred = len(pairs), blur_all(small)
    found = Match(np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.float32), np.zeros(n, bool))
    for start in range(0, n, _BATCH):
        rows = slice(start, start + _BATCH)
        for all_of, some in zip(found, _match_batch(small, pairs[rows], blurred), strict=True):
            all_of[rows] = some
    return found


def blur_all(small: Small, n_jobs: int = 1) -> Blurred:
    """Return the blurred luma of every picture, as it is and mirrored."""
    n = len(small.pixels)
    found = Blurred(*(np.empty((n, 256), dtype=np.float32) for _ in range(2)))

    def blur(start: int) -> None:
        ids = np.arange(start, min(start + _BLOCK, n))
        grey = small.grey(ids)
        found.plain[ids] = blur_small(grey).reshape(len(ids), -1)
        found.mirrored[ids] = blur_small(grey[:, :, ::-1]).reshape(len(ids), -1)

    for _ in map_in_order(blur, range(0, n, _BLOCK), n_jobs=n_jobs):
        pass
    return found


def compare_blurred(blurred: Blurred, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how alike the blurred pictures of each pair are, as they are and one mirrored."""
    own = blurred.plain[pairs[:, 0]]
    plain, turned = (np.einsum("ij,ij->i", own, each[pairs[:, 1]]) for each in blurred)
    return plain, turned


def blur_small(grey: np.ndarray) -> np.ndarray:
    """Return blurred pictures of length 1 about a mean of 0, (n, 16, 16)."""
    coarse = gaussian_filter(_level(grey), (0, 2, 2))[:, 1::3, 1::3]
    coarse -= coarse.mean(axis=(1, 2), keepdims=True)
    length = np.sqrt((coarse**2).sum(axis=(1, 2), keepdims=True))
    blurred: np.ndarray = coarse / np.maximum(length, 1e-3)
    return blurred


def _match_batch(small: Small, pairs: np.ndarray, blurred: Blurred) -> Match:
    plain, turned = compare_blurred(blurred, pairs)
    is_mirrored = turned > plain
    detail = np.zeros(len(pairs), dtype=np.float32)
    near = np.flatnonzero(np.maximum(plain, turned) >= LEAST_BLURRED)
    if len(near):
        first, second = (_level(small.grey(ids)) for ids in pairs[near].T)
        second[is_mirrored[near]] = second[is_mirrored[near], :, ::-1]
        detail[near] = correlate_detail(first, second)
    tints = [small.tint(ids) for ids in pairs.T]
    tints[1][is_mirrored] = tints[1][is_mirrored, :, ::-1]
    return Match(detail, np.abs(tints[0] - tints[1]).mean(axis=(1, 2, 3)), is_mirrored)


def correlate_detail(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the correlation of detail of pictures, (n, SIDE, SIDE), the first laid over.

    0 where they are unlike as a whole, or too little of them overlaps.
    """
    found = np.zeros(len(first), dtype=np.float32)
    start = np.zeros((len(first), 4), dtype=np.float32)
    place, likeness = align(_halve(first), _halve(second), start, *_COARSE)
    near = np.flatnonzero(likeness >= LEAST_ALIGNED)
    if not len(near):
        return found
    first, second = first[near], second[near]
    place, _ = align(first, second, place[near], *_CLOSE)
    fine, other = (gaussian_filter(each, (0, _FINE, _FINE)) for each in (first, second))
    detail, other = (each - gaussian_filter(each, (0, _DETAIL, _DETAIL)) for each in (fine, other))
    laid, inside = _sample(detail, place)
    is_enough = inside.mean(axis=(1, 2)) >= LEAST_OVERLAP
    found[near] = np.where(is_enough, _correlate(laid, other, inside), 0.0)
    return found


def align(
    first: np.ndarray, second: np.ndarray, place: np.ndarray, blur_px: float, n_steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return sx, sy, tx and ty of each pair, (n, 4), so that the first lies on the second.

    They begin with ``place``. The correlation of the blurred pictures as they lie then comes next.
    """
    n, side = first.shape[:2]
    x, y = (each.ravel() for each in _coordinates(side))
    place, firm = place.copy(), _FIRM * np.eye(6)
    below, above = (gaussian_filter(each, (0, blur_px, blur_px)) for each in (first, second))
    target = above.reshape(n, -1, 1)
    for _ in range(n_steps):
        laid, inside = _sample(below, place)
        dy, dx = (each.reshape(n, -1) for each in np.gradient(laid, 2 / side, axis=(1, 2)))
        columns = (dx * x, dy * y, dx, dy, laid.reshape(n, -1), np.ones_like(dx))
        slopes = np.stack(columns, axis=1) * inside.reshape(n, 1, -1)
        normal = (slopes @ slopes.transpose(0, 2, 1)).astype(np.float64) + firm
        solved = np.linalg.solve(normal, (slopes @ target).astype(np.float64))
        gain = solved[:, 4]
        step = solved[:, :4, 0] / np.where(np.abs(gain) > 0.2, gain, 1.0)
        place += np.clip(step, -_LONGEST, _LONGEST).astype(np.float32)
        np.clip(place, -_FURTHEST, _FURTHEST, out=place)
    laid, inside = _sample(below, place)
    return place, _correlate(laid, above, inside)


def _halve(grey: np.ndarray) -> np.ndarray:
    total = grey[:, ::2, ::2] + grey[:, 1::2, ::2] + grey[:, ::2, 1::2] + grey[:, 1::2, 1::2]
    half: np.ndarray = total / 4
    return half


def _level(grey: np.ndarray) -> np.ndarray:
    """Return pictures with a mean of 0 and a deviation of about 1."""
    grey = grey - grey.mean(axis=(1, 2), keepdims=True)
    levelled: np.ndarray = grey / (grey.std(axis=(1, 2), keepdims=True) + _FLAT)
    return levelled


def _coordinates(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of the pixels, from −1 to 1 over the picture."""
    centres = ((np.arange(side) + 0.5) * 2 / side - 1).astype(np.float32)
    x, y = np.meshgrid(centres, centres)
    return x, y


def _sample(pictures: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each picture as it lies, by linear interpolation, and where it is inside."""
    n, side = pictures.shape[:2]
    centres = _coordinates(side)[0][0]
    scale, shift = 1 + place[:, :2, None], place[:, 2:, None]
    at = ((scale * centres + shift + 1) * side - 1) / 2  # (n, 2, side): columns, then rows
    is_in = (at >= 0) & (at <= side - 1)
    before = np.clip(at, 0, side - 2).astype(np.intp)
    after = np.clip(at - before, 0, 1)
    across, down = after[:, 0, None, :], after[:, 1, :, None]
    flat = pictures.reshape(n, -1)
    index = (before[:, 1, :, None] * side + before[:, 0, None, :]).reshape(n, -1)

    def corner(offset: int) -> np.ndarray:
        return np.take_along_axis(flat, index + offset, axis=1).reshape(n, side, side)

    upper = corner(0) * (1 - across) + corner(1) * across
    lower = corner(side) * (1 - across) + corner(side + 1) * across
    inside = is_in[:, 1, :, None] & is_in[:, 0, None, :]
    return upper * (1 - down) + lower * down, inside


def _correlate(first: np.ndarray, second: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return the correlation of two stacks of pictures where they overlap, (n,)."""
    weight = inside.astype(np.float32)
    n = np.maximum(weight.sum(axis=(1, 2), keepdims=True), 1)
    first, second = (
        (each - (each * weight).sum(axis=(1, 2), keepdims=True) / n) * weight
        for each in (first, second)
    )
    power = (first**2).sum(axis=(1, 2)) * (second**2).sum(axis=(1, 2))
    correlation: np.ndarray = (first * second).sum(axis=(1, 2)) / np.sqrt(power + 1e-6)
    return correlation

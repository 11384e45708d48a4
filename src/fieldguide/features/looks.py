"""Looks at a picture: the middle square first, then its subject, found and seen closer.

    deep      the first look: the middle square, at the size that the network was made for
    closer    the second: the square around the subject, at a finer scale; the largest value of
              each channel over its cells
    peaks     the whole picture at a finer scale; the same
    subject   its cells averaged with the subject's scores
    quarters  its cells averaged in each quarter of the picture: what is where

Each is a part of the row by which pictures are compared, scaled to length 1. Each is pooled from
cells, so that a linear function of a part is a sum over cells: with weights a(u) of sum 1,

    w · p / ‖p‖ = Σ_u a(u) w·M(u) / ‖p‖,    p = Σ_u a(u) M(u),

and where the largest is taken, every channel counts for the cell where it is largest. The four
means of the quarters stand side by side, each in the few hundred directions in which the cells of a
collection differ most: a linear map, so that the sum holds as before. Where a score comes from is
therefore exact (:meth:`Look.share_out`).

The subject is found by a :class:`~fieldguide.features.subject_finder.SubjectFinder`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from scipy.special import log_softmax

from fieldguide.features.components import find_components
from fieldguide.features.network import Box, Network, Outputs
from fieldguide.features.subject_finder import Subject, SubjectFinder, no_subject

DEEP = "deep"
CLOSER, SUBJECT, PEAKS, QUARTERS = "closer", "subject", "peaks", "quarters"
SECOND = (CLOSER, PEAKS, SUBJECT, QUARTERS)
N_QUARTERS = 4
# Longer sides of the finer looks in units of the first one's: for a network of 224 px, 384 px for
# the whole picture and 320 px for the subject. Found subjects get better up to 448 px, and names
# hardly; time grows with the square.
FINER, CLOSER_FINER = 12 / 7, 10 / 7
PLAIN_SPREAD = 4  # of 255: a picture whose colours differ by no more has no subject
# What the network says of the subject's cells alone is too sure: it was trained on means of whole
# pictures. With this factor of the logits, words get both more precise and more frequent.
SURENESS = 0.6


class Look(NamedTuple):
    """A part of a row, and the cells that it was pooled from.

    Examples
    --------
    >>> cells = np.array([[[1.0, 0.0], [0.0, 2.0]]])  # 1 row, 2 columns, 2 channels
    >>> look = Look("peaks", cells, None, (0.0, 0.0, 1.0, 1.0))
    >>> look.pool(), look.share_out(np.array([1.0, 1.0])).round(3)
    (array([1., 2.]), array([[0.447, 0.894]]))
    """

    part: str
    cells: np.ndarray  # (rows, columns, channels)
    # (means, rows, columns), each of sum 1; None: the largest of each channel
    weights: np.ndarray | None
    area: Box  # of the picture that the cells cover, in shares; a square may reach beyond it
    basis: np.ndarray | None = None  # (channels, directions) that means are told in; None: channels
    finer: np.ndarray | None = None  # (channels, 2 rows, 2 columns) that the cells come from

    def pool(self) -> np.ndarray:
        """Return the cells as one part of a row, (channels,) or (means × directions,)."""
        flat = self.cells.reshape(-1, self.cells.shape[2])
        if self.weights is None:
            largest: np.ndarray = flat.max(axis=0)
            return largest
        means: np.ndarray = self.weights.reshape(len(self.weights), -1) @ flat
        if self.basis is not None:
            means = means @ self.basis
        return means.ravel()

    def share_out(self, coef: np.ndarray) -> np.ndarray:
        """Return what each cell adds to coef · (the part, scaled to length 1), (rows, columns)."""
        n_rows, n_columns, n_channels = self.cells.shape
        flat = self.cells.reshape(-1, n_channels)
        if self.weights is None:
            winner = flat.argmax(axis=0)
            of_channel = coef * flat[winner, np.arange(n_channels)]
            added = np.bincount(winner, of_channel, minlength=len(flat))
        else:
            own = coef.reshape(len(self.weights), -1)
            own = own if self.basis is None else own @ self.basis.T
            weights = self.weights.reshape(len(self.weights), -1)
            added = (weights * (own @ flat.T)).sum(axis=0)
        return np.asarray(added, dtype=np.float64).reshape(n_rows, n_columns) / self._length

    def trace(self, coef: np.ndarray, network: Network) -> np.ndarray | None:
        """Return the same as :meth:`share_out` of the cells of a finer map, (2 rows, 2 columns).

        What that map cannot place is left out (:meth:`Network.trace`). None without a finer map,
        and for means.
        """
        if self.finer is None or self.weights is not None:
            return None
        flat = self.cells.reshape(-1, self.cells.shape[2])
        pull = np.zeros(flat.shape, dtype=np.float32)
        pull[flat.argmax(axis=0), np.arange(flat.shape[1])] = coef / self._length
        pull = pull.reshape(1, *self.cells.shape)
        traced: np.ndarray = network.trace(self.finer[None], pull)[0]
        return traced

    @property
    def _length(self) -> float:
        return max(float(np.linalg.norm(self.pool())), 1e-12)


class Looks(NamedTuple):
    """The second look at one picture.

    Examples
    --------
    >>> from fieldguide.features import picture_cells
    >>> image = Image.new("RGB", (130, 90), (90, 110, 90))
    >>> image.paste((200, 30, 40), (40, 30, 70, 60))
    >>> network = Network()
    >>> looks = look_closer(image, network, SubjectFinder().fit([picture_cells(image, network)]))
    >>> {name: look.pool().shape for name, look in looks.as_parts().items()}
    {'closer': (1280,), 'peaks': (1280,), 'subject': (1280,)}
    """

    cells: np.ndarray  # (rows, columns, channels) of the whole picture
    subject: Subject
    closer: Outputs  # of the square around the subject, a batch of one, with its cells
    area: Box  # of that square, in shares of the picture
    basis: np.ndarray | None = None  # (channels, directions) of the quarters; None: without them

    def as_parts(self) -> dict[str, Look]:
        """Return the parts of a row by their names."""
        assert self.closer.cells is not None
        square = self.closer.cells[0]
        finer = None if self.closer.finer is None else self.closer.finer[0]
        scores = self.subject.scores
        total = float(scores.sum())
        # Where nothing looks like a subject, all cells count alike.
        weights = scores / total if total > 0 else np.full_like(scores, 1 / scores.size)
        whole = (0.0, 0.0, 1.0, 1.0)
        parts = {
            CLOSER: Look(CLOSER, square, None, self.area, finer=finer),
            PEAKS: Look(PEAKS, self.cells, None, whole),
            SUBJECT: Look(SUBJECT, self.cells, weights[None], whole),
        }
        if self.basis is not None:
            quarters = weigh_quarters(*self.cells.shape[:2])
            parts[QUARTERS] = Look(QUARTERS, self.cells, quarters, whole, self.basis)
        return parts


def look_closer(
    image: Image.Image, network: Network, finder: SubjectFinder, basis: np.ndarray | None = None
) -> Looks:
    """Find the subject of an RGB picture, and look at it closer.

    Parameters
    ----------
    image : Pillow image
        In RGB.
    network : Network
    finder : SubjectFinder
        Fitted.
    basis : ndarray, optional
        The directions in which the quarters are told (:func:`find_directions`).

    Raises
    ------
    EmbedderError
        For a network without a map.

    Examples
    --------
    >>> from fieldguide.features import picture_cells
    >>> image = Image.new("RGB", (130, 90), (90, 110, 90))
    >>> image.paste((200, 30, 40), (40, 30, 70, 60))
    >>> network = Network()
    >>> finder = SubjectFinder().fit([picture_cells(image, network)])
    >>> looks = look_closer(image, network, finder)
    >>> sorted(looks.as_parts())
    ['closer', 'peaks', 'subject']
    """
    return look_closer_all([image], network, finder, basis)[0]


def look_closer_all(
    images: Sequence[Image.Image],
    network: Network,
    finder: SubjectFinder,
    basis: np.ndarray | None = None,
) -> list[Looks]:
    """Return the same of several pictures, as many at once as the network is best shown."""
    maps = _see_in_groups(
        [cut_whole(image, network) for image in images], network.n_at_once, network.map
    )
    subjects = [_find(*each, finder) for each in zip(images, maps, strict=True)]
    size_px = network.fit_square(CLOSER_FINER)
    squares = [
        find_closer_square(subject.box, image.size)
        for subject, image in zip(subjects, images, strict=True)
    ]
    pixels = [
        crop_square(image, *square, size_px) for image, square in zip(images, squares, strict=True)
    ]
    closer: list[Outputs] = []
    for first in range(0, len(pixels), network.n_at_once):
        batch = np.stack(pixels[first : first + network.n_at_once])
        closer += network.run(batch, cells=True).split()
    areas = [_find_share(*each) for each in zip(images, squares, strict=True)]
    parts = zip(maps, subjects, closer, areas, strict=True)
    return [Looks(*part, basis) for part in parts]


def _find_share(image: Image.Image, square: tuple[float, float, float]) -> Box:
    (left, top, side), (width, height) = square, image.size
    return left / width, top / height, (left + side) / width, (top + side) / height


def _see_in_groups(
    pixels: Sequence[np.ndarray], n_at_once: int, see: Callable[[np.ndarray], np.ndarray]
) -> list[np.ndarray]:
    """Return what ``see`` says of each picture, shown together with others of its shape."""
    found: dict[int, np.ndarray] = {}
    for shape in {picture.shape for picture in pixels}:
        places = [i for i, picture in enumerate(pixels) if picture.shape == shape]
        for first in range(0, len(places), n_at_once):
            some = places[first : first + n_at_once]
            found.update(zip(some, see(np.stack([pixels[i] for i in some])), strict=True))
    return [found[i] for i in range(len(pixels))]


def _find(image: Image.Image, cells: np.ndarray, finder: SubjectFinder) -> Subject:
    # A network sees the border of a picture of one colour; a person sees nothing.
    lowest, highest = np.reshape(image.getextrema(), (-1, 2)).T
    is_plain = (highest - lowest).max() <= PLAIN_SPREAD
    return no_subject(*cells.shape[:2]) if is_plain else finder.find(cells)


def first_look(outputs: Outputs, area: Box) -> Look:
    """Return the first look as a part, from what the network said of it, with its cells.

    Parameters
    ----------
    outputs : Outputs
        Of the network, with its map of cells.
    area : x0, y0, x1, y1
        The part of the picture that the network looked at, in shares of width and height.

    Examples
    --------
    >>> cells = np.array([[[[1.0, 0.0], [3.0, 2.0]]]])  # of one picture: 1 row, 2 columns
    >>> look = first_look(Outputs(cells.mean(axis=(1, 2)), None, cells), (0.0, 0.0, 1.0, 1.0))
    >>> look.pool()  # the mean of its cells
    array([2., 1.])
    """
    assert outputs.cells is not None
    cells = outputs.cells[0]
    even = np.full((1, *cells.shape[:2]), 1 / (cells.shape[0] * cells.shape[1]), dtype=np.float32)
    return Look(DEEP, cells, even, area)


def say_of_both(logits: np.ndarray, looks: Looks, network: Network) -> np.ndarray:
    """Return the logarithms of what both looks make of the network's classes, (n_classes,).

    Half of each probability is of the first look, of which the network says ``logits``; half is
    what its last layer says of the mean of the subject's cells. All is of the first look where that
    layer cannot be had (``network.head``).

    Examples
    --------
    >>> from fieldguide.features import picture_cells
    >>> image = Image.new("RGB", (130, 90), (90, 110, 90))
    >>> image.paste((200, 30, 40), (40, 30, 70, 60))
    >>> network = Network()
    >>> looks = look_closer(image, network, SubjectFinder().fit([picture_cells(image, network)]))
    >>> said = say_of_both(np.zeros(1000), looks, network)  # the first look says nothing
    >>> said.shape, round(float(np.exp(said).sum()), 3)
    ((1000,), 1.0)
    """
    first: np.ndarray = log_softmax(logits)
    if network.head is None:
        return first
    weight, bias = network.head
    second = log_softmax(SURENESS * (looks.as_parts()[SUBJECT].pool() @ weight + bias))
    return np.asarray(np.logaddexp(first, second) - np.log(2), dtype=np.float32)


def find_directions(maps: Sequence[np.ndarray], n_directions: int) -> np.ndarray:
    """Return the directions in which the cells of maps differ most, (channels, directions)."""
    cells = np.concatenate([each.reshape(-1, each.shape[2]) for each in maps])
    axes = find_components(cells, n_directions).axes
    basis = np.zeros((cells.shape[1], n_directions), dtype=np.float32)
    basis[:, : len(axes)] = axes.T  # few cells have few directions
    return basis


def weigh_quarters(n_rows: int, n_columns: int) -> np.ndarray:
    """Return the weights of the means over the quarters of a map, (4, rows, columns).

    A row or column in the middle belongs to both sides.
    """

    def halve(n: int) -> np.ndarray:
        at = np.arange(n)
        is_own = np.stack([at < (n + 1) // 2, at >= n // 2])
        shares: np.ndarray = is_own / is_own.sum(axis=1, keepdims=True)
        return shares

    weights = np.einsum("ar,bc->abrc", halve(n_rows), halve(n_columns))
    quarters: np.ndarray = weights.reshape(N_QUARTERS, n_rows, n_columns).astype(np.float32)
    return quarters


def picture_cells(image: Any, network: Network) -> np.ndarray:
    """Return the network's map of a whole picture, (rows, columns, channels).

    Parameters
    ----------
    image : Pillow image or uint8 array of shape (height, width, 3)
        It is stretched a little, so that its sides are whole numbers of cells, or to the only
        size that the network has a map of.
    network : Network
        With a map.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.features import picture_cells
    >>> from fieldguide.features.network import Network
    >>> picture_cells(np.zeros((300, 400, 3), dtype=np.uint8), Network()).shape
    (9, 12, 1280)
    """
    if not isinstance(image, Image.Image):
        image = Image.fromarray(np.asarray(image))
    cells: np.ndarray = network.map(cut_whole(image, network)[None])[0]
    return cells


def cut_whole(image: Image.Image, network: Network) -> np.ndarray:
    """Return a whole picture as it is shown to the network for a map of it, uint8."""
    size = fit_whole(image.size, network)
    return np.asarray(image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0))


def fit_whole(size: tuple[int, int], network: Network) -> tuple[int, int]:
    """Return the width and height in which a whole picture is shown to a network for a map of it.

    Parameters
    ----------
    size : width, height
        Of the picture.
    network : Network
        One with a map.

    Examples
    --------
    >>> fit_whole((640, 480), Network())
    (384, 288)
    """
    return network.fit_map(size, FINER)


def find_closer_square(box: Box, size: tuple[int, int]) -> tuple[float, float, float]:
    """Return left, top and side, in pixels, of the square around a box, inside the picture if it
    can be; a square longer than a side of the picture reaches beyond both of its ends alike.
    """
    corners = np.array(box) * np.tile(size, 2)
    side = min(float(max(corners[2:] - corners[:2])), float(max(size)))
    middle = (corners[:2] + corners[2:]) / 2

    def place(at: float, length: float) -> float:
        return (length - side) / 2 if side > length else min(max(at - side / 2, 0), length - side)

    return place(middle[0], size[0]), place(middle[1], size[1]), max(side, 1.0)


def crop_square(
    image: Image.Image, left: float, top: float, side: float, size_px: int
) -> np.ndarray:
    """Return a square of a picture at another size, uint8; black where it reaches beyond."""
    right, bottom = min(left + side, image.width), min(top + side, image.height)
    x, y = max(left, 0.0), max(top, 0.0)
    scale = size_px / side
    size = (max(1, round((right - x) * scale)), max(1, round((bottom - y) * scale)))
    seen = image.resize(size, Image.Resampling.BICUBIC, box=(x, y, right, bottom), reducing_gap=2.0)
    if size == (size_px, size_px):
        return np.asarray(seen)
    square = Image.new("RGB", (size_px, size_px))
    square.paste(seen, (round((x - left) * scale), round((y - top) * scale)))
    return np.asarray(square)


def sum_shares(shares: Sequence[tuple[Box, np.ndarray]], shape: tuple[int, int]) -> np.ndarray:
    """Lay grids of shares over a picture; return their sum, (height, width), which keeps the total.

    Each cell of a grid is spread over the pixels whose middles it covers. What lies beyond the
    picture goes to the pixels next to it.

    Parameters
    ----------
    shares : sequence of (area, grid)
        The part of the picture that each grid lies over, as x0, y0, x1, y1 in shares of its sides.
    shape : (height, width)
        Of the picture.

    Examples
    --------
    >>> left, right = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)
    >>> sum_shares([(left, np.array([[4.0]])), (right, np.array([[2.0]]))], (2, 4))
    array([[1. , 1. , 0.5, 0.5],
           [1. , 1. , 0.5, 0.5]])
    """
    height, width = shape
    total = np.zeros(shape)
    for (x0, y0, x1, y1), grid in shares:
        across = spread_cells(x0 * width, x1 * width, grid.shape[1], width)
        down = spread_cells(y0 * height, y1 * height, grid.shape[0], height)
        total += down.T @ grid @ across
    return total


def spread_cells(start: float, end: float, n_cells: int, n_pixels: int) -> np.ndarray:
    """Return the share of each cell that each pixel of a side gets, (n_cells, n_pixels).

    The cells divide what lies between ``start`` and ``end``, in pixels.
    """
    edges = np.clip(np.linspace(start, end, n_cells + 1), 0, n_pixels)
    pixels = np.arange(n_pixels)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    weights = np.maximum(overlap, 0)
    for cell in np.flatnonzero(weights.sum(axis=1) <= 0):  # beyond the picture
        weights[cell, int(np.clip(edges[cell], 0, n_pixels - 1))] = 1
    shares: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
    return shares

"""What every transformer over images shares: reading them, a few at a time, in order.

A descriptor is a subclass that says what one picture is in numbers, what its columns are called
and which window of the picture each column looks at:

    _check_arguments()  refuse arguments that make no sense
    _describe(pixels)   uint8 (h, w, 3) -> float32 (n_columns,)
    _columns()          a :class:`Column` for each column

Pictures are decoded once, a few at a time, in threads; neither the answer nor the memory depends
on how many threads or pictures there are.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from PIL import Image
from sklearn.base import BaseEstimator, TransformerMixin

from fieldguide._check import check_number
from fieldguide._parallel import map_in_order
from fieldguide._saving import Saved
from fieldguide.collection import Collection, read_picture, to_rgb_array
from fieldguide.errors import InvalidArgument, UnreadableImageError

Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in shares of the picture's sides

WHOLE: Box = (0.0, 0.0, 1.0, 1.0)
_BATCH_SIZE = 8
_AT_LEAST_PX = 512  # of large files, which are decoded at a fraction of their size


class Column(NamedTuple):
    """One number of a descriptor."""

    name: str
    window: Box | None = WHOLE  # None for a number that belongs to no place


class ImageTransformer(Saved, TransformerMixin, BaseEstimator, ABC):
    """Base of descriptors that look at one picture at a time; see the module's text.

    Subclasses have an ``n_jobs`` argument: threads, -1 for all cores.
    """

    n_jobs: int | None

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the arguments; there is nothing to learn."""
        self._check_arguments()
        return self

    def transform(self, X: Collection | Iterable[Any]) -> np.ndarray:
        """Return the features of each image, in order.

        Parameters
        ----------
        X : Collection, or iterable of arrays, Pillow images or paths
            It is read once, a few images at a time.

        Returns
        -------
        ndarray of shape (n_images, n_columns), float32
        """
        self._check_arguments()

        def process(batch: Sequence[Any]) -> np.ndarray:
            return np.stack([self._describe(np.asarray(image)) for image in decode_batch(batch)])

        return map_batches(process, X, n_jobs=self.n_jobs)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of each column."""
        return np.array([column.name for column in self._columns()], dtype=object)

    def get_feature_windows_out(self) -> np.ndarray:
        """Return each column's window, (n_columns, 4): x0, y0, x1, y1 in shares of the sides.

        A row of NaN is a column that belongs to no window.
        """
        missing = (np.nan,) * 4
        return np.array([column.window or missing for column in self._columns()])

    @abstractmethod
    def _check_arguments(self) -> None:
        """Refuse arguments that make no sense."""

    @abstractmethod
    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        """Return the numbers of one picture, float32 (n_columns,), from uint8 (h, w, 3)."""

    @abstractmethod
    def _columns(self) -> list[Column]:
        """Return what each column is."""


def check_levels(owner: str, levels: Any, most: int, example: str) -> None:
    """Refuse what is no pyramid of grids, named by different numbers of cells per side."""
    if not isinstance(levels, (tuple, list)) or not len(levels):
        raise InvalidArgument(
            f"levels of {owner} must be a tuple of cells per side, {example} say; got {levels!r}."
        )
    for level in levels:
        check_number(owner, "levels", level, 1, most, integer=True)
    if len(set(levels)) < len(levels):
        raise InvalidArgument(f"levels of {owner} must differ from each other; got {levels!r}.")


def map_batches(
    process: Any,
    X: Collection | Iterable[Any],
    *,
    batch_size: int = _BATCH_SIZE,
    n_jobs: int | None = 1,
) -> np.ndarray:
    """Return the rows that ``process`` makes of a list of undecoded images, in order."""
    batches = _batched(_sources(X), batch_size)
    parts = list(map_in_order(process, batches, n_jobs=n_jobs))
    if not parts:
        raise UnreadableImageError("There is no image to describe; give at least one.")
    return np.concatenate(parts)


def decode_batch(batch: Sequence[tuple[int, Any]]) -> list[Image.Image]:
    """Return the images of a batch as 8-bit RGB.

    Large files are decoded at a fraction of their size, never below 512 px.
    """
    return [_decode(i, source) for i, source in batch]


def iterate_images(X: Collection | Iterable[Any]) -> Iterator[Image.Image]:
    """Decode one image after the other."""
    for i, source in _sources(X):
        yield _decode(i, source)


def draw_sources(
    X: Collection | Iterable[Any], n: int, rng: np.random.Generator
) -> list[tuple[int, Any]]:
    """Return n of the undecoded images of X and their places, each set of n as likely as another.

    X is walked through once and n of its items are held at a time, whatever it is; so the same
    pictures are drawn from a list, from a folder and from a generator.
    """
    chosen: list[tuple[int, Any]] = []
    for i, source in _sources(X):
        if i < n:
            chosen.append((i, source))
        elif (place := int(rng.integers(i + 1))) < n:
            chosen[place] = (i, source)
    return sorted(chosen, key=lambda item: item[0])


def shrink(image: Image.Image | np.ndarray, max_side_px: int | None) -> np.ndarray:
    """Return the pixels of a picture whose longer side is at most ``max_side_px``."""
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image)
    longer = max(image.size)
    if max_side_px is not None and longer > max_side_px:
        scale = max_side_px / longer
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        image = image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)
    return np.asarray(image)


def to_grey(pixels: np.ndarray) -> np.ndarray:
    """Return the luma of 8-bit RGB pixels as float32 in [0, 1]."""
    return pixels.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32) / np.float32(255)


def _sources(X: Collection | Iterable[Any]) -> Iterator[tuple[int, Any]]:
    if isinstance(X, Collection):
        return ((i, X) for i in range(len(X)))
    return enumerate(X)


def _batched(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while batch := list(islice(items, size)):
        yield batch


def _decode(i: int, source: Any) -> Image.Image:
    if isinstance(source, Collection):
        return source.picture(i, at_least_px=_AT_LEAST_PX)[0].image
    if isinstance(source, (str, Path)):
        try:
            return read_picture(source, at_least_px=_AT_LEAST_PX).image
        except UnreadableImageError as error:
            raise UnreadableImageError(f"{os.fspath(source)!r}: {error}.") from None
    return Image.fromarray(to_rgb_array(source, i))

"""What each region of a picture looks like, in numbers: visual words, or deep features.

Both look at the picture once. A window of dense SIFT counts for the region that its middle lies in;
a cell of the network's last map counts for a region by the share of the region's pixels that are
nearest to it, with bilinear weights between cells.
"""

from typing import Any

import numpy as np
from PIL import Image

from fieldguide._parallel import one_blas_thread
from fieldguide.errors import InvalidArgument
from fieldguide.features.bag_of_words import BagOfWords, soft_shares
from fieldguide.features.codebook import nearest_words
from fieldguide.features.network import Network
from fieldguide.features.transformer import iterate_images, shrink
from fieldguide.locate.superpixels import Regions


def region_words(image: Any, regions: Regions, bag: BagOfWords) -> np.ndarray:
    """Return the histogram of visual words of each region.

    Parameters
    ----------
    image : array, Pillow image or path
    regions : Regions
        Of the same picture.
    bag : BagOfWords
        Fitted; its pyramid is not used.

    Returns
    -------
    ndarray of shape (n_regions, n_words), float32
        Rows sum to 1; a region without the middle of a window has the words of the picture.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimens
    >>> from fieldguide.features import BagOfWords
    >>> from fieldguide.locate import region_words, superpixels
    >>> images = load_specimens(n_per_kind=1, size_px=96).images[:4]
    >>> bag = BagOfWords(n_words=20, pyramid=((1, 1),)).fit(images)
    >>> regions = superpixels(images[0], n_regions=6)
    >>> rows = region_words(images[0], regions, bag)
    >>> rows.shape == (regions.n_regions, 20), rows.sum(axis=1).round(5).tolist()[:2]
    (True, [1.0, 1.0])
    """
    pixels = _check_picture("region_words", image, regions)
    small = shrink(pixels, bag.max_side_px)
    found, frames = bag.descriptors(small)
    n_nearest = min(bag.n_nearest if bag.assignment == "soft" else 1, bag.n_words - 1)
    with one_blas_thread():  # another number may sum in another order
        word, distance = nearest_words(found, bag.words_[:-1], n_nearest)
    share = soft_shares(distance, bag.radius_)
    word[~found.any(axis=1)] = bag.n_words - 1  # without contrast: the last word's alone
    height, width = regions.labels.shape
    x = ((frames[:, 0] + 0.5) * (width / small.shape[1])).astype(np.int64)
    y = ((frames[:, 1] + 0.5) * (height / small.shape[0])).astype(np.int64)
    region = regions.labels[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)]
    counts = count_words(region, word, share, regions.n_regions, bag.n_words)
    is_empty = ~counts.any(axis=1)
    counts[is_empty] = counts.sum(axis=0)
    histograms: np.ndarray = (counts / counts.sum(axis=1, keepdims=True)).astype(np.float32)
    return histograms


def region_features(
    image: Any, regions: Regions, network: Network, *, size_px: int | None = None
) -> np.ndarray:
    """Return the network's features of each region, rows of length 1.

    Parameters
    ----------
    image : array, Pillow image or path
        It is stretched to a square.
    regions : Regions
        Of the same picture.
    network : Network
    size_px : int, optional
        Side of the square; a larger one gives a finer map. The network's own by default, and for a
        network that has a map of this size alone.

    Returns
    -------
    ndarray of shape (n_regions, n_channels), float32

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.features.network import Network
    >>> from fieldguide.locate import region_features, superpixels
    >>> picture = np.random.default_rng(0).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    >>> region_features(picture, superpixels(picture, n_regions=9), Network()).shape
    (9, 1280)
    """
    pixels = _check_picture("region_features", image, regions)
    side = network.map_px or size_px or network.size_px
    square = Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC)
    cells = network.map(np.asarray(square)[None])[0]  # (rows, columns, channels)
    weights = cell_weights(regions.labels, regions.n_regions, *cells.shape[:2])
    rows = weights @ cells.reshape(-1, cells.shape[2])
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit_rows: np.ndarray = (rows / np.maximum(length, 1e-12)).astype(np.float32)
    return unit_rows


def count_words(
    region: np.ndarray, word: np.ndarray, share: np.ndarray, n_regions: int, n_words: int
) -> np.ndarray:
    """Return the sum of shares by region (n,) and word (n, k), (n_regions, n_words)."""
    place = region.astype(np.int64)[:, None] * n_words + word
    counts = np.bincount(place.ravel(), share.ravel(), minlength=n_regions * n_words)
    return counts.reshape(n_regions, n_words)


def cell_weights(labels: np.ndarray, n_regions: int, n_rows: int, n_columns: int) -> np.ndarray:
    """Return what each cell of a map counts for each region, rows of sum 1, (m, cells)."""
    height, width = labels.shape
    (y0, y1, fy), (x0, x1, fx) = _between(height, n_rows), _between(width, n_columns)
    total = np.zeros(n_regions * n_rows * n_columns)
    for row, wy in ((y0, 1 - fy), (y1, fy)):
        for column, wx in ((x0, 1 - fx), (x1, fx)):
            cell = row[:, None] * n_columns + column
            place = labels.astype(np.int64) * (n_rows * n_columns) + cell
            weight = wy[:, None] * wx
            total += np.bincount(place.ravel(), weight.ravel(), minlength=len(total))
    weights = total.reshape(n_regions, -1)
    shares: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _between(side: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the two cells around each pixel of a side, and the share of the second."""
    at = np.clip((np.arange(side) + 0.5) * n / side - 0.5, 0, n - 1)
    first = np.minimum(at.astype(np.int64), n - 1)
    return first, np.minimum(first + 1, n - 1), at - first


def _check_picture(owner: str, image: Any, regions: Regions) -> np.ndarray:
    pixels = np.asarray(next(iterate_images([image])))
    if pixels.shape[:2] != regions.labels.shape:
        raise InvalidArgument(
            f"regions of {owner} must be those of the picture, {pixels.shape[1]} × "
            f"{pixels.shape[0]} px; they are of one of {regions.labels.shape[1]} × "
            f"{regions.labels.shape[0]} px: cut the same picture."
        )
    return pixels

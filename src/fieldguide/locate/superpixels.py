"""Pictures cut into regions: small patches of one look, with their neighbours and boxes.

| method | what |
|---|---|
| slic | clusters of colour and place, about ``n_regions`` of like size |
| felzenszwalb | a graph of pixels, joined where the step between two parts is small against |
|  | the steps inside them; the picture decides how many |
| hierarchical | many small clusters, merged pair by pair, weakest boundary first, down to |
|  | ``n_regions`` |

The merging joins the two neighbours a and b with the least

    mean edge strength along their common boundary · √(min(area_a, area_b) / mean area)

so that crumbs go before large parts with an equally weak boundary.

References: R. Achanta et al., "SLIC superpixels compared to state-of-the-art superpixel methods",
IEEE Transactions on Pattern Analysis and Machine Intelligence 34 (2012); P. Felzenszwalb,
D. Huttenlocher, "Efficient graph-based image segmentation", IJCV 59 (2004); P. Arbeláez et al.,
"Contour detection and hierarchical image segmentation", IEEE TPAMI 33 (2011).
"""

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

from fieldguide._check import check_choice, check_number
from fieldguide.errors import InvalidArgument
from fieldguide.features.transformer import iterate_images, shrink

METHODS = ("slic", "felzenszwalb", "hierarchical")
# Clusters that the merging starts from, for each region that is to be left.
_FINE = 10
_SEEDS_PER_PIXEL = 1 / 16
_COMPACTNESS, _MOST_COMPACT = 10.0, 1e4  # of SLIC: place against colour
_LEAST_SHARE = 0.005  # of the picture that is a region of "felzenszwalb"


class Regions(NamedTuple):
    """A picture cut into m regions; made by :func:`superpixels` or :func:`to_regions`.

    Examples
    --------
    >>> from fieldguide.locate import to_regions
    >>> regions = to_regions([[7, 7, 3], [7, 3, 3]])
    >>> regions.n_regions, regions.areas.tolist(), regions.adjacency.tolist()
    (2, [3, 3], [[0, 1]])
    """

    labels: np.ndarray  # (height, width) int32, 0 to m − 1
    boxes: np.ndarray  # (m, 4) int32: x0, y0, x1, y1, the last two exclusive
    areas: np.ndarray  # (m,) pixels
    adjacency: np.ndarray  # (n_pairs, 2) int32: regions that share a side, smaller first

    @property
    def n_regions(self) -> int:
        """How many regions there are."""
        return len(self.areas)


def superpixels(
    image: Any,
    method: str = "slic",
    *,
    n_regions: int = 40,
    scale: float = 100.0,
    smoothing_px: float = 0.8,
    max_side_px: int = 200,
) -> Regions:
    """Cut one picture into regions.

    A flat picture becomes a few regions of equal look, or a single one ("felzenszwalb"); a noisy
    one about ``n_regions``, or at most 200 ("felzenszwalb").

    Parameters
    ----------
    image : array, Pillow image or path
    method : {"slic", "felzenszwalb", "hierarchical"}
        See the module's text.
    n_regions : int
        About how many regions "slic" makes, and how many "hierarchical" leaves at most.
    scale : float
        Of "felzenszwalb": larger means larger regions.
    smoothing_px : float
        Standard deviation of the blur before.
    max_side_px : int
        Larger pictures are cut at this longer side, and the regions enlarged.

    Returns
    -------
    Regions

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.locate import superpixels
    >>> picture = np.zeros((60, 80, 3), dtype=np.uint8)
    >>> picture[20:40, 30:60] = (250, 200, 0)
    >>> regions = superpixels(picture, "hierarchical", n_regions=2)
    >>> regions.boxes.tolist(), regions.areas.tolist(), regions.adjacency.tolist()
    ([[0, 0, 80, 60], [30, 20, 60, 40]], [4200, 600], [[0, 1]])
    """
    check_choice("superpixels", "method", method, METHODS)
    check_number("superpixels", "n_regions", n_regions, 1, 100_000, integer=True)
    check_number("superpixels", "scale", scale, 0, 1e9)
    check_number("superpixels", "smoothing_px", smoothing_px, 0, 64)
    check_number("superpixels", "max_side_px", max_side_px, 8, 100_000, integer=True)
    whole = np.asarray(next(iterate_images([image])))
    pixels = shrink(whole, max_side_px)
    if method == "felzenszwalb":
        from skimage.segmentation import felzenszwalb

        least = round(_LEAST_SHARE * pixels.shape[0] * pixels.shape[1])
        labels = felzenszwalb(pixels, scale=scale, sigma=smoothing_px, min_size=least)
    elif method == "slic":
        labels = _slic(pixels, n_regions, smoothing_px)
    else:
        n_fine = min(_FINE * n_regions, max(1, int(_SEEDS_PER_PIXEL * pixels[..., 0].size)))
        fine = _slic(pixels, max(n_fine, n_regions), smoothing_px)
        labels = merge_regions(fine, edge_strength(pixels, smoothing_px), n_regions)
    return to_regions(enlarge(labels, whole.shape[:2]))


def to_regions(labels: Any) -> Regions:
    """Return the regions of a label map, (height, width), numbered anew from 0.

    Parameters
    ----------
    labels : array of shape (height, width), whole numbers
        Which region each pixel is of.

    Examples
    --------
    >>> from fieldguide.locate import to_regions
    >>> to_regions([[7, 7, 3], [7, 7, 3]]).boxes.tolist()
    [[2, 0, 3, 2], [0, 0, 2, 2]]
    """
    labels = np.asarray(labels)
    if labels.ndim != 2 or not labels.size or not np.issubdtype(labels.dtype, np.integer):
        raise InvalidArgument(
            "labels of to_regions must be whole numbers of shape (height, width), a pixel at "
            f"least; got {labels.dtype} of shape {labels.shape}."
        )
    names, place = np.unique(labels, return_inverse=True)
    place = place.reshape(labels.shape).astype(np.int32)
    m = len(names)
    boxes = np.array(
        [[x.start, y.start, x.stop, y.stop] for y, x in ndimage.find_objects(place + 1)],
        dtype=np.int32,
    )
    pairs, _ = count_boundaries(place, np.ones(place.shape, np.float32))
    return Regions(place, boxes, np.bincount(place.ravel(), minlength=m), pairs[:, :2])


def edge_strength(pixels: np.ndarray, smoothing_px: float) -> np.ndarray:
    """Return the largest gradient of the three channels of CIE Lab at each pixel, (h, w)."""
    from skimage.color import rgb2lab
    from skimage.filters import gaussian, sobel

    lab = rgb2lab(pixels)
    if smoothing_px > 0:
        lab = gaussian(lab, smoothing_px, channel_axis=2)
    if min(lab.shape[:2]) < 3:  # a filter of three pixels has no room
        return np.zeros(lab.shape[:2])
    strength: np.ndarray = np.max([sobel(lab[..., k]) for k in range(3)], axis=0)
    return strength


def merge_regions(labels: np.ndarray, strength: np.ndarray, n_regions: int) -> np.ndarray:
    """Merge neighbours, weakest boundary first, until ``n_regions`` are left; see the module.

    ``labels`` is (h, w) with names 0 to m − 1, ``strength`` the edge strength of each pixel.
    """
    m = int(labels.max()) + 1
    area = np.bincount(labels.ravel(), minlength=m).astype(float).tolist()
    mean_area = labels.size / max(n_regions, 1)
    pairs, sums = count_boundaries(labels, strength)
    around: list[dict[int, list[float]]] = [{} for _ in range(m)]
    for (a, b, n), total in zip(pairs.tolist(), sums.tolist(), strict=True):
        around[a][b] = around[b][a] = [total, n]
    parent = list(range(m))

    def cost(a: int, b: int) -> tuple[float, int, int]:
        total, n = around[a][b]
        return total / n * (min(area[a], area[b]) / mean_area) ** 0.5, min(a, b), max(a, b)

    heap = [cost(a, b) for a, b, _ in pairs.tolist()]
    heapq.heapify(heap)
    n_left = m
    while n_left > n_regions and heap:
        found = heapq.heappop(heap)
        a, b = found[1:]
        if parent[a] != a or parent[b] != b or found != cost(a, b):
            continue  # of an earlier state; the pair was put in again since
        parent[b] = a
        area[a] += area[b]
        del around[a][b]
        for c, (total, n) in around[b].items():
            if c == a:
                continue
            del around[c][b]
            edge = around[a].setdefault(c, [0.0, 0])
            edge[0] += total
            edge[1] += n
            around[c][a] = edge
        for c in around[a]:
            heapq.heappush(heap, cost(a, c))
        n_left -= 1
    for k in range(m):  # a parent has a smaller number than its children
        parent[k] = parent[parent[k]]
    merged: np.ndarray = np.array(parent)[labels]
    return merged


def count_boundaries(labels: np.ndarray, strength: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (a, b, sides) of each pair of neighbours, a < b, and its sum of edge strength.

    A side lies between two pixels beside each other along any axis; its strength is their mean.
    """
    m = int(labels.max()) + 1
    codes, values = [], []
    for axis in reversed(range(labels.ndim)):
        one, other = ((slice(None),) * axis + (part,) for part in (slice(1, None), slice(None, -1)))
        a, b = labels[one], labels[other]
        is_side = a != b
        low, high = np.minimum(a, b)[is_side], np.maximum(a, b)[is_side]
        codes.append(low.astype(np.int64) * m + high)
        values.append((strength[one][is_side] + strength[other][is_side]) / 2)
    found, place = np.unique(np.concatenate(codes), return_inverse=True)
    sums = np.bincount(place, weights=np.concatenate(values), minlength=len(found))
    counts = np.bincount(place, minlength=len(found))
    pairs = np.stack([found // m, found % m, counts], axis=1).astype(np.int32)
    return pairs, sums


def _slic(pixels: np.ndarray, n_regions: int, smoothing_px: float) -> Any:
    from skimage.segmentation import slic

    height, width = pixels.shape[:2]
    if n_regions == 1 or height * width == 1:
        return np.zeros((height, width), np.int32)
    if min(height, width) < 3:  # too narrow for its grid: pieces of a strip
        n = min(n_regions, max(height, width))
        strip = np.arange(max(height, width)) * n // max(height, width)
        return np.broadcast_to(strip if width >= height else strip[:, None], (height, width))
    n = min(n_regions, height * width)
    return cluster(lambda c: slic(pixels, n, c, sigma=smoothing_px, start_label=0), n)


def cluster(cut: Callable[[float], np.ndarray], n: int) -> np.ndarray:
    """Return the about ``n`` labels that ``cut`` makes with the least compactness that serves.

    In noise no cluster hangs together and all become one: place must count for more.
    """
    compactness = _COMPACTNESS
    while True:
        labels = cut(compactness)
        if labels.max() + 1 >= n / 2 or compactness >= _MOST_COMPACT:
            return labels
        compactness *= 10


def enlarge(labels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return labels at another size, each pixel with the label at its place."""
    places = [
        ((np.arange(side) + 0.5) * old / side).astype(np.int64)
        for side, old in zip(shape, labels.shape, strict=True)
    ]
    return labels[np.ix_(*places)]

"""Clips cut into regions of space and time, with their neighbours and a box in every frame.

| method | what |
|---|---|
| voxels | a regular grid, about ``n_regions`` bricks |
| slic | clusters of colour, movement and place in space and time, of like size |
| hierarchical | many small clusters, merged pair by pair, weakest boundary first, down to |
|  | ``n_regions`` |

One frame is two pixels apart from the next. The merging is that of :func:`superpixels`, with the
strength of a boundary from colour and from movement: the largest gradient of CIE Lab in a frame,
plus ``flow_weight`` times that of the flow, at each pixel. A side between two frames has the mean
strength of its two pixels, as any other.

References: R. Achanta et al., "SLIC superpixels compared to state-of-the-art superpixel methods",
IEEE Transactions on Pattern Analysis and Machine Intelligence 34 (2012); C. Xu, C. Xiong, J. Corso,
"Streaming hierarchical video segmentation", ECCV (2012).
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fieldguide._check import check_choice, check_number
from fieldguide._jit import jit
from fieldguide.errors import InvalidArgument
from fieldguide.features.transformer import shrink
from fieldguide.locate.superpixels import (
    cluster,
    count_boundaries,
    edge_strength,
    enlarge,
    merge_regions,
)
from fieldguide.video.clips import check_flow, check_frames, read_clip

if TYPE_CHECKING:
    from fieldguide.video.tubes import TubeFinding

METHODS = ("voxels", "slic", "hierarchical")
# Clusters that the merging starts from, for each region that is to be left.
_FINE = 10
_SEEDS_PER_PIXEL = 1 / 64
_FRAME_PX = 2.0  # how many pixels one frame is apart from the next


class Supervoxels(NamedTuple):
    """A clip cut into m regions; made by :func:`supervoxels` or :func:`to_supervoxels`.

    Examples
    --------
    >>> from fieldguide.video import to_supervoxels
    >>> regions = to_supervoxels([[[7, 7, 3]], [[7, 3, 3]]])
    >>> regions.n_regions, regions.areas.tolist(), regions.adjacency.tolist()
    (2, [3, 3], [[0, 1]])
    """

    labels: np.ndarray  # (n_frames, height, width) int32, 0 to m − 1
    boxes: np.ndarray  # (m, n_frames, 4) int32: x0, y0, x1, y1, exclusive; 0 where it is not
    areas: np.ndarray  # (m,) pixels of all frames
    adjacency: np.ndarray  # (n_pairs, 2) int32: regions that share a side, smaller first

    @property
    def n_regions(self) -> int:
        """How many regions there are."""
        return len(self.areas)

    def find(self, scores: np.ndarray) -> "TubeFinding":
        """Return where the regions are that score above 0: :func:`find_tubes`."""
        from fieldguide.video.tubes import find_tubes

        return find_tubes(self, scores)


def supervoxels(
    clip: Any,
    method: str = "slic",
    *,
    n_regions: int = 40,
    flow_weight: float = 10.0,
    smoothing_px: float = 0.8,
    max_side_px: int = 64,
    flow: Any = None,
) -> Supervoxels:
    """Cut one clip into regions of space and time.

    A flat clip becomes a few regions of equal look, a noisy one no more than about ``n_regions``,
    and a clip of one frame is cut as a picture.

    Parameters
    ----------
    clip : what :func:`read_clip` takes
    method : {"slic", "voxels", "hierarchical"}
        See the module's text.
    n_regions : int
        About how many regions "slic" and "voxels" make, and how many "hierarchical" leaves at most.
    flow_weight : float
        How much a pixel of movement counts, in units of CIE Lab; 0 for colour alone.
    smoothing_px : float
        Standard deviation of the blur before, in each frame.
    max_side_px : int
        Larger frames are cut at this longer side, and the regions enlarged.
    flow : ndarray of shape (n_frames, height, width, 2), optional
        Found by :func:`optical_flow` if it is not given and asked for.

    Returns
    -------
    Supervoxels

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.video import supervoxels
    >>> clip = np.zeros((4, 30, 40, 3), dtype=np.uint8)
    >>> clip[1:, 10:20, 12:24] = (250, 200, 0)
    >>> found = supervoxels(clip, "hierarchical", n_regions=2, flow_weight=0, smoothing_px=0)
    >>> found.boxes[1].tolist()
    [[0, 0, 0, 0], [12, 10, 24, 20], [12, 10, 24, 20], [12, 10, 24, 20]]
    """
    owner = "supervoxels"
    check_choice(owner, "method", method, METHODS)
    check_number(owner, "n_regions", n_regions, 1, 100_000, integer=True)
    check_number(owner, "flow_weight", flow_weight, 0, 1e6)
    check_number(owner, "smoothing_px", smoothing_px, 0, 64)
    check_number(owner, "max_side_px", max_side_px, 8, 100_000, integer=True)
    whole = check_frames(owner, read_clip(clip))
    small = np.stack([shrink(frame, max_side_px) for frame in whole])
    if method == "voxels":
        labels = cut_grid(small.shape[:3], n_regions)
        return to_supervoxels(enlarge(labels, whole.shape[:3]))
    moved = None
    if flow_weight > 0:
        found = check_flow(owner, flow, whole)
        moved = shrink_flow(found, small.shape[1:3])
    n = n_regions
    if method == "hierarchical":
        n_fine = min(_FINE * n_regions, max(1, int(_SEEDS_PER_PIXEL * small[..., 0].size)))
        n = max(n_fine, n_regions)
    looks = describe_pixels(small, moved, flow_weight, smoothing_px)
    labels = cluster_pixels(looks, n)
    if method == "hierarchical":
        strength = np.stack([edge_strength(frame, smoothing_px) for frame in small])
        if moved is not None:
            strength += flow_weight * flow_edges(moved)
        labels = merge_regions(labels, strength, n_regions)
    return to_supervoxels(enlarge(labels, whole.shape[:3]))


def to_supervoxels(labels: Any) -> Supervoxels:
    """Return the regions of a label map, (n_frames, height, width), numbered anew from 0.

    Parameters
    ----------
    labels : array of shape (n_frames, height, width), whole numbers
        Which region each pixel of each frame is of.

    Examples
    --------
    >>> from fieldguide.video import to_supervoxels
    >>> to_supervoxels([[[7, 7, 3]], [[7, 3, 3]]]).boxes.tolist()
    [[[2, 0, 3, 1], [1, 0, 3, 1]], [[0, 0, 2, 1], [0, 0, 1, 1]]]
    """
    labels = np.asarray(labels)
    if labels.ndim != 3 or not labels.size or not np.issubdtype(labels.dtype, np.integer):
        raise InvalidArgument(
            "labels of to_supervoxels must be whole numbers of shape (n_frames, height, width), a "
            f"pixel at least; got {labels.dtype} of shape {labels.shape}."
        )
    names, place = np.unique(labels, return_inverse=True)
    place = np.ascontiguousarray(place.reshape(labels.shape), dtype=np.int32)
    m = len(names)
    pairs, _ = count_boundaries(place, np.ones(place.shape, np.float32))
    return Supervoxels(
        place, box_labels(place, m), np.bincount(place.ravel(), minlength=m), pairs[:, :2]
    )


def box_labels(labels: np.ndarray, m: int) -> np.ndarray:
    """Return the box of each label in each frame, int32 (m, n_frames, 4); 0 where it is not."""
    boxes = np.zeros((m, len(labels), 4), np.int32)
    boxes[..., :2] = np.iinfo(np.int32).max
    _box_labels(labels, boxes)
    boxes[(boxes[..., 2] == 0)] = 0
    return boxes


def cut_grid(shape: tuple[int, ...], n_regions: int, frame_px: float = _FRAME_PX) -> np.ndarray:
    """Return the labels of a grid of about ``n_regions`` bricks, as near to cubes as may be."""
    sides = np.array([shape[0] * frame_px, shape[1], shape[2]], dtype=float)
    counts = np.ones(3, dtype=np.int64)
    while True:  # cut the side whose bricks are longest, until there are enough
        length = np.where(counts < shape, sides / counts, 0)
        axis = int(length.argmax())
        if length[axis] == 0 or counts.prod() >= n_regions:
            break
        more = counts + (np.arange(3) == axis)
        if more.prod() > n_regions and more.prod() - n_regions >= n_regions - counts.prod():
            break
        counts = more
    t, y, x = (np.arange(side) * n // side for side, n in zip(shape, counts, strict=True))
    labels: np.ndarray = (t[:, None, None] * counts[1] + y[:, None]) * counts[2] + x
    return labels


def describe_pixels(
    frames: np.ndarray, flow: np.ndarray | None, flow_weight: float, smoothing_px: float
) -> np.ndarray:
    """Return CIE Lab, and flow times its weight, of each pixel, (n_frames, h, w, 3 or 5)."""
    from skimage.color import rgb2lab
    from skimage.filters import gaussian

    parts = [rgb2lab(frames)]
    if flow is not None:
        parts.append(flow * flow_weight)
    looks = np.concatenate(parts, axis=3)
    if smoothing_px > 0:
        looks = gaussian(looks, (0, smoothing_px, smoothing_px), channel_axis=3)
    return looks


def cluster_pixels(looks: np.ndarray, n_regions: int) -> np.ndarray:
    """Return SLIC's labels of (n_frames, h, w, channels), from 0 on."""
    from skimage.segmentation import slic

    shape = looks.shape[:3]
    if n_regions == 1 or np.prod(shape) == 1:
        return np.zeros(shape, np.int32)
    if sum(side >= 3 for side in shape) < 2:  # too narrow for SLIC's grid
        return cut_grid(shape, n_regions)
    n = min(n_regions, int(np.prod(shape)))
    reach = max(float(np.ptp(looks)), 1e-12)  # SLIC maps all that is not RGB to [0, 1]

    def cut(compactness: float) -> np.ndarray:
        found: np.ndarray = slic(
            looks if shape[0] > 1 else looks[0],
            n,
            compactness / reach,
            spacing=(_FRAME_PX, 1, 1) if shape[0] > 1 else (1, 1),
            convert2lab=False,
            start_label=0,
            channel_axis=-1,
        )
        return found.reshape(shape)

    return cluster(cut, n)


def shrink_flow(flow: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Return the flow of each pixel of smaller frames, still in pixels of the whole ones."""
    from skimage.transform import resize

    if flow.shape[1:3] == tuple(size):
        return flow
    shrunk: np.ndarray = resize(flow, (len(flow), *size, 2), order=1, anti_aliasing=False)
    return shrunk


def flow_edges(flow: np.ndarray) -> np.ndarray:
    """Return the largest gradient of both parts of the flow in each frame, (n_frames, h, w)."""
    from skimage.filters import sobel

    if min(flow.shape[1:3]) < 3:  # a filter of three pixels has no room
        return np.zeros(flow.shape[:3])
    return np.stack([np.maximum(sobel(frame[..., 0]), sobel(frame[..., 1])) for frame in flow])


@jit
def _box_labels(labels: np.ndarray, boxes: np.ndarray) -> None:
    """Widen ``boxes`` (m, n, 4) to hold every pixel of ``labels`` (n, h, w)."""
    n, height, width = labels.shape
    for t in range(n):
        for y in range(height):
            for x in range(width):
                box = boxes[labels[t, y, x], t]
                box[0] = min(box[0], x)
                box[1] = min(box[1], y)
                box[2] = max(box[2], x + 1)
                box[3] = max(box[3], y + 1)

"""How far a region stands out from the border of its picture: no label is needed, nor a network.

Photographers leave room around what they aim at: ground and sky reach the border without a step in
colour, an object seldom does. The contrast of a region is the least sum of steps on a way through
neighbours to the border,

    g(r) = min over ways r = r_0, …, r_n at the border of  Σ_i max(|c(r_i) − c(r_{i+1})| − 5, 0),

c the mean colour in CIE Lab, divided by the largest of the picture.

A network's map is coarse: the ground beside an object scores almost like the object. Region scores
times this contrast have the network's knowledge and the superpixels' sharp edges.

Reference: Y. Wei, F. Wen, W. Zhu, J. Sun, "Geodesic saliency using background priors", ECCV (2012).
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from fieldguide.features.transformer import iterate_images
from fieldguide.locate.superpixels import Regions

GROUND = 0.2  # added to the contrast: what touches the border is not ruled out
STEP = 5.0  # of CIE Lab that is no step: slow changes of a sky do not add up
_TOUCH = 1e-9  # a way of no cost would be no way to the sparse graph


def stand_out(scores: np.ndarray, contrast: np.ndarray) -> np.ndarray:
    """Return region scores, from the least of the picture on, times their contrast and a little.

    Examples
    --------
    >>> import numpy as np
    >>> stand_out(np.array([1.0, 3.0, -1.0]), np.array([0.0, 0.8, 1.0])).round(2).tolist()
    [0.4, 4.0, 0.0]
    """
    standing_out: np.ndarray = (scores - scores.min()) * (contrast + GROUND)
    return standing_out


def border_contrast(image: Any, regions: Regions) -> np.ndarray:
    """Return how far each region stands out from the border, 0 to 1.

    Parameters
    ----------
    image : array, Pillow image or path
    regions : Regions
        Of the same picture.

    Returns
    -------
    ndarray of shape (n_regions,)
        0 at the border; all 0 in a picture without a step.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.locate import border_contrast, superpixels
    >>> picture = np.zeros((60, 80, 3), dtype=np.uint8)
    >>> picture[20:40, 30:60] = (250, 200, 0)
    >>> border_contrast(picture, superpixels(picture, "hierarchical", n_regions=2)).tolist()
    [0.0, 1.0]
    """
    from skimage.color import rgb2lab

    pixels = np.asarray(next(iterate_images([image])))
    labels, m = regions.labels, regions.n_regions
    place = labels.ravel()
    sums = [np.bincount(place, pixels[..., c].ravel(), minlength=m) for c in range(3)]
    colour = rgb2lab(np.stack(sums, axis=1) / regions.areas[:, None] / 255)
    a, b = regions.adjacency.T
    step = np.maximum(np.linalg.norm(colour[a] - colour[b], axis=1) - STEP, 0)
    border = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]]))
    cost = np.concatenate([step, np.zeros(len(border))]) + _TOUCH
    ends = np.concatenate([a, np.full(len(border), m)]), np.concatenate([b, border])
    graph = csr_array((cost, ends), shape=(m + 1, m + 1))
    distance = dijkstra(graph, directed=False, indices=m)[:m]
    distance[distance < 1e-6] = 0
    contrast: np.ndarray = distance / max(distance.max(), 1e-6)
    return contrast

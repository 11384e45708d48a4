"""Where the subject ends, by its colours.

The cells of a network are coarse. How likely a pixel is of the subject is taken from both the
scores of the cells and the colours, with f and g the shares of a colour in subject and
surroundings:

    logit p(x) = k log(z(x) / (cut · max z)) + log f(colour) / g(colour),

the first bounded, so that a leg that the network overlooked is found by its colour, the second
averaged over 3 × 3 pixels. f and g are counted with p, and p computed from them, twice.

What was found first holds a good deal of surroundings, of a plain sky more than half. Of f, as much
as may be surroundings is therefore taken away: f ← max(f − α g, 0), scaled to sum 1. Surroundings
count more near to the subject, for what is far away may be another place.
"""

import numpy as np
from PIL import Image
from scipy import ndimage

_CUT = 0.3  # of the largest score: as likely subject as not
_STEEPNESS = 2.0  # k
_BOUNDS = (-2.5, 1.5)  # of what scores say
_MOST = 3.0  # of what colours say, either way
_TAKEN = 0.75  # α
_LEVELS = 16  # of a channel, in the counts of colours
_LEAST = 2e-4  # share of a colour that was never seen
_NEAR = 0.125  # of the longest side
_FAR = 0.25  # weight of surroundings beyond that
_ROUNDS = 2


def outline_colours(image: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return how likely each pixel is of the subject, (height, width) in [0, 1].

    Parameters
    ----------
    image : ndarray of shape (height, width, 3), uint8
        Small: about 100 px are enough.
    scores : ndarray of shape (rows, columns)
        Of cells that cover the picture, as of :class:`SubjectFinder`; the largest above 0.

    Examples
    --------
    >>> image = np.full((40, 40, 3), (60, 150, 60), np.uint8)  # green
    >>> image[10:30, 10:30] = (200, 20, 30)  # and a red square
    >>> scores = np.zeros((4, 4), np.float32)
    >>> scores[1:3, 1:3] = 1
    >>> share = outline_colours(image, scores)
    >>> bool(share[20, 20] > 0.9), bool(share[0, 0] < 0.1)
    (True, True)
    """
    height, width = image.shape[:2]
    finer = Image.fromarray(np.ascontiguousarray(scores, dtype=np.float32))
    score = np.asarray(finer.resize((width, height), Image.Resampling.BILINEAR))
    score = np.clip(score / max(float(score.max()), 1e-12), 1e-3, 1)
    prior = np.clip(_STEEPNESS * np.log(score / _CUT), *_BOUNDS)
    coarse = (image // (256 // _LEVELS)).astype(np.intp)
    code = (coarse[..., 0] * _LEVELS + coarse[..., 1]) * _LEVELS + coarse[..., 2]
    side = 2 * int(_NEAR * max(height, width)) + 1
    nearness = 3 * ndimage.uniform_filter((score >= _CUT).astype(np.float32), side)
    near = _FAR + (1 - _FAR) * np.minimum(nearness, 1)
    inside, outside = score**2, np.maximum(1 - score / (0.7 * _CUT), 0) * near
    for _ in range(_ROUNDS):
        told = _compare_colours(code, inside, outside)[code]
        logit = prior + ndimage.uniform_filter(told, 3)
        inside = 1 / (1 + np.exp(-logit))
        outside = (1 - inside) * near
    return _keep_found(inside, score >= _CUT)


def _compare_colours(code: np.ndarray, inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """Return log f/g of each colour."""
    shares = []
    for weights in (inside, outside):
        n = np.bincount(code.ravel(), weights.ravel(), _LEVELS**3).reshape((_LEVELS,) * 3)
        n = ndimage.gaussian_filter(n, 0.8, mode="nearest", truncate=2).ravel()
        shares.append(n / max(float(n.sum()), 1e-12))
    f, g = shares
    rest = np.maximum(f - _TAKEN * g, 0)
    f = rest / max(float(rest.sum()), 1e-12)
    log_ratio = np.log((f + _LEAST) / (g + _LEAST))
    bounded: np.ndarray = np.clip(log_ratio, -_MOST, _MOST).astype(np.float32)
    return bounded


def _keep_found(inside: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return the probabilities without the pieces that touch nothing of what the cells found."""
    pieces, n_pieces = ndimage.label(inside > 0.5)
    keeps = np.bincount(pieces.ravel(), found.ravel(), n_pieces + 1) > 0
    return np.where(keeps[pieces] | (inside <= 0.5), inside, 1 - inside)

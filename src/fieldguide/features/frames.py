"""What is measured of the frames of a clip becomes what is measured of the clip.

============================  ==================================================================
what the network sees         the mean of its rows
what it says, and words       the mean of the probabilities
rows to compare by            the mean, scaled to length 1: a linear key's score of a clip is, up
                              to one factor, the mean of its scores of the frames
the subject, and its map      those of the frame that the clip is shown by
============================  ==================================================================

One frame gives what it gives as a picture, bit for bit.
"""

import numpy as np
from scipy.special import log_softmax, logsumexp

from fieldguide.features.network import Outputs


def pool_outputs(outputs: Outputs) -> Outputs:
    """Return the ``outputs`` of a network for several frames as a batch of one, without cells.

    Examples
    --------
    >>> pooled = pool_outputs(Outputs(np.array([[0.0, 2.0], [4.0, 0.0]]), None))
    >>> pooled.embedding
    array([[2., 1.]])
    """
    if len(outputs.embedding) == 1:
        return outputs
    said = outputs.logits
    return Outputs(
        outputs.embedding.mean(axis=0, keepdims=True),
        None if said is None else pool_logarithms(log_softmax(said, axis=1))[None],
    )


def pool_logarithms(said: np.ndarray) -> np.ndarray:
    """Return the logarithms of the mean of probabilities; ``said`` are theirs, (n_frames,
    n_classes).

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(pool_logarithms(np.log([[0.5, 0.5], [0.9, 0.1]]))).round(2)
    array([0.7, 0.3], dtype=float32)
    """
    if len(said) == 1:
        only: np.ndarray = said[0]
        return only
    pooled: np.ndarray = (logsumexp(said, axis=0) - np.log(len(said))).astype(np.float32)
    return pooled


def pool_rows(rows: np.ndarray) -> np.ndarray:
    """Return the mean of rows of length 1, (n_frames, n_columns), at length 1.

    Examples
    --------
    >>> pool_rows(np.array([[1.0, 0.0], [0.0, 1.0]])).round(3)
    array([0.707, 0.707], dtype=float32)
    """
    if len(rows) == 1:
        only: np.ndarray = rows[0]
        return only
    mean = rows.mean(axis=0)
    pooled: np.ndarray = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
    return pooled


def pool_scores(scores: np.ndarray) -> np.ndarray:
    """Return the mean of scores over the frames that have one; NaN where none has.

    Examples
    --------
    >>> pool_scores(np.array([[0.2, np.nan], [0.4, np.nan]]))
    array([0.3, nan], dtype=float32)
    """
    if len(scores) == 1:
        only: np.ndarray = scores[0]
        return only
    is_known = np.isfinite(scores)
    n_known = is_known.sum(axis=0)
    total = np.where(is_known, scores, 0).sum(axis=0)
    return np.where(n_known > 0, total / np.maximum(n_known, 1), np.nan).astype(np.float32)

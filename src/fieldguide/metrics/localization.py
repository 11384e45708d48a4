"""How well objects are found: overlap of boxes or masks, precision against recall, CorLoc.

    overlap(a, b) = area of a ∩ b / area of a ∪ b

In a clip, shapes are tubes (a box in every frame) or masks of all frames, and areas are volumes:
sums over the frames.

What was found is looked at from the surest on, over all pictures together. A find is right if its
overlap with an object of its picture that no surer find has taken is at least the one asked for;
each object is taken once, by its best free find. A picture may hold no object: all that is found in
it is wrong.

Reference: M. Everingham et al., "The PASCAL visual object classes (VOC) challenge", IJCV 88 (2010).
The average precision here is the sum of precision times the rise of recall, not interpolated.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fieldguide._check import check_number
from fieldguide.errors import InvalidArgument


class LocalizationCurve(NamedTuple):
    """Precision and recall of finds at least as sure as each threshold, surest first.

    Examples
    --------
    >>> from fieldguide.metrics import localization_curve
    >>> curve = localization_curve([[[0, 0, 9, 9]]], [[[0, 0, 9, 8], [5, 5, 7, 7]]], [[0.9, 0.1]])
    >>> curve.precision.tolist(), curve.recall.tolist(), curve.thresholds.tolist()
    ([1.0, 0.5], [1.0, 1.0], [0.9, 0.1])
    """

    precision: np.ndarray
    recall: np.ndarray
    thresholds: np.ndarray
    average_precision: float


def localization_curve(
    truth: Sequence[Any], found: Sequence[Any], scores: Sequence[Any], *, overlap: float = 0.5
) -> LocalizationCurve:
    """Return precision against recall of boxes or masks found in pictures, or tubes in clips.

    Parameters
    ----------
    truth : sequence over n pictures
        The objects of each: boxes of shape (k, 4) as x0, y0, x1, y1, or masks of shape
        (k, height, width), bool. A box stands for the pixels whose middle lies in it where masks
        are found. Of a clip: tubes of shape (k, n_frames, 4), with a box of no area or of NaN
        in a frame without the object, or masks of shape (k, n_frames, height, width).
    found : sequence over n pictures
        What was found in each, boxes or masks likewise; masks may not be compared by box.
    scores : sequence over n pictures
        How sure each find is, shape (k,).
    overlap : float in (0, 1]
        From which on a find is right; the reference asks for 0.5.

    Returns
    -------
    LocalizationCurve
        Finds of the same score make one point.

    Examples
    --------
    >>> from fieldguide.metrics import localization_curve
    >>> truth = [[[0, 0, 10, 10]], [[0, 0, 10, 10]]]
    >>> found = [[[0, 0, 10, 8], [50, 50, 60, 60]], [[5, 5, 15, 15]]]
    >>> curve = localization_curve(truth, found, [[0.9, 0.1], [0.5]])
    >>> curve.precision.round(2).tolist(), curve.recall.tolist(), curve.average_precision
    ([1.0, 0.5, 0.33], [0.5, 0.5, 0.5], 0.5)
    """
    check_number("localization_curve", "overlap", overlap, 1e-9, 1)
    if not len(truth) == len(found) == len(scores) or not len(truth):
        raise InvalidArgument(
            "truth, found and scores of localization_curve must be as many, one for each picture; "
            f"got {len(truth)}, {len(found)} and {len(scores)}."
        )
    n_objects, sure, is_right = 0, [np.empty(0)], [np.empty(0, bool)]
    for i in range(len(truth)):
        objects, finds = _as_shapes("truth", truth[i], i), _as_shapes("found", found[i], i)
        values = np.asarray(scores[i], dtype=np.float64).reshape(-1)
        if len(values) != len(finds) or np.isnan(values).any():
            raise InvalidArgument(
                f"scores of localization_curve must have a number for each find; picture {i} has "
                f"{len(finds)} finds and {len(values)} scores, or NaN."
            )
        n_objects += len(objects)
        sure.append(values)
        is_right.append(_match(overlaps(finds, objects), values, overlap))
    if not n_objects:
        raise InvalidArgument("truth of localization_curve must hold an object; got none.")
    return _trace(np.concatenate(sure), np.concatenate(is_right), n_objects)


def corloc(truth: Sequence[Any], found: Sequence[Any], *, overlap: float = 0.5) -> float:
    """Return the share of pictures with objects in which the first find is right.

    Parameters
    ----------
    truth, found : sequences over n pictures
        As of :func:`localization_curve`, the finds of a picture best first; or one box for each
        picture, (n, 4). Pictures without an object do not count; one without a find is wrong.
    overlap : float in (0, 1]

    Examples
    --------
    >>> from fieldguide.metrics import corloc
    >>> corloc([[0, 0, 10, 10], [0, 0, 10, 10]], [[0, 0, 10, 9], [5, 5, 15, 15]])
    0.5
    """
    check_number("corloc", "overlap", overlap, 1e-9, 1)
    if len(truth) != len(found):
        raise InvalidArgument(
            f"truth and found of corloc must be as many; got {len(truth)} and {len(found)}."
        )
    hits = []
    for i in range(len(truth)):
        objects, finds = _as_shapes("truth", truth[i], i), _as_shapes("found", found[i], i)
        if len(objects):
            hits.append(bool((overlaps(finds[:1], objects) >= overlap).any()))
    if not hits:
        raise InvalidArgument("truth of corloc must hold an object; got none.")
    return float(np.mean(hits))


def overlaps(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return intersection over union of each find and object, (n_found, n_truth).

    Shapes are boxes or masks of a picture, or tubes or masks of a clip.

    Examples
    --------
    >>> import numpy as np
    >>> overlaps(np.array([[0.0, 0, 4, 2]]), np.array([[2.0, 0, 6, 2], [8, 8, 9, 9]]))
    array([[0.33333333, 0.        ]])
    >>> overlaps(np.array([[[0.0, 0, 4, 2], [0, 0, 4, 2]]]), np.array([[[0.0, 0, 4, 2], [0] * 4]]))
    array([[0.5]])
    """
    if not len(found) or not len(truth):
        return np.zeros((len(found), len(truth)))
    if found.dtype == bool or truth.dtype == bool:
        shape = found.shape[1:] if found.dtype == bool else truth.shape[1:]
        a, b = (_draw(shapes, shape).reshape(len(shapes), -1) for shapes in (found, truth))
        inside = a.astype(np.float64) @ b.T.astype(np.float64)
        sizes = a.sum(axis=1)[:, None] + b.sum(axis=1)
    else:
        if found.shape[1:] != truth.shape[1:]:
            raise InvalidArgument(
                "Boxes can be compared with boxes, and tubes with tubes of as many frames; got "
                f"shapes {found.shape[1:]} and {truth.shape[1:]}."
            )
        # Boxes are tubes of one frame.
        found, truth = (b.reshape(len(b), -1, 4) for b in (found, truth))
        low = np.maximum(found[:, None, :, :2], truth[..., :2])
        high = np.minimum(found[:, None, :, 2:], truth[..., 2:])
        inside = np.maximum(high - low, 0).prod(axis=3).sum(axis=2)
        areas = [
            np.maximum(b[..., 2:] - b[..., :2], 0).prod(axis=2).sum(axis=1) for b in (found, truth)
        ]
        sizes = areas[0][:, None] + areas[1]
    union = sizes - inside
    return np.asarray(np.divide(inside, union, out=np.zeros_like(inside), where=union > 0))


def _as_shapes(name: str, values: Any, picture: int) -> np.ndarray:
    """Return boxes (k, 4), tubes (k, n_frames, 4), or masks (k, h, w) or (k, n_frames, h, w)."""
    shapes = np.asarray(values)
    if shapes.size == 0:
        return np.empty((0, 4))
    if shapes.dtype == bool and shapes.ndim in (2, 3, 4):
        return shapes[None] if shapes.ndim == 2 else shapes
    shapes = np.atleast_2d(shapes)
    is_box = shapes.ndim in (2, 3) and shapes.shape[-1] == 4
    is_box = is_box and np.issubdtype(shapes.dtype, np.number)
    if is_box and shapes.ndim == 3:
        shapes = np.where(np.isnan(shapes).any(axis=2, keepdims=True), 0.0, shapes)
    if not is_box or not np.isfinite(shapes).all():
        raise InvalidArgument(
            f"{name} must hold boxes of four numbers, tubes of a box in each frame, or masks of "
            f"bool; picture {picture} has {shapes.dtype} of shape {shapes.shape}."
        )
    return shapes.astype(np.float64)


def _draw(shapes: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Return masks as they are, boxes and tubes as masks of the pixels whose middle they hold."""
    if shapes.dtype == bool:
        if shapes.shape[1:] != size:
            raise InvalidArgument(
                f"Masks of one picture must have the same size; got {shapes.shape[1:]} and {size}."
            )
        return shapes
    if shapes.shape[1:-1] != size[:-2]:
        raise InvalidArgument(
            f"Boxes must be as many as the frames of a mask of shape {size}; got shape "
            f"{shapes.shape[1:]}."
        )
    y, x = np.arange(size[-2]) + 0.5, np.arange(size[-1]) + 0.5
    is_column = (x >= shapes[..., :1]) & (x < shapes[..., 2:3])
    is_row = (y >= shapes[..., 1:2]) & (y < shapes[..., 3:4])
    return is_row[..., :, None] & is_column[..., None, :]


def _match(table: np.ndarray, scores: np.ndarray, overlap: float) -> np.ndarray:
    """Return whether each find takes an object, surest first."""
    is_right = np.zeros(len(scores), bool)
    is_free = np.ones(table.shape[1], bool)
    for k in np.argsort(-scores, kind="stable"):
        values = np.where(is_free, table[k], -1.0)
        if len(values) and values.max() >= overlap:
            is_right[k] = True
            is_free[values.argmax()] = False
    return is_right


def _trace(scores: np.ndarray, is_right: np.ndarray, n_objects: int) -> LocalizationCurve:
    if not len(scores):
        return LocalizationCurve(np.empty(0), np.empty(0), np.empty(0), 0.0)
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    right = np.cumsum(is_right[order])[ends]
    precision, recall = right / (ends + 1), right / n_objects
    average = float(precision @ np.diff(recall, prepend=0.0))
    return LocalizationCurve(precision, recall, scores[order][ends], average)

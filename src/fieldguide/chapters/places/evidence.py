"""Where a decision of the key comes from: what each place of a picture adds to its margin.

A linear function of a row is a sum over the parts of the row, and a part that was pooled from cells
of the network is a sum over cells (:mod:`fieldguide.features.looks`). Laid over the picture, these
sums are a field whose total is the margin, but for parts without a place.

The outline is drawn around where the field of the sharpest look, a little smoothed, is largest
among the pixels of the subject, which are told from their surroundings by their colours too
(:func:`~fieldguide.features.outline_colours`). A pixel counts by the share of subject around it:
cells at its edge have seen its surroundings as well. Where the field is much larger elsewhere in
the subject's box, colours mislead, and the outline is around the field alone.

What tells a kind from one rival may be anywhere: the rival's own function is low on many
surroundings. So where the key also tells the kind from all others, the outline is where both speak
for it in the mean; what a place adds is said of the margin that is shown.

A cell of the map has seen much around its own place; what the cells add is therefore also led back
to the finer map that they come from. Both say exactly where the same sum comes from (the finer one
but for a constant), each with errors of its own; the cells count twice.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image
from scipy import ndimage

from fieldguide.chapters.places.records import Located, PartOfMargin, Place
from fieldguide.features import PLAIN_SPREAD, Look, Subject, outline_colours, sum_shares
from fieldguide.features.network import Network
from fieldguide.guide.sighting import describe_subject
from fieldguide.identify import Contrast
from fieldguide.locate import follow_edges, trace_outlines

CANVAS_PX = 96  # longer side of the field
# Chosen on CUB-200's species of even numbers and on specimens of seeds 2000 to 2004; 1000 to 1004
# are reported.
SMOOTH = 0.025  # of the longer side: standard deviation
AROUND = 0.03  # of the longer side: standard deviation of what is around a pixel
MOST_OUTSIDE = 3.0  # times the largest weighed value inside; from there on colours mislead
CUT_FIELD = 0.7  # of the largest value inside the subject
SHARPEST = "closer"  # its cells are the smallest
SHARE_FINER = 1 / 3  # of the finer map in its field; with a half, photographs have more crumbs
MOST_PLACES = 3
LEAST_SHARE = 0.1  # of what the first place adds, that another must add
_EDGE_PX, _EDGE_SMOOTHNESS = 6, 4e-3
CONSTANT = "constant"


class Field(NamedTuple):
    """What each place of a picture adds to a margin."""

    values: np.ndarray  # (height, width), exact; the sum is that of the placed parts
    sharp: np.ndarray  # what outlines follow: the sharpest look, by its cells and a finer map
    parts: tuple[PartOfMargin, ...]  # with the constant; the sum is the margin


class Canvas(NamedTuple):
    """A picture as fields are laid over it, for all of them."""

    subject: Subject
    small: np.ndarray  # (height, width, 3)
    is_subject: np.ndarray  # (height, width); all where there is no subject
    around: np.ndarray  # (height, width), the share of subject around each pixel


def share_margin(
    contrast: Contrast,
    told: Sequence[Contrast],
    row: np.ndarray,
    columns: Mapping[str, slice],
    looks: Mapping[str, Look],
    size: tuple[int, int],
    network: Network,
) -> Field:
    """Lay what each part of a row adds to a margin over a picture of width and height ``size``.

    ``told`` are the functions that the key has for this kind: where that against all others is
    among them, the outline follows it as well. ``columns`` are those of each part, ``looks`` the
    cells of those parts that have any, as ``network`` has seen them.
    """
    row = row.ravel()
    length = {name: float(np.linalg.norm(row[own])) for name, own in columns.items()}
    placed = [name for name in columns if name in looks]
    of_all = [each.coef for each in told if each.rival is None]
    followed = np.mean([contrast.coef, *of_all], axis=0)

    def lay(coef: np.ndarray, name: str) -> tuple[tuple[float, float, float, float], np.ndarray]:
        # the part was scaled to its length
        return looks[name].area, looks[name].share_out(coef[columns[name]]) * length[name]

    parts = [
        PartOfMargin(name, float(contrast.coef[own] @ row[own]), name in looks)
        for name, own in columns.items()
    ]
    parts.append(PartOfMargin(CONSTANT, float(contrast.intercept), False))
    ways = [lay(followed, name) for name in placed]
    if SHARPEST in placed:
        area, cells = lay(followed, SHARPEST)
        scaled = followed[columns[SHARPEST]] * length[SHARPEST]
        finer = looks[SHARPEST].trace(scaled, network)
        ways = [(area, cells)]
        if finer is not None:
            ways = [(area, (1 - SHARE_FINER) * cells), (area, SHARE_FINER * finer)]
    canvas = fit_canvas(size)
    values = sum_shares([lay(contrast.coef, name) for name in placed], canvas)
    return Field(values, sum_shares(ways, canvas), tuple(parts))


def lay_canvas(image: Image.Image, subject: Subject) -> Canvas:
    """Find the subject's pixels, once for all fields of a picture.

    All are where it has no subject; none where it is of one colour, since what its places add they
    add by the borders of the map alone.
    """
    height, width = fit_canvas(image.size)
    small = np.asarray(image.resize((width, height), Image.Resampling.BICUBIC, reducing_gap=2.0))
    if subject.confidence <= 0:
        is_plain = np.ptp(small, axis=(0, 1)).max() <= PLAIN_SPREAD
        every = np.full((height, width), not is_plain)
        return Canvas(subject, small, every, every.astype(float))
    likely = outline_colours(small, subject.scores)
    around = ndimage.gaussian_filter(likely, AROUND * CANVAS_PX, mode="nearest")
    return Canvas(subject, small, likely > 0.5, around)


def outline_field(field: Field, canvas: Canvas) -> tuple[list[np.ndarray], list[float]]:
    """Return masks of the places that add most, inside the subject, and what each adds."""
    height, width = field.values.shape
    smooth = ndimage.gaussian_filter(field.sharp, SMOOTH * CANVAS_PX, mode="nearest")
    smooth = follow_edges(smooth, canvas.small, radius_px=_EDGE_PX, smoothness=_EDGE_SMOOTHNESS)
    inside = np.where(canvas.is_subject, smooth, 0.0)
    if inside.max() <= 0:
        return [], []
    x0, y0, x1, y1 = np.rint(np.multiply(canvas.subject.box, [width, height] * 2)).astype(int)
    in_box = np.zeros_like(smooth)
    in_box[y0:y1, x0:x1] = smooth[y0:y1, x0:x1]
    weighed = inside * canvas.around
    inside = in_box if in_box.max() >= MOST_OUTSIDE * weighed.max() else weighed
    pieces, n_pieces = ndimage.label(inside >= CUT_FIELD * inside.max())
    added = ndimage.sum_labels(field.values, pieces, np.arange(1, n_pieces + 1))
    order = [k for k in np.argsort(-added, kind="stable")[:MOST_PLACES] if added[k] > 0]
    kept = [k for k in order if added[k] >= LEAST_SHARE * added[order[0]]]
    return [pieces == k + 1 for k in kept], [float(added[k]) for k in kept]


def locate_margin(canvas: Canvas, field: Field, kind: str, against: str | None) -> Located:
    """Return the places of a picture that add most to a margin."""
    masks, added = outline_field(field, canvas)
    places = tuple(_describe(mask, value) for mask, value in zip(masks, added, strict=True))
    margin = float(sum(part.value for part in field.parts))
    share = float(sum(mask.mean() for mask in masks))
    return Located(
        kind,
        against,
        round(margin, 4),
        round(share, 4),
        places,
        field.parts,
        describe_subject(canvas.subject),
    )


def fit_canvas(size: tuple[int, int]) -> tuple[int, int]:
    """Return height and width of the field over a picture."""
    scale = CANVAS_PX / max(size)
    return max(8, round(size[1] * scale)), max(8, round(size[0] * scale))


def _describe(mask: np.ndarray, value: float) -> Place:
    ((rows, columns),) = ndimage.find_objects(mask.astype(np.int8))
    height, width = mask.shape
    sides = (
        columns.start / width,
        rows.start / height,
        columns.stop / width,
        rows.stop / height,
    )
    x0, y0, x1, y1 = (round(side, 4) for side in sides)
    return Place((x0, y0, x1, y1), trace_outlines(mask), round(value, 4))

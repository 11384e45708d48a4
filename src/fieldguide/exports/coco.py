"""Subjects and regions as COCO: boxes and outlines in pixels of the originals.

The category of a subject is the kind of its specimen, or ``subject`` without one. Where it is known
which pieces of a picture speak for its kind, each is one more annotation of the category
``KIND: place``, with its outline.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fieldguide._files import write_json
from fieldguide.exports.order import Order
from fieldguide.guide import Specimen

SUBJECT, PLACE = "subject", "place"
Ring = list[tuple[float, float]]


def write(order: Order) -> Path:
    """Write images, categories and annotations; ``score`` says how sure each is."""
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    categories: dict[tuple[str, str], int] = {}
    for specimen in order.list_specimens("writing subjects and places"):
        size = (specimen.width, specimen.height)
        images.append(
            {"id": specimen.id + 1, "file_name": specimen.path, "width": size[0], "height": size[1]}
        )
        for category, rings, score in _list_shapes(order, specimen):
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": specimen.id + 1,
                    "category_id": categories.setdefault(category, len(categories) + 1),
                    **_describe_shape(rings, size),
                    "iscrowd": 0,
                    "score": score,
                }
            )
    listed = [
        {"id": number, "name": name, "supercategory": group}
        for (name, group), number in categories.items()
    ]
    info = {"description": order.guide.title, "version": "1.0"}
    content = {"info": info, "licenses": [], "images": images, "categories": listed}
    write_json(order.target, {**content, "annotations": annotations})
    return order.target


def _list_shapes(
    order: Order, specimen: Specimen
) -> Iterator[tuple[tuple[str, str], list[Ring], float]]:
    """Yield category, rings in shares of the sides, and score of what is known of a picture."""
    subject = order.guide.subject(specimen.id)
    if subject is not None:
        x0, y0, x1, y1 = subject.box
        ring = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        yield (specimen.kind or SUBJECT, SUBJECT), [ring], subject.confidence
    located = order.guide.located(specimen.id)
    if located is None:
        return
    for place in located.places:
        yield (f"{located.kind}: {PLACE}", PLACE), [list(r) for r in place.outline], place.score


def _describe_shape(rings: list[Ring], size: tuple[int, int]) -> dict[str, Any]:
    """Return polygons, box and area in pixels, the box as x, y, width and height.

    The area is that of the outer ring; COCO's polygons have no holes.
    """
    outer = [[(x * size[0], y * size[1]) for x, y in ring] for ring in rings[:1]]
    xs, ys = zip(*outer[0], strict=True)
    box = (min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))
    area = abs(
        sum(
            xs[i - 1] * ys[i] - xs[i] * ys[i - 1]  # the shoelace formula
            for i in range(len(xs))
        )
        / 2
    )
    flat = [[round(value, 2) for point in ring for value in point] for ring in outer]
    return {
        "segmentation": flat,
        "bbox": [round(value, 2) for value in box],
        "area": round(area, 2),
    }

"""Boxes of objects: read from VOC, COCO and YOLO files, and written as COCO.

=====  =======================================================================================
VOC    one XML file for each picture: ``object`` with ``name`` and ``bndbox`` (1-based, inclusive)
COCO   one JSON file: ``images``, ``categories``, ``annotations`` with ``bbox`` x, y, width, height
YOLO   one text file for each picture: class number, middle and sides in shares of the picture
=====  =======================================================================================

Everywhere in Fieldguide a box is x0, y0, x1, y1 in pixels, the upper left corner of the picture
being 0, 0 and the last two exclusive. XML with a document type is refused: entities can be made to
fill the memory or to read other files.
"""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from fieldguide._files import write_bytes
from fieldguide.errors import CollectionError, InvalidArgument

_MOST_BYTES = 2**24  # an annotation of one picture has a few thousand


class Objects(NamedTuple):
    """The objects of one picture.

    Examples
    --------
    >>> box, none = np.array([[40.0, 15.0, 60.0, 35.0]]), np.zeros(1, dtype=bool)
    >>> Objects("owl.jpg", (100, 50), ["owl"], box, none).names
    ['owl']
    """

    path: str  # of the picture, as the file names it
    size: tuple[int, int] | None  # width and height in px, where known
    names: list[str]
    boxes: np.ndarray  # (n, 4) float32: x0, y0, x1, y1
    is_difficult: np.ndarray  # (n,) bool: marked as hard to see, or as a crowd


def read_voc_boxes(file: str | os.PathLike[str]) -> Objects:
    """Read the objects of one picture from a VOC XML file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = '''<annotation><filename>a.jpg</filename><object><name>owl</name>
    ...   <bndbox><xmin>1</xmin><ymin>11</ymin><xmax>30</xmax><ymax>40</ymax></bndbox>
    ...   </object></annotation>'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.xml").write_text(text)
    ...     objects = read_voc_boxes(Path(folder, "a.xml"))
    >>> objects.path, objects.names, objects.boxes.tolist()
    ('a.jpg', ['owl'], [[0.0, 10.0, 30.0, 40.0]])
    """
    path = Path(file)
    root = _parse_xml(path)
    try:
        size = root.find("size")
        sides = None if size is None else (int(_text(size, "width")), int(_text(size, "height")))
        found = root.findall("object")
        names = [_text(each, "name") for each in found]
        corners = [
            [float(_text(each, f"bndbox/{side}")) for side in ("xmin", "ymin", "xmax", "ymax")]
            for each in found
        ]
        hard = [int(each.findtext("difficult") or 0) > 0 for each in found]
        picture = _text(root, "filename")
    except (TypeError, ValueError):
        raise CollectionError(
            f"{str(path)!r} must hold a filename and objects with a name and a bndbox of four "
            "numbers; export it again."
        ) from None
    boxes = _check_boxes(path, corners)
    boxes[:, :2] -= 1  # the release counts pixels from 1 and includes the last
    return Objects(picture, sides, names, boxes, np.array(hard, dtype=bool))


def read_coco_boxes(file: str | os.PathLike[str]) -> tuple[list[Objects], list[str]]:
    """Read the objects of all pictures from a COCO JSON file.

    Returns
    -------
    objects : list of Objects
        In the order of ``images``; pictures without an annotation have none.
    names : list of str
        The categories, in the order of the file.

    Examples
    --------
    >>> import tempfile
    >>> coco = {
    ...     "images": [{"id": 7, "file_name": "owl.jpg", "width": 100, "height": 50}],
    ...     "categories": [{"id": 3, "name": "owl"}],
    ...     "annotations": [{"image_id": 7, "category_id": 3, "bbox": [40, 15, 20, 20]}],
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n = Path(folder, "boxes.json").write_text(json.dumps(coco))
    ...     objects, names = read_coco_boxes(Path(folder, "boxes.json"))
    >>> objects[0].names, objects[0].boxes.tolist(), names
    (['owl'], [[40.0, 15.0, 60.0, 35.0]], ['owl'])
    """
    path = Path(file)
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        categories = {each["id"]: str(each["name"]) for each in content["categories"]}
        of_picture: dict[Any, list[dict[str, Any]]] = {each["id"]: [] for each in content["images"]}
        for annotation in content["annotations"]:
            of_picture[annotation["image_id"]].append(annotation)
        objects = []
        for each in content["images"]:
            mine = of_picture[each["id"]]
            boxes = _check_boxes(path, [a["bbox"] for a in mine], by_sides=True)
            has_size = each.get("width") is not None and each.get("height") is not None
            size = (int(each["width"]), int(each["height"])) if has_size else None
            names = [categories[a["category_id"]] for a in mine]
            crowd = np.array([bool(a.get("iscrowd", 0)) for a in mine], dtype=bool)
            objects.append(Objects(str(each["file_name"]), size, names, boxes, crowd))
    except OSError as error:
        raise _unreadable(path, error.strerror) from None
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise CollectionError(
            f"{str(path)!r} must be COCO JSON: images, categories and annotations with image_id, "
            "category_id and bbox; export it again."
        ) from None
    return objects, list(categories.values())


def read_yolo_boxes(
    file: str | os.PathLike[str], size: tuple[int, int], names: Sequence[str]
) -> Objects:
    """Read the objects of one picture from a YOLO text file.

    Parameters
    ----------
    file : path
    size : (width, height)
        Of the picture in px; the file has shares alone.
    names : sequence of str
        The class of each number.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n = Path(folder, "owl.txt").write_text("1 0.5 0.5 0.2 0.4")
    ...     found = read_yolo_boxes(Path(folder, "owl.txt"), (100, 50), ["cat", "owl"])
    >>> found.names, found.boxes.round().tolist()
    (['owl'], [[40.0, 15.0, 60.0, 35.0]])
    """
    path, (width, height) = Path(file), size
    lines = [line.split() for line in _read_text(path).splitlines() if line.strip()]
    try:
        kinds = [names[_index(row[0])] for row in lines]
        table = np.array([[float(v) for v in row[1:5]] for row in lines]).reshape(-1, 4)
        is_whole = len(table) == len(lines) and all(len(row) in (5, 6) for row in lines)
        if not is_whole or table.min(initial=0) < 0 or table.max(initial=0) > 1:
            raise ValueError
    except (IndexError, ValueError):
        raise CollectionError(
            f"{str(path)!r} must hold lines of a class number below {len(names)} and four shares "
            "of the picture in [0, 1]; export it again."
        ) from None
    table *= (width, height, width, height)
    corners = np.concatenate([table[:, :2] - table[:, 2:] / 2, table[:, :2] + table[:, 2:] / 2], 1)
    boxes = _check_boxes(path, corners)
    return Objects(path.stem, (width, height), kinds, boxes, np.zeros(len(kinds), dtype=bool))


def write_coco_boxes(
    file: str | os.PathLike[str],
    objects: Sequence[Objects],
    *,
    names: Sequence[str] | None = None,
    scores: Sequence[Any] | None = None,
) -> None:
    """Write what was found in pictures as COCO JSON, with a ``score`` where ``scores`` has them.

    Parameters
    ----------
    file : path
        Written at once or not at all.
    objects : sequence of Objects
    names : sequence of str, optional
        The categories, numbered from 1; those that occur, by name, by default.
    scores : sequence over pictures of arrays, optional
        How sure each box is.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> boxes = np.array([[2, 3, 12, 8]])
    >>> found = Objects("a.jpg", (20, 10), ["owl"], boxes, np.zeros(1, bool))
    >>> with TemporaryDirectory() as folder:
    ...     write_coco_boxes(Path(folder, "found.json"), [found], scores=[[0.75]])
    ...     (again,), names = read_coco_boxes(Path(folder, "found.json"))
    >>> again.boxes.tolist(), names
    ([[2.0, 3.0, 12.0, 8.0]], ['owl'])
    """
    if scores is not None and [len(s) for s in scores] != [len(each.names) for each in objects]:
        raise InvalidArgument("scores of write_coco_boxes must have a number for each box.")
    used = {name for each in objects for name in each.names}
    listed = sorted(used) if names is None else list(names)
    if not used <= set(listed):
        raise InvalidArgument(
            f"names of write_coco_boxes must hold every class; {sorted(used - set(listed))[0]!r} "
            "is missing."
        )
    number = {name: k for k, name in enumerate(listed, start=1)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for i, each in enumerate(objects, start=1):
        size = {} if each.size is None else {"width": each.size[0], "height": each.size[1]}
        images.append({"id": i, "file_name": each.path, **size})
        for k, (name, box) in enumerate(zip(each.names, each.boxes, strict=True)):
            x0, y0, x1, y1 = (float(v) for v in box)
            entry: dict[str, Any] = {
                "id": len(annotations) + 1,
                "image_id": i,
                "category_id": number[name],
                "bbox": [x0, y0, x1 - x0, y1 - y0],
                "area": (x1 - x0) * (y1 - y0),
                "iscrowd": int(each.is_difficult[k]),
            }
            if scores is not None:
                entry["score"] = float(scores[i - 1][k])
            annotations.append(entry)
    categories = [{"id": k, "name": name} for name, k in number.items()]
    content = {"images": images, "annotations": annotations, "categories": categories}
    write_bytes(Path(file), json.dumps(content, allow_nan=False).encode())


def _parse_xml(path: Path) -> ElementTree.Element:
    text = _read_text(path)
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise CollectionError(
            f"{str(path)!r} has a document type or an entity, which annotations have not; "
            "remove it."
        )
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise _unreadable(path, str(error)) from None


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _unreadable(path, f"it is larger than {_MOST_BYTES // 2**20} MB")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise _unreadable(path, error.strerror) from None
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not UTF-8") from None


def _unreadable(path: Path, why: str | None) -> CollectionError:
    return CollectionError(f"{str(path)!r} cannot be read as boxes ({why}); export it again.")


def _text(element: ElementTree.Element, name: str) -> str:
    found = (element.findtext(name) or "").strip()
    if not found:
        raise ValueError(name)
    return found


def _index(word: str) -> int:
    number = int(word)
    if number < 0:
        raise ValueError(word)
    return number


def _check_boxes(path: Path, corners: Any, *, by_sides: bool = False) -> np.ndarray:
    """Return boxes as float32, known to be finite and no less than empty."""
    try:
        boxes = np.array(corners, dtype=np.float64).reshape(-1, 4)
        if len(boxes) != len(corners):
            raise ValueError
    except (TypeError, ValueError):
        boxes = np.full((1, 4), np.nan)
    if by_sides:
        boxes[:, 2:] += boxes[:, :2]
    if not np.isfinite(boxes).all() or (boxes[:, 2:] < boxes[:, :2]).any():
        raise CollectionError(
            f"{str(path)!r} has a box that is not four numbers with its corners in order; "
            "correct it."
        )
    return boxes.astype(np.float32)

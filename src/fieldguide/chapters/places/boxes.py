"""Boxes of what a guide has found, for COCO files, and how they compare with boxes of others."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from fieldguide.chapters.places.records import Located, Place
from fieldguide.datasets.boxes import (
    Objects,
    read_coco_boxes,
    read_voc_boxes,
    read_yolo_boxes,
)
from fieldguide.errors import CollectionError, FieldguideError
from fieldguide.guide.views import FoundSubject
from fieldguide.metrics import corloc, localization_curve

_PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")


SUBJECT = "subject"  # the name of its boxes


class FoundInPicture(NamedTuple):
    """What was found in one picture."""

    path: str
    size: tuple[int, int]  # width and height in px
    located: Located | None  # None where it is not known where the answer comes from
    subject: FoundSubject | None

    def to_objects(self) -> Objects:
        """Return the places and the subject as boxes in pixels."""
        boxes = [place.box for place in self._places] + [s.box for s in self._subjects]
        pixels = np.array(boxes).reshape(-1, 4) * (*self.size, *self.size)
        kind = "" if self.located is None else self.located.kind
        names = [kind] * len(self._places) + [SUBJECT] * len(self._subjects)
        is_difficult = np.zeros(len(names), bool)
        return Objects(self.path, self.size, names, pixels.astype(np.float32), is_difficult)

    @property
    def scores(self) -> list[float]:
        """How sure each box is."""
        sure = [place.score for place in self._places]
        return sure + [subject.confidence for subject in self._subjects]

    @property
    def whole(self) -> tuple[np.ndarray, list[float]]:
        """The boxes of whole things, and how sure they are: the subject, or the places."""
        objects, scores = self.to_objects(), self.scores
        wanted = [SUBJECT] if self._subjects else set(objects.names)
        kept = [j for j, name in enumerate(objects.names) if name in wanted]
        return objects.boxes[kept], [scores[j] for j in kept]

    @property
    def _places(self) -> tuple[Place, ...]:
        return () if self.located is None else self.located.places

    @property
    def _subjects(self) -> tuple[FoundSubject, ...]:
        return () if self.subject is None else (self.subject,)


class Comparison(NamedTuple):
    """What was found beside the boxes of others."""

    n_pictures: int
    average_precision: dict[float, float]  # by overlap
    corloc: float


def read_boxes(path: str | os.PathLike[str]) -> list[Objects]:
    """Read boxes: a COCO JSON file, or a folder of VOC XML files or of YOLO text files.

    A folder of YOLO files holds ``classes.txt``, and the pictures beside the files or in a folder
    ``images`` beside theirs.
    """
    root = Path(path)
    if root.is_file():
        return read_coco_boxes(root)[0] if root.suffix != ".xml" else [read_voc_boxes(root)]
    if not root.is_dir():
        raise CollectionError(
            f"There are no boxes {str(root)!r}; give a COCO JSON file, or a folder of VOC XML or "
            "YOLO text files."
        )
    if found := sorted(root.rglob("*.xml")):
        return [read_voc_boxes(file) for file in found]
    names_file = root / "classes.txt"
    texts = sorted(file for file in root.rglob("*.txt") if file != names_file)
    if not texts or not names_file.is_file():
        raise CollectionError(
            f"{str(root)!r} holds neither VOC XML files nor YOLO text files with classes.txt; give "
            "a folder that does, or a COCO JSON file."
        )
    names = [line.strip() for line in names_file.read_text(encoding="utf-8").splitlines()]
    names = [name for name in names if name]
    return [read_yolo_boxes(file, _picture_size(root, file), names) for file in texts]


def compare_boxes(found: Sequence[FoundInPicture], truth: Sequence[Objects]) -> Comparison:
    """Compare the subjects that were found with the boxes of the same pictures.

    Pictures are matched by path, or by file name where that is unique. Compared are the boxes that
    are named ``subject``, as in what this guide writes itself; else, where any has the name of a
    kind that was looked for, those with the name of their picture's kind; else all of them.
    """
    by_path = {_plain(objects.path): objects for objects in truth}
    stems: dict[str, list[Objects]] = {}
    for objects in truth:
        stems.setdefault(Path(_plain(objects.path)).stem, []).append(objects)
    kinds = {each.located.kind for each in found if each.located is not None}
    names = {name for objects in truth for name in objects.names}
    boxes, finds, scores = [], [], []
    for each in found:
        mine = by_path.get(_plain(each.path))
        alike = stems.get(Path(_plain(each.path)).stem, [])
        if mine is None and len(alike) == 1:
            (mine,) = alike
        if mine is None:
            continue
        wanted = None
        if SUBJECT in names:
            wanted = SUBJECT
        elif each.located is not None and not names.isdisjoint(kinds):
            wanted = each.located.kind
        kept = [wanted is None or name == wanted for name in mine.names]
        boxes.append(mine.boxes[np.array(kept, dtype=bool)])
        finds.append(each.whole[0])
        scores.append(each.whole[1])
    if not any(map(len, boxes)):
        raise FieldguideError(
            f"None of the {len(found):,} pictures has a box in the file; give boxes of the same "
            "pictures, with the same file names."
        )
    precision = {
        overlap: localization_curve(boxes, finds, scores, overlap=overlap).average_precision
        for overlap in (0.5, 0.4)
    }
    return Comparison(len(boxes), precision, corloc(boxes, finds))


def _plain(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")


def _picture_size(root: Path, file: Path) -> tuple[int, int]:
    places = (file.parent, root, root / "images", root.parent / "images")
    for folder in places:
        for suffix in _PICTURES:
            picture = folder / f"{file.stem}{suffix}"
            if picture.is_file():
                with Image.open(picture) as image:
                    return image.size
    raise CollectionError(
        f"There is no picture beside {str(file)!r}: YOLO boxes are shares of it; put the pictures "
        "beside the files or into a folder 'images'."
    )

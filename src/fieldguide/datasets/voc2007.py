"""PASCAL VOC 2007: photographs of 20 classes of objects, each object with its box.

==============  ======================================================
what            where, in VOCdevkit/VOC2007
==============  ======================================================
pictures        JPEGImages/000001.jpg, …
boxes           Annotations/000001.xml, …
splits          ImageSets/Main/train.txt, val.txt, trainval.txt, test.txt
==============  ======================================================

The test pictures are an archive of their own that unpacks into the same folders.

Reference: M. Everingham et al., "The PASCAL visual object classes (VOC) challenge", IJCV 88 (2010).
"""

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fieldguide._check import check_choice
from fieldguide.collection import Collection
from fieldguide.datasets._release import check_folder, pack_attributes, pick_images, read_lines
from fieldguide.datasets.boxes import read_voc_boxes
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_RELEASE = "PASCAL VOC 2007"
_SPLITS = ("train", "val", "trainval", "test")
CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa"),
    *("train", "tvmonitor"),
)

_DESCR = """PASCAL VOC 2007: photographs with boxes of objects

{n} pictures, those of {split}, with {n_objects} objects of {n_classes} classes.
Attributes: whether an object of the class is in the picture, objects marked difficult left out.
Boxes: x0, y0, x1, y1 in pixels, counted from 0, the last two exclusive.
Order: that of {split}.txt.
"""


def load_voc2007(folder: str | os.PathLike[str], split: str = "trainval") -> "Bunch":
    """List the photographs of PASCAL VOC 2007 with their objects.

    Nothing is decoded.

    Parameters
    ----------
    folder : path
        The folder that holds ``JPEGImages``, or one of the two around it (``VOCdevkit``,
        ``VOC2007``).
    split : {"train", "val", "trainval", "test"}

    Returns
    -------
    sklearn.utils.Bunch
        ``images`` : Collection of the n pictures; each is decoded when asked for.

        ``attributes`` : uint8 array of shape (n, 20), 1 where the class is in the picture; also
        ``data``.

        ``attribute_names`` : list of str, the 20 classes; also ``target_names``.

        ``boxes`` : list of n float32 arrays of shape (k, 4), x0, y0, x1, y1 of each object.

        ``box_targets`` : list of n int arrays of shape (k,), the class of each object.

        ``is_difficult`` : list of n bool arrays of shape (k,).

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout, or a listed file is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fieldguide.datasets import load_voc2007
    >>> text = '''<annotation><filename>000005.jpg</filename><object><name>bird</name><bndbox>
    ...   <xmin>3</xmin><ymin>1</ymin><xmax>9</xmax><ymax>7</ymax></bndbox></object></annotation>'''
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
    ...         Path(folder, name).mkdir(parents=True)
    ...     Path(folder, "JPEGImages/000005.jpg").touch()
    ...     _ = Path(folder, "Annotations/000005.xml").write_text(text)
    ...     _ = Path(folder, "ImageSets/Main/train.txt").write_text("000005")
    ...     voc = load_voc2007(folder, "train")
    >>> voc.boxes[0].tolist(), int(voc.attributes[0].sum()), voc.target_names[voc.box_targets[0][0]]
    ([[2.0, 0.0, 9.0, 7.0]], 1, 'bird')
    """
    check_choice("load_voc2007", "split", split, _SPLITS)
    given = check_folder(_RELEASE, folder)
    homes = [given / "VOCdevkit" / "VOC2007", given / "VOC2007", given]
    root = next((home for home in homes if (home / "JPEGImages").is_dir()), None)
    if root is None:
        raise CollectionError(
            f"{str(given)!r} is not {_RELEASE}: neither it nor VOCdevkit/VOC2007 in it holds "
            "JPEGImages; give the folder of the unpacked release."
        )
    numbers = [line.split()[0] for line in read_lines(root / "ImageSets" / "Main" / f"{split}.txt")]
    objects = [read_voc_boxes(root / "Annotations" / f"{number}.xml") for number in numbers]
    known = {name: k for k, name in enumerate(CLASSES)}
    unknown = next((name for each in objects for name in each.names if name not in known), None)
    if unknown is not None:
        raise CollectionError(
            f"An annotation in {str(root / 'Annotations')!r} names the class {unknown!r}, which "
            f"{_RELEASE} has not; unpack the release again."
        )
    targets = [np.array([known[name] for name in each.names], dtype=np.int64) for each in objects]
    attributes = np.zeros((len(numbers), len(CLASSES)), dtype=np.uint8)
    for i, (each, target) in enumerate(zip(objects, targets, strict=True)):
        attributes[i, target[~each.is_difficult]] = 1
    listed = Collection.from_folder(root / "JPEGImages", kinds="none")
    paths = [f"{number}.jpg" for number in numbers]
    images = pick_images(listed, _RELEASE, f"{split}.txt", paths, [""] * len(paths))
    return pack_attributes(
        attributes,
        CLASSES,
        images=replace(images, items=tuple(replace(item, kind=None) for item in images.items)),
        target_names=list(CLASSES),
        boxes=[each.boxes for each in objects],
        box_targets=targets,
        is_difficult=[each.is_difficult for each in objects],
        DESCR=_DESCR.format(
            n=len(numbers),
            split=split,
            n_objects=sum(len(each.names) for each in objects),
            n_classes=len(CLASSES),
        ),
    )

"""The pools of "Features in Concert" on CIFAR-10 and Caltech-101, computed once and kept.

==============  ================================================================================
I         50    5 clusters of each class of CIFAR-10, HOG and SVM, 300 images of each class
I + II   160    and 11 windows × 10 classes, of the same images
III     2000    the 1000 ImageNet outputs of the whole picture and of its centre
all     2160    the three
full    6160    the same with all six windows
==============  ================================================================================

A pool has images of its own, which neither learner nor test sees. I and II are those of CIFAR-10
for both data sets, as the seed lends CIFAR's to videos; the maps of III to [0, 1] are fitted on
50 of the same images of each class, or on the 468 of Caltech's background.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.problems.classifier_pool import Pictures, read_folder
from fieldguide.features.classifier_pool import ClassifierPool

FOLDER = Path("out/bench/concert/pools")
N_OWN, N_MAPS = 300, 50  # images of each class of CIFAR-10 for I and II, and for the maps of III
N_KEPT = 40  # images of each class of Caltech-101, for learner and test together
COLUMNS = {
    "I (50)": slice(0, 50),
    "I + II (160)": slice(0, 160),
    "III (2000)": slice(160, 2160),
    "I + II + III (2160)": slice(0, 2160),
    "full (6160)": slice(0, 6160),
}


class Pool(NamedTuple):
    """Outputs of all classifiers for the pictures that learner and test draw from."""

    F: np.ndarray  # (n, 6160) float32 in [0, 1], memory-mapped
    y: np.ndarray  # (n,)
    is_test: np.ndarray  # (n,); all False where each draw makes its own split


def load_pool(data: Path, name: str, folder: Path = FOLDER) -> Pool:
    """Return the outputs of the pools for ``name``, computed at the first call."""
    parts = [folder / f"{name}_{part}.npy" for part in ("y", "is_test", "F")]
    if not parts[-1].exists():
        pictures, is_test = _choose_pictures(data, name)
        F = _describe(data, name, pictures.images)
        folder.mkdir(parents=True, exist_ok=True)
        for path, array in zip(parts, (pictures.y, is_test, F), strict=True):
            fresh = path.with_suffix(".part.npy")
            np.save(fresh, array)
            os.replace(fresh, path)
    y, is_test, F = (np.load(path, mmap_mode="r") for path in parts)
    return Pool(F, np.array(y), np.array(is_test))


def _choose_pictures(data: Path, name: str) -> tuple[Pictures, np.ndarray]:
    if name == "cifar10":
        learner = _read_cifar(data, "train").part(N_OWN, 10**9)
        test = _read_cifar(data, "test")
        every = Pictures(learner.images + test.images, np.concatenate([learner.y, test.y]))
        return every, np.arange(len(every.y)) >= len(learner.y)
    kinds = sorted(
        path.name
        for path in (data / "caltech101").iterdir()
        if path.is_dir() and not path.name.startswith("BACKGROUND")
    )
    every = read_folder(data / "caltech101", kinds).part(0, N_KEPT)
    return every, np.zeros(len(every.y), dtype=bool)


def _describe(data: Path, name: str, images: list) -> np.ndarray:
    own = _read_cifar(data, "train").part(0, N_OWN)
    trained = ClassifierPool(kind=("clusters", "windows")).fit(own.images, own.y)
    mapped = own.part(0, N_MAPS).images
    if name != "cifar10":
        mapped = sorted((data / "caltech101" / "BACKGROUND_Google").glob("*.jpg"))
    outputs = ClassifierPool(kind="outputs").fit(mapped)
    return np.concatenate([trained.transform(images), outputs.transform(images)], axis=1)


def _read_cifar(data: Path, part: str) -> Pictures:
    folder = data / "cifar10" / part
    return read_folder(folder, sorted(path.name for path in folder.iterdir()))

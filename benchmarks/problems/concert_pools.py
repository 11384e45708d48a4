"""The pools of "Features in Concert" on CIFAR-10 and Caltech-101, computed once and kept.

==============  ================================================================================
I         50    5 clusters of each class of CIFAR-10, HOG and SVM, 300 images of each class
I + II   160    and 11 windows × 10 classes, of the same images
III     2000    the 1000 ImageNet outputs of the whole picture and of its centre
all     2160    the three
full    6160    the same with all six windows
==============  ================================================================================

Specimen clips (``load_specimen_clips``) have III alone: kinds with at least 12 clips, 10 frames of
each, a clip being a shot; the maps are fitted on the first frames of 200 other clips.

Outputs are kept in 256 levels, 33 MB for both sets of images.

A pool has images of its own, which neither learner nor test sees. I and II are those of CIFAR-10
for both data sets, as the seed lends CIFAR's to videos; the maps of III to [0, 1] are fitted on
50 of the same images of each class, or on the 468 of Caltech's background.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.problems.classifier_pool import Pictures, read_folder
from fieldguide.datasets import load_specimen_clips
from fieldguide.features.classifier_pool import ClassifierPool

FOLDER = Path("out/bench/concert/pools")
N_OWN, N_MAPS = 300, 50  # images of each class of CIFAR-10 for I and II, and for the maps of III
N_KEPT = 40  # images of each class of Caltech-101, for learner and test together
N_CLIPS, N_FRAMES = 60, 10  # of each action, and of each clip
LEAST_SHOTS, MOST_SHOTS = 12, 16  # of each kind
COLUMNS = {
    "I (50)": slice(0, 50),
    "I + II (160)": slice(0, 160),
    "III (2000)": slice(160, 2160),
    "I + II + III (2160)": slice(0, 2160),
    "full (6160)": slice(0, 6160),
}


class Pool(NamedTuple):
    """Outputs of all classifiers for the pictures that learner and test draw from."""

    F: np.ndarray  # (n, 6160) float32 in [0, 1]; (n, 2000) of clips
    y: np.ndarray  # (n,)
    is_test: np.ndarray  # (n,); all False where each draw makes its own split
    shot: np.ndarray  # (n,); images are shots of one frame


def load_pool(data: Path, name: str, folder: Path = FOLDER) -> Pool:
    """Return the outputs of the pools for ``name``, computed at the first call."""
    parts = [folder / f"{name}_{part}.npy" for part in ("y", "is_test", "shot", "F")]
    if not parts[-1].exists():
        *labels, F = describe_clips() if name == "clips" else _describe_pictures(data, name)
        folder.mkdir(parents=True, exist_ok=True)
        for path, array in zip(parts, (*labels, np.rint(255 * F).astype(np.uint8)), strict=True):
            fresh = path.with_suffix(".part.npy")
            np.save(fresh, array)
            os.replace(fresh, path)
    y, is_test, shot, F = (np.load(path) for path in parts)
    return Pool(F / np.float32(255), y, is_test, shot)


def _describe_pictures(data: Path, name: str) -> tuple[np.ndarray, ...]:
    pictures, is_test = _choose_pictures(data, name)
    return pictures.y, is_test, np.arange(len(is_test)), _describe(data, name, pictures.images)


def describe_clips(
    n_clips: int = N_CLIPS,
    n_frames: int = N_FRAMES,
    shots: tuple[int, int] = (LEAST_SHOTS, MOST_SHOTS),
    size_px: int = 96,
) -> tuple[np.ndarray, ...]:
    """Return kinds, no test, shots and outputs of the frames of drawn clips.

    Kinds with fewer than the least number of ``shots`` are left out; of the others, at most the
    largest number is taken.
    """
    found = load_specimen_clips(n_clips, n_frames, size_px)
    kinds = np.array(found.kinds)
    kept = [
        i
        for kind, count in zip(*np.unique(kinds, return_counts=True), strict=True)
        if count >= shots[0]
        for i in np.flatnonzero(kinds == kind)[: shots[1]]
    ]
    others = load_specimen_clips(max(n_clips - 10, 3), 2, size_px, random_state=1)
    outputs = ClassifierPool(kind="outputs", windows=("whole", "centre"))
    outputs.fit(list(others.clips[:, 0]))
    F = outputs.transform([frame for i in kept for frame in found.clips[i]])
    y = np.repeat(kinds[kept], n_frames)
    return y, np.zeros(len(y), dtype=bool), np.repeat(np.arange(len(kept)), n_frames), F


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

"""Three problems of two sides from real pictures, as histograms of visual words."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from fieldguide.features import BagOfWords

BIRDS = ["emu", "flamingo", "flamingo_head", "ibis", "pigeon", "rooster"]
ANIMALS = (
    *("Leopards", "ant", "bass", "beaver", "butterfly", "cougar_body", "cougar_face", "crab"),
    *("crayfish", "crocodile", "crocodile_head", "dalmatian", "dolphin", "dragonfly", "elephant"),
    *("gerenuk", "hawksbill", "hedgehog", "kangaroo", "llama", "lobster", "mayfly", "nautilus"),
    *("octopus", "okapi", "panda", "platypus", "rhino", "scorpion", "sea_horse", "starfish"),
    *("tick", "wild_cat", *BIRDS),
)
NO_OBJECT = "BACKGROUND_Google"
PROBLEMS = ("birds", "animals", "trucks")
FOLDERS = ("caltech101", "cub200", "cifar10")
SMALL = {"step_px": 2, "bin_sizes_px": (2, 3, 4, 6)}  # windows of pictures of 32 pixels


class Problem(NamedTuple):
    """One of the problems with a number of words."""

    name: str
    n_words: int
    tiny: bool = False

    def count(self) -> tuple[int, int, int]:
        """Return how many pictures of each side find words, train, and train or test."""
        return (4, 9, 15) if self.tiny else (100, 150, 350)

    def split(
        self, X: np.ndarray, split: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return rows and sides ±1 to train on, and to test on."""
        half = len(X) // 2
        rng = np.random.default_rng([split, PROBLEMS.index(self.name)])
        order = [rng.permutation(half) + side * half for side in (0, 1)]
        _, n_train, n_both = self.count()
        train = np.concatenate([part[:n_train] for part in order])
        test = np.concatenate([part[n_train:n_both] for part in order])
        y = np.where(np.arange(len(X)) < half, 1.0, -1.0)
        return X[train], y[train], X[test], y[test]


def describe(cells: Path, data: Path | None, problem: Problem) -> np.ndarray | None:
    """Return histograms of the positives, then of as many negatives, each with sum 1.

    None if they are not kept and there are no pictures.
    """
    path = cells / f"{problem.name}-{problem.n_words}.npy"
    if not path.exists():
        if data is None or not all((data / folder).is_dir() for folder in FOLDERS):
            return None
        n_apart, n_pool = (4, 15) if problem.tiny else (100, 400)
        sides = [draw_files(files, n_apart + n_pool) for files in list_files(data, problem.name)]
        windows = SMALL if problem.name == "trucks" else {}
        bag = BagOfWords(problem.n_words, pyramid=((1, 1),), n_examples=0, n_jobs=1, **windows)
        bag.fit([path for side in sides for path in side[:n_apart]])
        rows = bag.transform([path for side in sides for path in side[n_apart:]])
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, rows)
    rows = np.load(path).astype(np.float64)
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-12)


def list_files(data: Path, name: str) -> tuple[list[Path], list[Path]]:
    """Return the pictures of the positives and of the negatives."""
    if name == "trucks":
        both = ("truck", "automobile")
        files = [
            [p for part in ("train", "test") for p in find_files(data / "cifar10" / part / kind)]
            for kind in both
        ]
        return files[0], files[1]
    kinds = [folder for folder in sorted((data / "caltech101").iterdir()) if folder.is_dir()]
    objects = [folder for folder in kinds if folder.name != NO_OBJECT]
    others = BIRDS if name == "birds" else ANIMALS
    negatives = [p for folder in objects if folder.name not in others for p in find_files(folder)]
    if name == "birds":
        return find_files(data / "cub200" / "images"), negatives
    return [p for f in objects if f.name in ANIMALS for p in find_files(f)], negatives


def find_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png"))


def draw_files(files: list[Path], n: int) -> list[Path]:
    order = np.random.default_rng(0).permutation(len(files))
    return [files[i] for i in order[:n]]

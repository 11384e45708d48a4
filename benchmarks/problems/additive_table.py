"""Average precision and number of visual words of selectors, on three problems of real pictures.

| problem | positives | negatives |
|---|---|---|
| birds | CUB-200 | Caltech-101 without its birds and its background |
| animals | animals of Caltech-101 | its other kinds, without the background |
| trucks | trucks of CIFAR-10 | its automobiles |

Histograms of 1,000 words in the whole picture. The words are found in 100 pictures of each side
that are used for nothing else. A split draws 150 pictures of each side to train on and 200 others
to test on, of 400 of each side. Every method chooses its C by three folds of the training rows, by
average precision. The univariate score is the F statistic of a bin; it keeps as many bins as FS-χ²
did on the same split, and the χ² SVM is trained on them. The last row trains the χ² SVM, without
weights, on the bins of FS-χ² itself.

Histograms, then splits, are kept in out/bench/additive, so that a run goes on where it was stopped.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.measures import save
from fieldguide.features import BagOfWords
from fieldguide.select import AdditiveKernelSelector
from fieldguide.svm import KernelSVM, LinearSVM

CELLS = Path("out/bench/additive")
BIRDS = ["emu", "flamingo", "flamingo_head", "ibis", "pigeon", "rooster"]
ANIMALS = (
    *("Leopards", "ant", "bass", "beaver", "butterfly", "cougar_body", "cougar_face", "crab"),
    *("crayfish", "crocodile", "crocodile_head", "dalmatian", "dolphin", "dragonfly", "elephant"),
    *("gerenuk", "hawksbill", "hedgehog", "kangaroo", "llama", "lobster", "mayfly", "nautilus"),
    *("octopus", "okapi", "panda", "platypus", "rhino", "scorpion", "sea_horse", "starfish"),
    *("tick", "wild_cat", *BIRDS),
)
NO_OBJECT = "BACKGROUND_Google"
SELECT_C = (0.02, 0.06, 0.2, 0.6, 2.0)
METHODS: dict[str, tuple[Any, tuple[float, ...]]] = {
    "linear SVM": (LinearSVM(loss="hinge"), (1e1, 1e2, 1e3, 1e4, 1e5)),
    "χ² SVM": (KernelSVM(kernel="chi2"), (1e0, 1e1, 1e2, 1e3, 1e4)),
    "MKL-χ²": (AdditiveKernelSelector("chi2", normalize=False), (1e1, 1e2, 1e3, 1e4, 1e5)),
    "FS-linear": (AdditiveKernelSelector("linear"), SELECT_C),
    "FS-χ²": (AdditiveKernelSelector("chi2"), SELECT_C),
    "FS-intersection": (AdditiveKernelSelector("intersection"), SELECT_C),
}
TOP, AGAIN = "top by F, χ² SVM", "words of FS-χ², χ² SVM"
PROBLEMS = ("birds", "animals", "trucks")


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = {"n_words": 30, "n_apart": 4, "n_train": 9, "n_test": 6, "n_pool": 15} if tiny else {}
    splits = range(1 if tiny else 10)
    folders = ("caltech101", "cub200", "cifar10")
    if data is None or not all((data / folder).is_dir() for folder in folders):
        return {"skipped": "it needs --data with caltech101, cub200 and cifar10"}
    cells = CELLS.with_name("additive-tiny") if tiny else CELLS
    rows = []
    for name in PROBLEMS:
        found = [measure_split(cells, data, name, split, **sizes) for split in splits]
        for method in found[0]:
            row = {key: [cell[method][key] for cell in found] for key in found[0][method]}
            rows.append({"problem": name, "method": method, **row})
    return {"n_splits": len(splits), "rows": rows}


def measure_split(
    cells: Path,
    data: Path,
    name: str,
    split: int,
    *,
    n_words: int = 1000,
    n_apart: int = 100,
    n_train: int = 150,
    n_test: int = 200,
    n_pool: int = 400,
) -> dict[str, dict[str, float]]:
    """Return what every method gets on one split; what its file holds is not done again."""
    path = cells / f"{name}-{split}.json"
    found: dict[str, dict[str, float]] = json.loads(path.read_text()) if path.exists() else {}
    X = describe(cells, data, name, n_words, n_apart, n_pool)
    half = len(X) // 2
    rng = np.random.default_rng([split, PROBLEMS.index(name)])
    order = [rng.permutation(half) + side * half for side in (0, 1)]
    train = np.concatenate([part[:n_train] for part in order])
    test = np.concatenate([part[n_train : n_train + n_test] for part in order])
    y = (np.arange(len(X)) < half).astype(int)

    def try_bins(kept: np.ndarray) -> dict[str, float]:
        A, B = X[train][:, kept], X[test][:, kept]
        return judge(*METHODS["χ² SVM"], A, y[train], B, y[test])

    for method, (estimator, grid) in METHODS.items():
        if method not in found:
            found[method] = judge(estimator, grid, X[train], y[train], X[test], y[test])
            save(path, found)
    if TOP not in found:
        found[TOP] = try_bins(rank_bins(X[train], y[train])[: int(found["FS-χ²"]["bins"])])
    if AGAIN not in found:
        selector = AdditiveKernelSelector("chi2", C=found["FS-χ²"]["C"])
        found[AGAIN] = try_bins(selector.fit(X[train], y[train]).get_support())
    save(path, found)
    return found


def rank_bins(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the bins by the F statistic of two classes of equal size, largest first."""
    between = (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)) ** 2
    within = X[y == 1].var(axis=0) + X[y == 0].var(axis=0)
    return np.argsort(-between / np.maximum(within, 1e-300), kind="stable")


def judge(estimator: Any, grid: tuple[float, ...], X, y, X_test, y_test) -> dict[str, float]:
    """Return average precision, bins and C of an estimator whose C the training rows choose."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(estimator, {"C": grid}, scoring="average_precision", cv=folds).fit(X, y)
    best = search.best_estimator_
    margin = best.decision_function(X_test)
    return {
        "AP": float(average_precision_score(y_test, margin)),
        "bins": float(getattr(best, "n_selected_", X.shape[1])),
        "C": float(search.best_params_["C"]),
    }


def describe(
    cells: Path, data: Path, name: str, n_words: int, n_apart: int, n_pool: int
) -> np.ndarray:
    """Return histograms of the positives, then of as many negatives, each with sum 1."""
    path = cells / f"{name}.npy"
    if not path.exists():
        sides = [draw_files(files, n_apart + n_pool) for files in list_files(data, name)]
        bag = BagOfWords(n_words, pyramid=((1, 1),), n_examples=0, n_jobs=1)
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


def table(result: dict) -> str:
    lines = [
        "| problem | method | AP | ± | words | least | most |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        ap, bins = np.array(row["AP"]), np.array(row["bins"])
        lines.append(
            f"| {row['problem']} | {row['method']} | {ap.mean():.3f} | {ap.std():.3f} "
            f"| {bins.mean():.0f} | {bins.min():.0f} | {bins.max():.0f} |"
        )
    return "\n".join(lines)

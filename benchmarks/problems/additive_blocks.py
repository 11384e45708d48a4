"""Which block of features matters? Weights of five descriptors for twenty kinds of Caltech-101.

Words, edges (HOG) and colours alone, then with texture (local binary patterns) and a network's
output. Three splits: 15 photographs of each kind to train on and 15 others to test on. Histograms
have the χ² kernel, the network's output the linear one; the words are found in photographs of other
kinds. A block alone, and all with equal weights, are the same classifier with the weights held, and
all have the same C. Accuracy is the mean over kinds.
"""

from pathlib import Path

import numpy as np

from fieldguide.features import (
    BagOfWords,
    ColorHistogram,
    DeepFeatures,
    LocalBinaryPatterns,
    SpatialHOG,
)
from fieldguide.select import MultipleKernelClassifier

FEATURES = {
    "words": BagOfWords(500, pyramid=((1, 1),), n_examples=0, n_jobs=1),
    "edges": SpatialHOG(),
    "colours": ColorHistogram(),
    "texture": LocalBinaryPatterns(),
    "network": DeepFeatures(n_jobs=1),
}
LINEAR = "network"
SETS = (("words", "edges", "colours"), tuple(FEATURES))
C = 10.0


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None or not (data / "caltech101").is_dir():
        return {"skipped": "it needs --data with caltech101"}
    n_kinds, n_train, n_test, n_splits = (3, 4, 2, 1) if tiny else (20, 15, 15, 3)
    kinds, files, others = choose_files(data, n_kinds, n_train + n_test)
    y = np.repeat(np.arange(n_kinds), n_train + n_test)
    parts = {name: describe(name, files, others) for name in FEATURES}
    rows = []
    for split in range(n_splits):
        rng = np.random.default_rng(split)
        order = [rng.permutation(np.flatnonzero(y == kind)) for kind in range(n_kinds)]
        train = np.concatenate([part[:n_train] for part in order])
        test = np.concatenate([part[n_train:] for part in order])
        for names in SETS:
            weights, accuracy = judge({name: parts[name] for name in names}, y, train, test)
            rows.append({"split": split, "blocks": names, "weights": weights, "accuracy": accuracy})
    return {"kinds": kinds, "rows": rows}


def choose_files(data: Path, n_kinds: int, n_each: int) -> tuple[list[str], list[Path], list[Path]]:
    """Return kinds drawn among those with enough photographs, theirs, and two of each other."""
    folders = [
        folder
        for folder in sorted((data / "caltech101").iterdir())
        if folder.is_dir() and folder.name != "BACKGROUND_Google"
    ]
    found = {folder.name: sorted(folder.glob("*.jpg")) for folder in folders}
    names = [name for name, files in found.items() if len(files) >= n_each]
    drawn = sorted(np.random.default_rng(0).permutation(names)[:n_kinds].tolist())
    others = [path for name in found if name not in drawn for path in found[name][:2]]
    return drawn, [path for name in drawn for path in found[name][:n_each]], others


def describe(name: str, files: list[Path], others: list[Path]) -> np.ndarray:
    """Return the rows of one block; histograms with sum 1."""
    rows = FEATURES[name].fit(others).transform(files).astype(np.float64)
    if name == LINEAR:
        return rows
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-12)


def judge(
    parts: dict[str, np.ndarray], y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> tuple[list[list[float]], dict[str, float]]:
    """Return the weights of each kind, and the accuracy of all blocks and of each alone."""
    X = np.hstack(list(parts.values()))
    ends = np.cumsum([part.shape[1] for part in parts.values()])
    blocks = {
        name: slice(int(end) - part.shape[1], int(end))
        for (name, part), end in zip(parts.items(), ends, strict=True)
    }
    kernel = {name: "linear" if name == LINEAR else "chi2" for name in parts}
    model = MultipleKernelClassifier(blocks, kernel, C=C).fit(X[train], y[train])
    accuracy = {"weighed": float((model.predict(X[test]) == y[test]).mean())}
    alone = {
        name: MultipleKernelClassifier({name: where}, {name: kernel[name]}, C=C)
        for name, where in blocks.items()
    }
    for name, one in alone.items():
        accuracy[name] = float((one.fit(X[train], y[train]).predict(X[test]) == y[test]).mean())
    grams = [block_gram(one, X) for one in alone.values()]
    whole = MultipleKernelClassifier({"equal": slice(0, len(train))}, "precomputed", C=C)
    K = np.mean(grams, axis=0)
    whole.fit(K[train], y[train])
    accuracy["equal weights"] = float((whole.predict(K[test]) == y[test]).mean())
    return np.atleast_2d(model.weights_).tolist(), accuracy


def block_gram(one: MultipleKernelClassifier, X: np.ndarray) -> np.ndarray:
    """Return the kernel of a block, as its classifier scales it, with the training rows."""
    block = one._blocks[0]
    return block.gram(np.ascontiguousarray(X[:, block.columns])) / one.scales_[0]


def table(result: dict) -> str:
    lines = []
    for names in dict.fromkeys(tuple(row["blocks"]) for row in result["rows"]):
        rows = [row for row in result["rows"] if tuple(row["blocks"]) == names]
        weights = np.mean([row["weights"] for row in rows], axis=0)
        best = weights.argmax(axis=1)
        ways = ("weighed", "equal weights")
        both = {way: np.mean([row["accuracy"][way] for row in rows]) for way in ways}
        lines += ["| block | mean weight | heaviest for | accuracy alone |", "|---|---|---|---|"]
        for k, name in enumerate(names):
            alone = np.mean([row["accuracy"][name] for row in rows])
            lines.append(
                f"| {name} | {weights[:, k].mean():.2f} | {(best == k).sum()} kinds | {alone:.3f} |"
            )
        lines += [
            "",
            f"All blocks: weighed {both['weighed']:.3f}, equal weights "
            f"{both['equal weights']:.3f}.",
            "",
        ]
        for k, name in enumerate(names):
            kinds = np.argsort(-weights[:, k], kind="stable")[:3]
            told = ", ".join(f"{result['kinds'][i]} {weights[i, k]:.2f}" for i in kinds)
            lines.append(f"- {name}: {told}")
        lines.append("")
    return "\n".join(lines)

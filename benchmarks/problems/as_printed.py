"""What each method loses or gains as its document prints it, beside our own choice.

| part | rows | spread over |
|---|---|---|
| keys | digits of scikit-learn: 20 of each of 10 to train on, 100 to test | draws |
| relaxed hierarchy | deep features of Caltech-101 (``--data``) too, 101 kinds | splits |
| concert | pool I on CIFAR-10 (``--data``): 50 classifiers, 10 images of each class | draws |
| region selection, CRANE | birds pasted on photographs (``--data``), SLIC, visual words | splits |
| tree of attributes | 1,000 objects of aPascal (``--data``) or drawn rows, 1,000 others | seeds |

Sizes are small: this says what a choice changes, not how good a method is. Of the colours of a
relaxed hierarchy it also counts, of all colourings asked for on the way, those that the printed
procedure ends dearer than the best, and those that break a constraint and are replaced. The
arguments are those of :mod:`benchmarks.printed`; ``±`` is half of a 95 % interval of Student's t.

    python benchmarks/run.py --only as_printed --data DIR
"""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from benchmarks import printed
from benchmarks.documents.item import word_interval
from benchmarks.problems import concert_accuracy, keys, region_selection
from benchmarks.problems.attribute_tree import draw_rows
from benchmarks.problems.concert_pools import COLUMNS, load_pool
from fieldguide.datasets.apascal import load_apascal
from fieldguide.describe import AttributeTree
from fieldguide.errors import FieldguideWarning
from fieldguide.identify import (
    AttentionTreeClassifier,
    RelaxedHierarchyClassifier,
    relative_complexity,
    relaxed_hierarchy,
)
from fieldguide.identify.coloring import color_classes
from fieldguide.identify.printed_coloring import color_as_printed
from fieldguide.locate import CRANE, RegionSelector
from fieldguide.metrics import localization_curve
from fieldguide.select import ConcertClassifier

N_DRAWS, N_SPLITS, N_SEEDS = 5, 3, 3
PRINTED_PRIORS = {k: v for k, v in printed.TREE.items() if k not in ("theta_floor", "max_noise")}
GREEDY = {"C": "cv", "search": "greedy"}
KERNEL = {"kernel": "intersection", "delta": 0.7}
# Each part: its ways, ours first, as the document prints it last.
ATTENTION: dict[str, dict[str, Any]] = {
    "ours, greedy walk": GREEDY,
    "with the hinge loss": GREEDY | {"loss": "hinge"},
    "as printed": printed.ATTENTION,
}
ATTENTION_KERNEL: dict[str, dict[str, Any]] = {
    "ours, greedy walk": GREEDY | KERNEL,
    "as printed": printed.ATTENTION_KERNEL | KERNEL,
}
RELAXED: dict[str, dict[str, Any]] = {
    f"{name}, ρ = {rho}": {"rho": rho, "loss": "hinge", "search": "greedy", **settings}
    for rho in (0.6, 0.9, 1.5)
    for name, settings in (("exact colours", {}), ("as printed", printed.RELAXED))
}
CONCERTS: dict[str, Callable[[int], Any]] = {
    "ours": lambda n: ConcertClassifier(),
    "printed but k = n / 2": lambda n: ConcertClassifier(k=n // 2, **printed.CONCERT),
    "as printed": lambda n: ConcertClassifier(k=min(printed.CONCERT_K, n), **printed.CONCERT),
}
REGIONS: dict[str, Callable[[], Any]] = {
    "ours, cap 1/3, balanced": lambda: RegionSelector(C="cv", C_negative="balanced"),
    "cap 1/3, C₂ = C₁": lambda: RegionSelector(C="cv"),
    "cap 1, balanced": lambda: RegionSelector(C="cv", C_negative="balanced", cap=1.0),
    "as printed": lambda: RegionSelector(C="cv", **printed.REGIONS),
}
CRANES: dict[str, Callable[[], Any]] = {
    "ours": lambda: CRANE(),
    "one nearest": lambda: CRANE(n_nearest=1),
    "as printed": lambda: CRANE(**printed.CRANE),
}
TREES: dict[str, dict[str, Any]] = {
    "ours": {},
    "printed priors, floor 0.001, ω < 1/2": PRINTED_PRIORS | {"theta_floor": 1e-3},
    "the same, any ω": PRINTED_PRIORS | {"theta_floor": 1e-3, "max_noise": 1.0},
    "as printed": printed.TREE,
}


def run(data: Path | None, *, tiny: bool) -> dict:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldguideWarning)  # caps and gaps: the figures tell
        n_draws, n_train = (1, 6) if tiny else (N_DRAWS, 20)
        parts = {
            "attention tree, Δ = 0.6": judge_keys(
                AttentionTreeClassifier, ATTENTION, n_draws, n_train
            ),
            "attention tree, intersection kernel, Δ = 0.7": judge_keys(
                AttentionTreeClassifier, ATTENTION_KERNEL, n_draws, n_train
            ),
            "relaxed hierarchy, digits": judge_keys(
                RelaxedHierarchyClassifier, RELAXED, n_draws, n_train
            ),
        }
        has_pictures = data is not None and (data / "cub200").exists()
        if data is not None and has_pictures and not tiny:
            parts["relaxed hierarchy, Caltech-101"] = judge_hierarchies(data)
            parts["concert, pool I"] = judge_concerts(data)
            parts["region selection and CRANE"] = judge_bags(data)
        parts["tree of attributes"] = judge_trees(data, tiny=tiny)
    return {"parts": parts}


def judge_keys(
    family: Any, ways: dict[str, dict[str, Any]], n_draws: int, n_train: int
) -> dict[str, dict[str, list[float]]]:
    """Return accuracy and cost of keys on digits."""
    X, y = load_digits(return_X_y=True)
    X = 30 * X.astype(np.float64) / np.maximum(X.sum(axis=1, keepdims=True), 1)
    found: dict[str, dict[str, list[float]]] = {}
    ways = ways if n_draws > 1 else dict([*ways.items()][-1:])
    for draw in range(n_draws):
        order = np.random.default_rng(draw).permutation(len(y))
        per_class = [order[y[order] == k] for k in range(10)]
        train = np.concatenate([rows[:n_train] for rows in per_class])
        test = np.concatenate([rows[n_train : n_train + 100] for rows in per_class])
        for name, settings in ways.items():
            figures = judge_key(family(**settings), X[train], y[train], X[test], y[test])
            add(found, name, figures)
    return found


def judge_hierarchies(data: Path) -> dict[str, dict[str, list[float]]]:
    """Return the same of relaxed hierarchies on deep features of Caltech-101."""
    keys.prepare(data, "caltech101 deep")
    X, y = keys.load_rows("caltech101 deep")
    found: dict[str, dict[str, list[float]]] = {}
    for split in range(N_SPLITS):
        train, test = keys.draw_split("caltech101", y, split)
        for name, settings in RELAXED.items():
            key = RelaxedHierarchyClassifier(**settings, max_nodes=keys.NODES)
            add(found, name, judge_key(key, X[train], y[train], X[test], y[test]))
    return found


def judge_key(key: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, float]:
    tally = _Tally()
    with tally:
        key.fit(X, y)
    figures = {
        "accuracy": float(key.score(X_test, y_test)),
        "relative cost": float(relative_complexity(key, X_test).mean()),
        "nodes": float(key.graph_.n_nodes),
    }
    if key.kernel != "linear":
        support = np.diff(key.graph_.functions.coef.indptr)[: key.graph_.n_nodes]
        figures["support vectors of a node"] = float(support.mean())
    if getattr(key, "coloring", "") == "printed":
        figures |= {"dearer, %": tally.dearer, "replaced, %": tally.broken}
    return figures


def add(found: dict[str, dict[str, list[float]]], name: str, figures: Mapping[str, float]) -> None:
    own = found.setdefault(name, {})
    for what, value in figures.items():
        own.setdefault(what, []).append(value)


class _Tally:
    """Counts, while it is open, how the printed procedure ends at the nodes of a hierarchy."""

    def __init__(self) -> None:
        self.n_asked = self.n_dearer = self.n_broken = 0

    def __enter__(self) -> "_Tally":
        relaxed_hierarchy.color_as_printed = self._color
        return self

    def __exit__(self, *_: object) -> None:
        relaxed_hierarchy.color_as_printed = color_as_printed

    def _color(self, minus: np.ndarray, plus: np.ndarray, balance: int) -> np.ndarray:
        found, best = (f(minus, plus, balance) for f in (color_as_printed, color_classes))
        costs = [minus[c < 0].sum() + plus[c > 0].sum() for c in (found, best)]
        is_allowed = found.min() < 0 < found.max() and abs(int(found.sum())) <= balance
        self.n_asked += 1
        self.n_broken += not is_allowed
        self.n_dearer += bool(is_allowed and costs[0] > costs[1] + 1e-9 * abs(costs[1]))
        return found

    @property
    def dearer(self) -> float:
        return 100 * self.n_dearer / max(self.n_asked, 1)

    @property
    def broken(self) -> float:
        return 100 * self.n_broken / max(self.n_asked, 1)


def judge_concerts(data: Path) -> dict[str, dict[str, list[float]]]:
    """Return the accuracy of concerts of the 50 classifiers of pool I."""
    pool = load_pool(data, "cifar10")
    F = np.ascontiguousarray(pool.F[:, COLUMNS["I (50)"]])
    found: dict[str, dict[str, list[float]]] = {}
    for draw in range(N_DRAWS):
        train, test = concert_accuracy.draw_split(pool, 10, concert_accuracy.FIRST_DRAW + draw)
        for name, make in CONCERTS.items():
            model = make(F.shape[1]).fit(F[train], pool.y[train])
            figures = {
                "accuracy": float(model.score(F[test], pool.y[test])),
                "classifiers of a class": float((model.weights_ > 0).sum(axis=1).mean()),
            }
            add(found, name, figures)
    return found


def judge_bags(data: Path, n: int = 20) -> dict[str, dict[str, list[float]]]:
    """Return how well birds are found in photographs that they were pasted on."""
    found: dict[str, dict[str, list[float]]] = {}
    ways = {f"region selection, {name}": make for name, make in REGIONS.items()}
    ways |= {f"CRANE, {name}": make for name, make in CRANES.items()}
    for split in range(N_SPLITS):
        pictures = region_selection.load_pictures(data, "pasted", split, n)
        regions, bags = region_selection.make_describer(pictures)("slic", "words")
        n_train, label = pictures["n_train"], pictures["label"]
        for name, make in ways.items():
            model = make().fit(bags[:n_train], label[:n_train])
            finds = model.locate(bags[n_train:], regions[n_train:])
            curve = localization_curve(
                pictures["boxes"][n_train:],
                [find.boxes for find in finds],
                [find.box_scores for find in finds],
                overlap=0.4,
            )
            decided = model.decision_function(bags[n_train:])
            figures = {
                "box AP .4": curve.average_precision,
                "image AP": region_selection.image_precision(label[n_train:], decided),
            }
            add(found, name, figures)
    return found


def judge_trees(data: Path | None, *, tiny: bool) -> dict[str, dict[str, list[float]]]:
    """Return the likelihood of other rows, and the size of the tree."""
    if data is not None and (data / "apascal").exists() and not tiny:
        A = load_apascal(data / "apascal").attributes
    else:
        A = draw_rows()
    n, n_iter = (40, 3) if tiny else (1000, 300)
    found: dict[str, dict[str, list[float]]] = {}
    for seed in range(1 if tiny else N_SEEDS):
        order = np.random.default_rng(seed).permutation(len(A))
        for name, settings in TREES.items():
            model = AttributeTree(n_iter, 1, random_state=seed).set_params(**settings)
            model.fit(A[order[:n]])
            figures = {
                "log-likelihood of a new row": float(
                    model.score_samples(A[order[n : 2 * n]]).mean()
                ),
                "nodes": float(len(model.tree_)),
                "attributes with ω > 1/2": float((model.sample_.noise > 0.5).sum()),
            }
            add(found, name, figures)
    return found


def table(result: dict) -> str:
    """Return a table for each part: a row for each way, ours first."""
    parts = []
    for part, ways in result["parts"].items():
        whats = list(dict.fromkeys(what for own in ways.values() for what in own))
        lines = [f"| {part} | {' | '.join(whats)} |", "|---" * (len(whats) + 1) + "|"]
        for name, own in ways.items():
            shown = [
                word_interval(own[what], _digits(what)) if what in own else "" for what in whats
            ]
            lines.append(f"| {name} | {' | '.join(shown)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _digits(what: str) -> int:
    if what.startswith(("nodes", "attributes")):
        return 0
    return 2 if "likelihood" in what else 1 if what.endswith(("node", "class", "%")) else 3

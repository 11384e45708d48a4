"""Trees learned from the scores of attribute detectors, beside trees of the annotations themselves.

The paper's Figures 3b and 5b on other pictures, as those of aPascal are not to be had. Detectors
are trained on some rows, and trees are learned from the others: from what is annotated there, from
the detectors' probabilities as they are, and from the same cut at one half. Specimens: half of each
kind to train on; annotations are true of the picture. CUB-200, with ``--data``: 150 species to
train on, the others to learn a tree of; a picture has its species' shares of votes, and its group
is the last word of its name. Agglomerative clustering, by average distance, is cut where it has as
many nodes as ATP. Deep features, and colours at the tiny size. What detectors find, and each cell,
is saved and not computed again.

    python benchmarks/run.py --only attribute_tree_detectors --data DIR
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.problems.attribute_detectors import N_SPECIES
from benchmarks.problems.attribute_tree_cells import CELLS, keep_cell
from benchmarks.problems.attribute_tree_many import PRIOR
from benchmarks.problems.keys import load_rows, prepare, scale_rows
from fieldguide.datasets import load_cub200, load_specimens
from fieldguide.describe import (
    AgglomerativeTree,
    AttributeDetectors,
    AttributeTree,
    BernoulliTree,
)
from fieldguide.features import ColorHistogram, DeepFeatures
from fieldguide.metrics import average_edge_error, locality, purity

LEAST = 5  # rows of either side that an attribute needs in the training part
MEASURES = ("AEE", "purity", "locality", "nodes")
SOURCES = ("annotations", "scores", "scores, cut")


class Found(NamedTuple):
    """What is annotated of the rows that detectors were not trained on, and what they find."""

    annotated: np.ndarray  # (n, n_attributes) bool
    scores: np.ndarray
    kinds: np.ndarray
    taxonomy: Any  # from kind to its groups


def run(data: Path | None, *, tiny: bool) -> dict:
    seeds = range(1 if tiny else 3)
    n_sweeps = 4 if tiny else 200
    detect = {"specimens": partial(_detect_specimens, tiny)}
    if data is not None and not tiny:
        detect["CUB-200"] = partial(_detect_species, data)
    cells = []
    with threadpool_limits(1):
        for name, find in detect.items():
            found = find() if tiny else _keep_scores(name, find)
            for source in SOURCES:
                grow = partial(_grow_cells, name, source, found, n_sweeps, seeds)
                kept = grow() if tiny else keep_cell(f"detectors {name} {source}", grow)
                cells += kept["cells"]
    return {"cells": cells}


def _keep_scores(name: str, find: Callable[[], Found]) -> Found:
    """Return what detectors find, computed only where no file holds it."""
    path = CELLS / f"detectors {name}.npz"
    if not path.exists():
        found = find()
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({str(kind): list(groups) for kind, groups in found.taxonomy.items()})
        np.savez(path, **found._replace(taxonomy=np.array(text))._asdict())
    with np.load(path) as saved:
        known = Found(**{field: saved[field] for field in Found._fields})
    return known._replace(taxonomy=json.loads(str(known.taxonomy)))


def _grow_cells(name: str, source: str, found: Found, n_sweeps: int, seeds: range) -> dict:
    """Grow trees of one evidence by every method, and judge them."""
    A = {
        "annotations": found.annotated,
        "scores": found.scores,
        "scores, cut": found.scores >= 0.5,
    }[source]
    cells = []
    for method, trees in _grow(A.astype(float), n_sweeps, seeds).items():
        judged = [_judge(tree, found.kinds, found.taxonomy) for tree in trees]
        cells.append({"rows": name, "from": source, "method": method, "trees": judged})
    return {"cells": cells}


def _detect_specimens(tiny: bool) -> Found:
    specimens = load_specimens(n_per_kind=6 if tiny else 20, size_px=64 if tiny else 128)
    feature = ColorHistogram() if tiny else DeepFeatures(n_jobs=1)
    X = scale_rows(feature.fit_transform(specimens.images))
    A = specimens.attributes.astype(float)
    train = np.arange(len(X)) < len(X) // 2  # round by round: half of each kind
    kinds = np.array(specimens.target_names)[specimens.target]
    return Found(*_detect(X, A, np.arange(len(X)), train), kinds[~train], specimens.taxonomy)


def _detect_species(data: Path) -> Found:
    prepare(data, "cub200 deep")
    X, y = load_rows("cub200 deep")
    birds = load_cub200(data / "cub200")
    shares = birds.class_attributes.astype(float)
    train = np.isin(y, np.random.default_rng(0).permutation(len(shares))[:N_SPECIES])
    kinds = np.array(birds.target_names)[y]
    return Found(*_detect(X, shares[y], y, train), kinds[~train], birds.taxonomy)


def _detect(X, A, groups, train) -> tuple[np.ndarray, np.ndarray]:
    """Return what is annotated of the rows that detectors were not trained on, and their scores."""
    shown = A >= 0.5
    n_shown = shown[train].sum(axis=0)
    used = np.minimum(n_shown, train.sum() - n_shown) >= LEAST
    detectors = AttributeDetectors().fit(X[train], A[train][:, used], groups[train])
    return shown[~train][:, used], detectors.predict_proba(X[~train])


def _grow(A: np.ndarray, n_sweeps: int, seeds) -> dict[str, list]:
    options = {"n_iter": n_sweeps, "n_chains": 2}
    sampled = {
        "ATP": [AttributeTree(random_state=i, **options, **PRIOR).fit(A) for i in seeds],
        "FBLM": [BernoulliTree(random_state=i, **options).fit(A) for i in seeds],
    }
    n_nodes = int(np.median([len(tree.tree_) for tree in sampled["ATP"]]))
    cut = AgglomerativeTree(n_leaves=max((n_nodes + 1) // 2, 2)).fit(A)
    return {**sampled, "agglomerative": [cut]}


def _judge(tree, kinds: np.ndarray, taxonomy) -> dict[str, float]:
    return {
        "AEE": average_edge_error(tree.tree_, tree.labels_, kinds, taxonomy),
        "purity": purity(tree.labels_, kinds),
        "locality": locality(tree.tree_, tree.labels_, kinds),
        "nodes": len(tree.tree_),
    }


def table(result: dict) -> str:
    lines = [f"| rows | learned from | method | {' | '.join(MEASURES)} |"]
    lines.append("|---" * (3 + len(MEASURES)) + "|")
    for cell in result["cells"]:
        values = [[tree[name] for tree in cell["trees"]] for name in MEASURES]
        shown = [
            f"{np.mean(v):.2f}" + (f" ± {np.std(v):.2f}" if len(v) > 1 else "") for v in values[:-1]
        ]
        shown.append(f"{np.mean(values[-1]):.0f}")
        lines.append(
            f"| {cell['rows']} | {cell['from']} | {cell['method']} | {' | '.join(shown)} |"
        )
    return "\n".join(lines)

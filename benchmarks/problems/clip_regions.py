"""Where and when an action is, learned from labels of whole clips: region selection and rivals.

Clips that our own code draws (24 frames of 96 px; flying, swimming, crawling, hopping), cut into
about 40 supervoxels each, with histograms of 500 space-time words and of flow ("movement"), and of
colours and textures beside them ("all"). The words are found in 4 clips of
each action that are used for nothing else. A split draws, of 20 clips of each action, 10 of each to
train on and judges by the others; the action that is asked for is positive, the others negative.
Only the judge sees boxes. Scenes go with actions, so that a classifier may learn the water instead
of the fish.

C, and the cap where it is chosen, come from the training clips, by the average precision of
held-out ones; positive bags and negative regions weigh the same in sum. The settings of CRANE and
the rule for its threshold were chosen on clips of another seed.

AP is over tubes of connected regions at an overlap in space and time of 1/8 and .5; "right" is the
share of new clips of the action whose best tube overlaps by so much. Means over actions and splits
± half a 95 % interval of Student's t over the splits.

``clip_pictures`` draws the curves, and ten frames of new clips with what is found in them.

Every cell (cut, parts, action, split, method) is saved in ``out/bench/clips`` as soon as it is
known, and not computed again.

    python benchmarks/run.py --only clip_regions
    CLIPS_SPLITS=5 CLIPS_CUT=slic CLIPS_PARTS=movement CLIPS_METHOD=CRANE …
"""

import json
import os
import pickle
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from benchmarks import printed
from benchmarks.curves import AXES, LEVELS, draw_curves, read_curve
from benchmarks.measures import save
from fieldguide.datasets import load_specimen_clips
from fieldguide.errors import FieldguideWarning
from fieldguide.locate import (
    CRANE,
    MISVM,
    MILBoost,
    RegionSelector,
)
from fieldguide.metrics import corloc, localization_curve
from fieldguide.video import SpaceTimeWords, optical_flow, supervoxel_features, supervoxels

CELLS = Path("out/bench/clips")
PICTURES = Path("docs/pictures")
VERSION = 2  # raise it when a cell holds something else
ACTIONS = ("flying", "swimming", "crawling", "hopping")
PARTS = {"movement": ("words", "flow"), "all": ("words", "color", "texture", "flow")}
FAIR: dict[str, Any] = {"C": "cv", "C_negative": "balanced"}
METHODS: dict[str, Any] = {
    "whole clip": 1.0,
    "centre tube": 0.5,  # of each side; a quarter of the frame is about what an animal covers
    "MILBoost": lambda: MILBoost(n_rounds=100),
    "CRANE, printed": lambda: CRANE(**printed.CRANE),
    "CRANE, one nearest": lambda: CRANE(n_nearest=1),
    "CRANE": lambda: CRANE(),
    "MI-SVM, chi2": lambda: MISVM("chi2", **FAIR),
    "region selection, linear, cap 1/3": lambda: RegionSelector("linear", **FAIR),
    "region selection, chi2, printed": lambda: RegionSelector("chi2", C="cv", **printed.REGIONS),
    "region selection, chi2, cap 1": lambda: RegionSelector("chi2", cap=1.0, **FAIR),
    "region selection, chi2, cap 1/3": lambda: RegionSelector("chi2", **FAIR),
    "region selection, chi2, cap chosen": lambda: RegionSelector("chi2", cap="cv", **FAIR),
}
CUTS = ("hierarchical", "slic", "voxels")
# The other segmentations are compared by these alone, on movement.
FEW = (
    "MILBoost",
    "CRANE",
    "MI-SVM, chi2",
    "region selection, linear, cap 1/3",
    "region selection, chi2, printed",
    "region selection, chi2, cap 1/3",
)
OVERLAPS = {"1/8": 1 / 8, ".5": 0.5}
OURS = "region selection, chi2, cap 1/3"
DRAWN = {  # as the document: a grid for actions, merging for objects
    "clip_actions": (
        "voxels",
        "1/8",
        (OURS, "region selection, chi2, printed", "region selection, linear, cap 1/3", "MILBoost"),
    ),
    "clip_crane": ("hierarchical", ".5", (OURS, "CRANE", "CRANE, printed")),
}
COLUMNS = (*(f"AP {key}" for key in OVERLAPS), *(f"right {key}" for key in OVERLAPS), "clip AP")
SIZES = {"n_words": 500, "n_apart": 4, "n_pool": 20, "n_train": 10, "n_frames": 24}
TINY = {"n_words": 20, "n_apart": 1, "n_pool": 4, "n_train": 3, "n_frames": 6}


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = TINY if tiny else SIZES
    cells = CELLS.with_name("clips-tiny") if tiny else CELLS
    n_splits = 1 if tiny else int(os.environ.get("CLIPS_SPLITS", "5"))
    wanted = {what: os.environ.get(f"CLIPS_{what}", "") for what in ("CUT", "PARTS", "METHOD")}
    places = [
        (cut, parts, action, split, method)
        for cut in CUTS[: 1 if tiny else None]
        for split in range(n_splits)
        for parts in (PARTS if cut == CUTS[0] else ("movement",))
        for action in ACTIONS[: 1 if tiny else None]
        for method in (METHODS if cut == CUTS[0] else FEW)
        if wanted["CUT"] in cut and wanted["PARTS"] in parts and wanted["METHOD"] in method
    ]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldguideWarning)  # gaps are no part of the question
        found = [measure(cells, sizes, *place) for place in places]
    draw(found, cells / "pictures" if tiny else PICTURES)
    return {"n_splits": n_splits, **sizes, "cells": found}


def draw(cells: list[dict[str, Any]], folder: Path) -> None:
    """Write the curves of Figures 7 and 8: means over actions and splits."""
    for name, (cut, key, methods) in DRAWN.items():
        curves = {}
        for method in methods:
            own = [c for c in cells if (c["cut"], c["method"]) == (cut, method)]
            own = [c for c in own if c["parts"] == "movement"]
            if own:
                means = np.mean([c[f"curve {key}"] for c in own], axis=0)
                curves[method] = list(zip(LEVELS.tolist(), means.tolist(), strict=True))
        if curves:
            draw_curves(folder / f"{name}.svg", curves, *AXES)


def draw_split(target: np.ndarray, split: int, n_train: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the clips to train on, and the new ones."""
    rng = np.random.default_rng([split, 12])
    order = [rng.permutation(np.flatnonzero(target == k)) for k in range(len(ACTIONS))]
    train, test = (
        [part[some] for part in order] for some in (slice(n_train), slice(n_train, None))
    )
    return np.concatenate(train), np.concatenate(test)


def measure(
    cells: Path, sizes: dict[str, int], cut: str, parts: str, action: str, split: int, method: str
) -> dict[str, Any]:
    """Return one cell; what its file holds is not computed again."""
    name = method.replace("/", "_").replace(", ", "-").replace(" ", "_")
    path = (
        cells
        / f"regions-{sizes['n_pool']}-{VERSION}"
        / f"{cut}-{parts}-{action}-{split}-{name}.json"
    )
    if path.exists():
        return json.loads(path.read_text())
    clips = describe(cells, sizes, cut)
    target = clips["target"]
    train, test = draw_split(target, split, sizes["n_train"])
    is_action = target == ACTIONS.index(action)
    truth = [clips["boxes"][i][None] if is_action[i] else [] for i in test]
    bags = [keep_parts(bag, parts, sizes["n_words"]) for bag in clips["bags"]]
    if "linear" in method:  # rows of length 1, or C would mean another thing than for χ²
        bags = [bag / np.linalg.norm(bag, axis=1)[:, None] for bag in bags]
    started = time.process_time()
    told: dict[str, Any] = {}
    if isinstance(METHODS[method], float):
        tubes = [centre_tube(clips["regions"][i].labels.shape, METHODS[method]) for i in test]
        scores = [np.zeros(1)] * len(test)
    else:
        model = METHODS[method]().fit([bags[i] for i in train], is_action[train])
        finds = model.locate([bags[i] for i in test], [clips["regions"][i] for i in test])
        tubes, scores = [f.tubes for f in finds], [f.tube_scores for f in finds]
        told["clip AP"] = average_precision_score(is_action[test], [f.score for f in finds])
        told["C"] = getattr(model, "C_", None)
    shown = [i for i in range(len(test)) if len(truth[i])]
    cell = {"cut": cut, "parts": parts, "action": action, "split": split, "method": method, **told}
    cell["seconds"] = time.process_time() - started
    for key, overlap in OVERLAPS.items():
        curve = localization_curve(truth, tubes, scores, overlap=overlap)
        cell[f"AP {key}"] = curve.average_precision
        cell[f"curve {key}"] = read_curve(curve).tolist()
        cell[f"right {key}"] = corloc(
            [truth[i] for i in shown], [tubes[i] for i in shown], overlap=overlap
        )
    save(path, cell)
    return cell


def describe(cells: Path, sizes: dict[str, int], cut: str) -> dict[str, Any]:
    """Return frames, regions, bags of all parts, boxes and actions of clips; found once."""
    path = cells / f"regions-{sizes['n_pool']}-{cut}-{VERSION}.pickle"
    if not path.exists():
        n_first = sizes["n_apart"] * len(ACTIONS)
        drawn = load_specimen_clips(
            sizes["n_apart"] + sizes["n_pool"], sizes["n_frames"], random_state=1
        )
        words = SpaceTimeWords(sizes["n_words"], n_descriptors=20_000, n_iter=8)
        words.fit(drawn.clips[:n_first])
        regions, bags = [], []
        for clip in drawn.clips[n_first:]:
            flow = optical_flow(clip)
            regions.append(supervoxels(clip, cut, flow=flow))
            bags.append(supervoxel_features(clip, regions[-1], words, flow=flow))
        kept = {
            "frames": drawn.clips[n_first:],
            "regions": regions,
            "bags": bags,
            "boxes": drawn.boxes[n_first:].astype(float),
            "target": drawn.target[n_first:],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(kept))
    return read_clips(path)


@cache
def read_clips(path: Path) -> dict[str, Any]:
    return pickle.loads(path.read_bytes())


def keep_parts(bag: np.ndarray, parts: str, n_words: int) -> np.ndarray:
    """Return the columns of some parts, rows of sum 1."""
    ends = np.cumsum([n_words, 65, 59, 17])
    starts = ends - [n_words, 65, 59, 17]
    places = [list(PARTS["all"]).index(part) for part in PARTS[parts]]
    rows = np.concatenate([bag[:, starts[k] : ends[k]] for k in places], axis=1)
    return rows / rows.sum(axis=1, keepdims=True)


def centre_tube(shape: tuple[int, ...], share: float) -> np.ndarray:
    """Return one tube in the middle of every frame, with so much of each side."""
    sides = np.array(shape[:0:-1], dtype=float)
    box = np.concatenate([sides * (1 - share) / 2, sides * (1 + share) / 2])
    return np.tile(box, (1, shape[0], 1))


def table(result: dict) -> str:
    lines = [
        f"{result['n_train']} clips of each action to train on, "
        f"{result['n_pool'] - result['n_train']} new ones; {result['n_splits']} splits.",
        "",
        "| segmentation | parts | method | AP at 1/8 | AP at .5 | right at 1/8 | right at .5 "
        "| clip AP | s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    rows: dict[tuple[str, str, str], list] = {}
    for cell in result["cells"]:
        rows.setdefault((cell["cut"], cell["parts"], cell["method"]), []).append(cell)
    for place, mine in rows.items():
        values = [interval(mine, key) if key in mine[0] else "" for key in COLUMNS]
        seconds = np.median([c["seconds"] for c in mine])
        lines.append(f"| {' | '.join([*place, *values])} | {seconds:.1f} |")
    for key in OVERLAPS:
        lines += ["", f"AP at {key} by action:", ""]
        lines.append("| segmentation | parts | method | " + " | ".join(ACTIONS) + " |")
        lines.append("|---" * 7 + "|")
        for place, mine in rows.items():
            by_action = [[c[f"AP {key}"] for c in mine if c["action"] == a] for a in ACTIONS]
            shown = [f"{np.mean(values):.3f}" if values else "" for values in by_action]
            lines.append(f"| {' | '.join([*place, *shown])} |")
    return "\n".join(lines)


def interval(cells: list[dict[str, Any]], key: str) -> str:
    """Return the mean over actions and splits ± half a 95 % interval over splits."""
    splits = sorted({c["split"] for c in cells})
    means = [np.mean([c[key] for c in cells if c["split"] == split]) for split in splits]
    if len(means) < 2:
        return f"{means[0]:.3f}"
    half = student.ppf(0.975, len(means) - 1) * np.std(means, ddof=1) / len(means) ** 0.5
    return f"{np.mean(means):.3f} ± {half:.3f}"

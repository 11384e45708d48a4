"""New kinds in a guide: what ``fieldguide add`` costs beside a training, and what is lost.

The key of a guide, on the rows of both looks, as a guide has them: 24 kinds of specimens and 8 that
are added, Caltech-101 without ten kinds that are added. Up to 20 pictures of each kind are in the
guide, up to 10 are asked about. The key is saved, opened, given its rows again and taught; *stated*
is what the guide says of the added kinds, from their own specimens. Accuracies are means over
kinds; three splits.

Then a whole guide of the specimens, from a folder: seconds of ``add``, and of the build of both
folders into the same guide, which trains the key again. Neither measures an old picture again.

    python benchmarks/run.py --only added_guide --data DIR
"""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.problems.guide_tree import look_at_collections
from fieldguide.datasets import load_specimens
from fieldguide.guide import Guide
from fieldguide.guide.key_choice import KEY_C
from fieldguide.identify import AttentionTreeClassifier
from fieldguide.metrics import mean_class_accuracy

N_ADDED = {"specimens": 8, "Caltech-101": 10}
N_SPLITS, MOST_TRAINED, MOST_TESTED = 3, 20, 10
FIGURES = {
    "old, before": "old kinds before",
    "old, after": "after",
    "old, again": "trained again",
    "new, after": "new kinds, added",
    "stated": "stated",
    "new, again": "trained again",
}


def run(data: Path | None, *, tiny: bool) -> dict:
    seen = {} if tiny else look_at_collections(data, tiny=False)
    rows = [
        measure_key(name, seen[name].X, np.array(seen[name].kinds), split)
        for name in N_ADDED
        if name in seen
        for split in range(N_SPLITS)
    ]
    sizes = (3, 6, 64) if tiny else (12, 32, 224)
    return {"rows": rows, "guide": measure_guide(*sizes, marks=not tiny, places=not tiny)}


def measure_key(name: str, X: np.ndarray, y: np.ndarray, split: int) -> dict[str, Any]:
    """Return the figures of one choice of the kinds that are added."""
    rng = np.random.default_rng(split)
    added = rng.permutation(np.unique(y))[: N_ADDED[name]]
    train, test = [], []
    for kind in np.unique(y):
        order = rng.permutation(np.flatnonzero(y == kind))
        n = min(MOST_TRAINED, 2 * len(order) // 3)
        train += order[:n].tolist()
        test += order[n : n + MOST_TESTED].tolist()
    old, new = (np.array([i for i in train if (y[i] in added) == is_new]) for is_new in (0, 1))
    new_key().fit(X[old[:100]], y[old[:100]]).add_kind(X[new[:20]], y[new[:20]])  # compiles
    key, seconds = timed(lambda: new_key().fit(X[old], y[old]))
    row: dict[str, Any] = {"data": name, "split": split, "fit_s": seconds}
    row["old, before"] = judge(key, X, y, test, added, is_new=False)
    saved, plan = key.to_state(), key.plan_to_state()
    opened = AttentionTreeClassifier.from_state(*saved).resume(X[old], y[old], plan)
    held_out, row["hold_out_s"] = timed(lambda: opened.hold_out_kinds(X[new], y[new]))
    assert held_out is not None
    row["stated"] = held_out.mean_class_accuracy
    grown, row["add_s"] = timed(lambda: opened.add_kind(X[new], y[new]))
    again, row["again_s"] = timed(lambda: new_key().fit(X[train], y[train]))
    for label, judged in (("after", grown), ("again", again)):
        row[f"old, {label}"] = judge(judged, X, y, test, added, is_new=False)
        row[f"new, {label}"] = judge(judged, X, y, test, added, is_new=True)
    return row


def new_key() -> AttentionTreeClassifier:
    return AttentionTreeClassifier(C=KEY_C)


def timed(action: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    value = action()
    return value, time.perf_counter() - started


def judge(
    key: Any, X: np.ndarray, y: np.ndarray, test: list[int], added: np.ndarray, *, is_new: bool
) -> float:
    rows = [i for i in test if (y[i] in added) == is_new]
    return float(mean_class_accuracy(y[rows], key.predict(X[rows])))


def measure_guide(n_per_kind: int, n_kinds: int, size_px: int, **parts: bool) -> dict[str, Any]:
    """Return what a whole guide of specimens takes, a quarter of whose kinds are added."""
    drawn = load_specimens(n_per_kind=n_per_kind, size_px=size_px)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for i, (image, kind) in enumerate(zip(drawn.images, drawn.target, strict=True)):
            if kind < n_kinds:
                part = "more" if kind % 4 == 0 else "first"
                path = root / part / drawn.target_names[kind] / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(image).save(path)
        settings: dict[str, Any] = {"key": "attention", "features": "looks", "n_jobs": 2, **parts}
        first = Guide.build(root / "first", root / "guide", **settings)
        added = first.add(root / "more", n_jobs=2)
        shutil.copytree(root / "more", root / "first", dirs_exist_ok=True)
        again = Guide.build(root / "first", root / "guide", **settings)
        return {
            "n_specimens": again.n_specimens,
            "because": added.about["growth"]["because"],
            **{
                f"{what}: {part}": guide.about[part]
                for what, guide in (("first", first), ("add", added), ("again", again))
                for part in ("seconds", "key_seconds")
            },
        }


def table(result: dict) -> str:
    names = list(dict.fromkeys(row["data"] for row in result["rows"]))
    lines = [
        f"| data | {' | '.join(FIGURES.values())} | seconds: added + held out, trained again |",
        "|---" * (2 + len(FIGURES)) + "|",
    ]
    for name in names:
        rows = [row for row in result["rows"] if row["data"] == name]
        mean = {key: np.mean([row[key] for row in rows]) for key in rows[0] if key != "data"}
        shares = " | ".join(f"{mean[key]:.3f}" for key in FIGURES)
        took = f"{mean['add_s']:.1f} + {mean['hold_out_s']:.1f}, {mean['again_s']:.1f}"
        lines.append(f"| {name} | {shares} | {took} |")
    whole = result["guide"]
    lines += ["", f"A guide of {whole['n_specimens']} specimens. {whole['because']}", ""]
    lines += ["| | seconds | of these, the key |", "|---|---|---|"]
    for what, label in (
        ("first", "build of the first kinds, all measured"),
        ("add", "add, the new kinds measured"),
        ("again", "build of all, nothing measured"),
    ):
        took, key = whole[f"{what}: seconds"], whole[f"{what}: key_seconds"]
        lines.append(f"| {label} | {took:.0f} | {key:.1f} |")
    return "\n".join(lines)

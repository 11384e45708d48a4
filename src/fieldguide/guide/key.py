"""The key of a guide: trained on all labelled specimens, judged on those that it has not seen."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fieldguide._saving import Estimator, unpack
from fieldguide.guide import folder as files
from fieldguide.guide import rows, specimens, words
from fieldguide.guide.familiarity import find_threshold
from fieldguide.guide.key_growth import grow_key, save_plan
from fieldguide.guide.workspace import Workspace
from fieldguide.identify import (
    AttentionTreeClassifier,
    ConfusionTreeClassifier,
    DAGSVMClassifier,
    HeldOut,
    NormalizedCutTreeClassifier,
    OneVsAllClassifier,
    OneVsOneClassifier,
    RelaxedHierarchyClassifier,
)

NAME = "key"
KEYS: dict[str, Any] = {
    "ova": OneVsAllClassifier,
    "ovo": OneVsOneClassifier,
    "attention": AttentionTreeClassifier,
    "relaxed": RelaxedHierarchyClassifier,
    "cut": NormalizedCutTreeClassifier,
    "confusion": ConfusionTreeClassifier,
    "dag": DAGSVMClassifier,
}
_KEY = Estimator(*KEYS.values())
KEY_C = 1.0  # best of 0.1, 0.3, 1, 3 on Caltech-101 and CUB-200 photographs, held out


class Answers(NamedTuple):
    """What the key says of every specimen when it is held out, or has no label."""

    kinds: list[str | None]
    sure: list[float | None]
    key: Any = None  # None with fewer than two kinds


def build(work: Workspace) -> None:
    """Train the key, or let that of the earlier guide grow; without two kinds there is none."""
    started = time.monotonic()
    work.progress("training the key", 0, 1)
    kinds: list[str | None] = work.built[specimens.NAME].kinds
    grown = grow_key(work, _make_key(work))
    if grown is not None:
        key, held_out = grown.key, grown.key.held_out_
        work.built[NAME] = Answers(grown.kinds, grown.sure, key)
    else:
        key, held_out, work.built[NAME] = train_key(work.built[rows.NAME].X, kinds, work)
    work.info["key_seconds"] = round(time.monotonic() - started, 2)
    if key is not None:
        files.write_estimator(work.draft, files.KEY, key)
        save_plan(key, work.draft)
        work.info["familiarity"] = find_threshold(
            work.built[rows.NAME].X, work.built[words.NAME].near
        )
    work.info |= {
        "accuracy": held_out.accuracy if held_out else None,
        "mean_class_accuracy": held_out.mean_class_accuracy if held_out else None,
        "n_folds": held_out.n_folds if held_out else None,
    }
    work.info["settings"] |= {
        "key": type(key).__name__ if key is not None else None,
        "key_C": KEY_C,
    }


def train_key(
    X: np.ndarray, kinds: list[str | None], work: Workspace
) -> tuple[Any, HeldOut | None, Answers]:
    """Train a key on the labelled rows; return it with what it says of every row."""
    n = len(kinds)
    labelled = np.array([i for i, kind in enumerate(kinds) if kind is not None], dtype=np.int64)
    y = np.array([kinds[i] for i in labelled], dtype=str)
    said = Answers([None] * n, [None] * n)
    if len(np.unique(y)) < 2:
        return None, None, said
    key = _make_key(work)
    key.fit(X[labelled], y)
    held_out = key.held_out_
    if held_out is not None:
        told = zip(labelled[held_out.rows], held_out.answer, held_out.sure, strict=True)
        for i, answer, probability in told:
            said.kinds[i], said.sure[i] = str(key.classes_[answer]), float(probability)
    unlabelled = np.setdiff1d(np.arange(n), labelled)
    if len(unlabelled):
        probability = key.predict_proba(X[unlabelled])
        for i, row in zip(unlabelled, probability, strict=True):
            said.kinds[i], said.sure[i] = str(key.classes_[row.argmax()]), float(row.max())
    return key, held_out, said._replace(key=key)


def _make_key(work: Workspace) -> Any:
    return KEYS[work.settings.key](C=KEY_C, n_jobs=work.n_jobs, random_state=work.seed)


def open_key(edition: Path) -> Any:
    """Return the key of a guide; None with fewer than two kinds."""
    if not (edition / f"{files.KEY}.safetensors").exists():
        return None

    def make(arrays: dict[str, np.ndarray], record: dict[str, Any]) -> Any:
        return unpack(_KEY, arrays, record, "key")

    return files.read_model(edition, files.KEY, "key", make)

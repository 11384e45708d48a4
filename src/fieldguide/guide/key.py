"""The key of a guide: trained on all labelled specimens, judged on those that it has not seen."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fieldguide._saving import Estimator, unpack
from fieldguide.features import AttributeMatrix
from fieldguide.features.vocabulary import YES
from fieldguide.guide import folder as files
from fieldguide.guide import rows, specimens, words
from fieldguide.guide.familiarity import Familiarity, find_least_subject, learn_familiarity
from fieldguide.guide.found_kinds import are_found
from fieldguide.guide.key_choice import AUTO, KEYS, fit_key, make_key, read_spec
from fieldguide.guide.key_growth import grow_key, save_plan
from fieldguide.guide.tree_evidence import MEASURED, WRITTEN
from fieldguide.guide.workspace import Workspace
from fieldguide.identify import Choice, HeldOut, OperatingPoint
from fieldguide.metrics import measure_reliability

NAME = "key"
_KEY = Estimator(*KEYS.values())


class Answers(NamedTuple):
    """What the key says of every specimen when it is held out, or has no label."""

    key: Any  # None with fewer than two kinds
    kinds: list[str | None]
    confidence: list[float | None]
    judges: HeldOut | None = None  # whose answers are asked whether labels are right


def build(work: Workspace) -> None:
    """Train the key, or let that of the earlier guide grow; without two kinds there is none."""
    started = time.monotonic()
    work.progress("training the key", 0, 1)
    kinds: list[str | None] = work.built[specimens.NAME].kinds
    is_chosen = read_spec(work.settings.key).name == AUTO
    is_found = are_found(work.info)  # such kinds change with the tree: no key goes on from them
    grown = None if is_found else grow_key(work, None if is_chosen else make_key(work.settings))
    choice: Choice | None
    if grown is not None:
        choice, work.built[NAME] = Choice(grown.key, None, ()), Answers(*grown)
    else:
        choice, work.built[NAME] = train_key(work.built[rows.NAME].X, kinds, work)
    key = None if choice is None else choice.key
    held_out: HeldOut | None = None if key is None else key.held_out_
    work.info["key_seconds"] = round(time.monotonic() - started, 2)
    if choice is not None:
        work.info["key"] = tell_choice(choice, kinds, work.built[NAME])
        files.write_estimator(work.draft, files.KEY, key)
        save_plan(key, work.draft)
        familiarity = learn_familiarity(
            work.built[rows.NAME].X, work.built[words.NAME].near, kinds, work.built[NAME].kinds
        )
        if familiarity is not None:
            files.write_model(work.draft, files.FAMILIARITY, *familiarity.to_state())
    subjects = work.built[rows.NAME].subjects
    work.info["least_subject"] = find_least_subject(None if subjects is None else subjects[:, 4])
    judged = {
        "accuracy": held_out.accuracy if held_out else None,
        "mean_class_accuracy": held_out.mean_class_accuracy if held_out else None,
    }
    if is_found:  # how often the key and the tree agree, which is another thing
        judged = {
            "agreement": judged["accuracy"],
            "mean_class_agreement": judged["mean_class_accuracy"],
            **dict.fromkeys(judged),
        }
    work.info |= {**judged, "n_folds": held_out.n_folds if held_out else None}
    work.info["settings"] |= {
        "key": type(key).__name__ if key is not None else None,
        "key_asked": work.settings.key,
        "key_cost": work.settings.key_cost,
        "key_loss": work.settings.key_loss,
        "key_words": work.settings.key_words,
        "kernel": work.settings.kernel,
        "key_C": None if key is None else key.C_,
    }


def train_key(
    X: np.ndarray, kinds: list[str | None], work: Workspace
) -> tuple[Choice | None, Answers]:
    """Train a key on the labelled rows; return it with what it says of every row."""
    n = len(kinds)
    labelled = np.array([i for i, kind in enumerate(kinds) if kind is not None], dtype=np.int64)
    y = np.array([kinds[i] for i in labelled], dtype=str)
    said = Answers(None, [None] * n, [None] * n)
    if len(np.unique(y)) < 2:
        return None, said
    shares = None
    if work.settings.key_words:
        shares = share_words(work.built[words.NAME].matrix, labelled, y)
    own = X if len(labelled) == n else X[labelled]  # a copy is as large as the collection
    choice = fit_key(own, y, work.settings, shares)
    key = choice.key
    held_out = key.held_out_
    if held_out is not None:
        told = zip(labelled[held_out.rows], held_out.answer, held_out.confidence, strict=True)
        for i, answer, probability in told:
            said.kinds[i], said.confidence[i] = str(key.classes_[answer]), float(probability)
    unlabelled = np.setdiff1d(np.arange(n), labelled)
    if len(unlabelled):
        probability = key.predict_proba(X[unlabelled])
        for i, row in zip(unlabelled, probability, strict=True):
            said.kinds[i], said.confidence[i] = str(key.classes_[row.argmax()]), float(row.max())
    return choice, said._replace(key=key, judges=choice.flat or held_out)


def share_words(matrix: AttributeMatrix, rows: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return how often each kind shows each word of its subject; None where there are no words.

    ``rows`` are the specimens with a kind, and ``y`` are their kinds.
    """
    columns = [j for j, source in enumerate(matrix.sources) if source in (*WRITTEN, *MEASURED)]
    if not columns:
        return None
    shows = matrix.scores[rows][:, columns] >= YES  # nothing that is not known is shown
    return np.stack([shows[y == kind].mean(axis=0) for kind in np.unique(y)])


def tell_choice(choice: Choice, kinds: list[str | None], said: Answers) -> dict[str, Any]:
    """Return what *About* tells of a key: what was tried, what it costs, how sure it may be."""
    told: dict[str, Any] = {
        "tried": [
            {
                "name": each.name,
                "way": each.mean_path,
                "points": [_describe_point(point) for point in each.points],
            }
            for each in choice.tried
        ],
        "point": None if choice.point is None else _describe_point(choice.point),
        "counted": "functions" if choice.key.kernel == "linear" else "kernel values",
    }
    asked = [
        (sure, answer == kind)
        for kind, answer, sure in zip(kinds, said.kinds, said.confidence, strict=True)
        if kind is not None and sure is not None
    ]
    if asked:
        reliability = measure_reliability([s for s, _ in asked], [right for _, right in asked])
        told["calibration_error"] = reliability.error
        told["reliability"] = np.stack(reliability, axis=1).tolist()
    return told


def _describe_point(point: OperatingPoint) -> dict[str, float | None]:
    """Return a point as guide.json has it."""
    return {
        "tolerance": point.tolerance,
        "evaluations": point.evaluations,
        "share": point.relative_cost,
        "accuracy": point.accuracy,
        "gain": point.gain,
        "doubt": point.standard_error,
    }


def open_familiarity(edition: Path, n_specimens: int) -> Familiarity | None:
    """Return how familiar a picture of the guide is at least; None where it is not known."""
    if not (edition / f"{files.FAMILIARITY}.safetensors").exists():
        return None

    def make(arrays: dict[str, np.ndarray], record: dict[str, Any]) -> Familiarity:
        return Familiarity.from_state(arrays, record, n_specimens)

    return files.read_model(edition, files.FAMILIARITY, "familiarity of its specimens", make)


def open_key(edition: Path) -> Any:
    """Return the key of a guide; None with fewer than two kinds."""
    if not (edition / f"{files.KEY}.safetensors").exists():
        return None

    def make(arrays: dict[str, np.ndarray], record: dict[str, Any]) -> Any:
        return unpack(_KEY, arrays, record, "key")

    return files.read_model(edition, files.KEY, "key", make)

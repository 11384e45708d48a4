"""Build a guide: measure every image, put the collection into words, grow the tree, train the key.

The long part, measuring, goes through a journal and can be interrupted at any point. The rest is
computed from the measurements alone, so that a build that was killed and continued ends in the
same guide as one that was not.
"""

import json
import platform
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from fieldguide._check import check_choice
from fieldguide.collection import Collection
from fieldguide.errors import CollectionError, GuideError
from fieldguide.features.network import Network
from fieldguide.features.stack import split_parts
from fieldguide.features.words import YES, AttributeMatrix, WordModel
from fieldguide.guide import folder as files
from fieldguide.guide.annotation import (
    Annotation,
    fill_annotation,
    learn_annotation,
    save_annotation,
)
from fieldguide.guide.catalogue import write_catalogue
from fieldguide.guide.editions import Draft, check_folder
from fieldguide.guide.faults import explained_faults
from fieldguide.guide.gather import (
    Earlier,
    Progress,
    Table,
    collect,
    find_vanished,
    measure_missing,
)
from fieldguide.guide.journal import Journal
from fieldguide.guide.marks import read_known_windows, stage_marks
from fieldguide.guide.places import stage_places
from fieldguide.guide.rows import AUTO, Rows, VanishedError, gather_rows
from fieldguide.guide.summaries import count_confusions, make_branches, make_kinds, typicality
from fieldguide.guide.trees import TREES, grow_tree, judge_tree
from fieldguide.guide.visual_words import stage_visual_words
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

KEYS: dict[str, Any] = {
    "ova": OneVsAllClassifier,
    "ovo": OneVsOneClassifier,
    "attention": AttentionTreeClassifier,
    "relaxed": RelaxedHierarchyClassifier,
    "cut": NormalizedCutTreeClassifier,
    "confusion": ConfusionTreeClassifier,
    "dag": DAGSVMClassifier,
}
KEY_C = 1.0  # best of 0.1, 0.3, 1, 3 on Caltech-101 and CUB-200 photographs, held out
MEASURE_VERSION = 1  # raise it when a measurement changes: old ones are then not used again


@dataclass(frozen=True)
class Settings:
    """What a build depends on besides the collection."""

    seed: int = 0
    embedder: str | None = None
    n_jobs: int = -1
    title: str | None = None
    features: str = AUTO
    key: str = "ova"
    tree: str = "auto"
    marks: bool = True
    recipe: str | None = None  # of the demonstration: which code drew it


def build_guide(collection: Collection, out: Path, settings: Settings, progress: Progress) -> None:
    """Build the guide of ``collection`` in the folder ``out``."""
    started = time.monotonic()
    check_choice("a guide", "key", settings.key, tuple(KEYS))
    check_choice("a guide", "tree", settings.tree, TREES)
    if settings.features != AUTO:
        split_parts(settings.features)
    _check_target(collection, out)
    out.mkdir(parents=True, exist_ok=True)
    progress("opening the network", 0, 1)
    network = Network(settings.embedder)
    measure_settings = f"{MEASURE_VERSION} {network.name} {collection.max_pixels}"
    with explained_faults(out), Journal(out, measure_settings) as journal:
        draft = Draft(out, journal)
        earlier = Earlier.open(out, measure_settings)
        passing = measure_missing(
            *(collection, network, journal, earlier, draft, settings.n_jobs, progress)
        )
        table, rows = _gather(collection, journal, earlier, draft, passing, settings, progress)
        pictures: set[str] = set()
        if settings.marks:
            known = read_known_windows(earlier.folder)
            pictures |= stage_marks(
                *(table, rows.X, rows.stack, network, journal, known, draft, progress),
                seed=settings.seed,
                n_jobs=settings.n_jobs,
            )
        info = _describe(collection, table, rows, settings, network, draft, journal, progress)
        if settings.marks:
            stage_places(
                *(draft, earlier.folder, settings.embedder, network.name, journal, progress),
                seed=settings.seed,
                n_jobs=settings.n_jobs,
            )
        info["measure_settings"] = measure_settings
        info["seconds"] = round(time.monotonic() - started, 1)
        pictures |= stage_visual_words(rows.stack, table.kinds, draft)
        earlier.close()
        draft.publish(info, pictures)
    progress("done", 1, 1)


def _check_target(collection: Collection, out: Path) -> None:
    if collection.folder is not None:
        source, target = collection.folder.resolve(), out.resolve()
        if target == source or source in target.parents:
            raise GuideError(
                f"The guide would be written into the folder of images ({str(out)!r}); choose a "
                "folder outside it with --out."
            )
        if target in source.parents:
            raise GuideError(
                f"The images are inside the folder for the guide ({str(out)!r}); choose another "
                "folder with --out."
            )
    if not collection.items:
        raise CollectionError(
            f"There is no image in {collection.name!r}; give a folder with JPEG, PNG, WebP, GIF, "
            "TIFF or BMP files."
        )
    check_folder(out)


def _gather(
    collection: Collection,
    journal: Journal,
    earlier: Earlier,
    draft: Draft,
    passing: dict[str, str],
    settings: Settings,
    progress: Progress,
) -> tuple[Table, Rows]:
    """Return the measurements and the rows of all specimens that can still be read."""
    while True:
        table = collect(collection, journal, earlier, draft, passing)
        try:
            rows = gather_rows(
                *(collection, table, journal, earlier, draft, progress),
                features=settings.features,
                seed=settings.seed,
                n_jobs=settings.n_jobs,
            )
        except VanishedError as error:
            path, reason = error.args
            passing = passing | {path: reason} | find_vanished(collection)
        else:
            return table, rows


def _describe(
    collection: Collection,
    table: Table,
    rows: Rows,
    settings: Settings,
    network: Network,
    draft: Draft,
    journal: Journal,
    progress: Progress,
) -> dict[str, Any]:
    """Compute and write everything that follows from the measurements; return guide.json."""
    X = rows.X
    progress("finding words", 0, 1)
    annotation, annotated = _read_annotation(collection, table, X, settings)
    words, word_model = _find_words(collection, table, annotated)
    grown = grow_tree(
        *(words, settings.tree),
        seed=settings.seed,
        n_jobs=settings.n_jobs,
        progress=progress,
        work=journal.chains,
    )
    described = grown.described
    progress("training the key", 0, 1)
    key, held_out, answers, sure = _train_key(X, table.kinds, settings)
    progress("writing the guide", 0, 1)
    shows = words.scores >= YES
    branches = make_branches(described, X, table.kinds)
    kinds = make_kinds(table.kinds, answers, X, shows, words.names, described.labels)
    groups = np.array(
        [
            k if k is not None else f"\0{b}"
            for k, b in zip(table.kinds, described.labels, strict=True)
        ]
    )
    write_catalogue(
        draft.new(files.CATALOGUE),
        _specimen_rows(table, described, answers, sure, typicality(X, groups)),
        list(zip(words.names, words.sources, strict=True)),
        ((int(i), int(j), float(words.scores[i, j])) for i, j in np.argwhere(shows)),
        branches,
        kinds,
        table.failed,
    )
    np.save(draft.new(files.feature_file("attributes")), words.scores)
    files.write_record(draft, files.WORDS, word_model.to_dict())
    if annotation is not None:
        save_annotation(annotation, draft)
    if key is not None:
        files.write_estimator(draft, files.KEY, key)
    confusions = sorted(count_confusions(table.kinds, answers).items(), key=lambda p: (-p[1], p[0]))
    recipe = {"recipe": settings.recipe} if settings.recipe else {}
    return recipe | {
        "title": settings.title or collection.name,
        "source": collection.name,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": settings.seed,
        "settings": {
            "embedder": settings.embedder and Path(settings.embedder).name,
            "features": rows.parts,
            "features_asked": settings.features,
            "features_because": rows.why,
            "key": type(key).__name__ if key is not None else None,
            "key_C": KEY_C,
            "tree": grown.about["method"],
            "marks": settings.marks,
        },
        "tree": {**grown.about, **judge_tree(described, table.kinds)},
        "embedder": network.name,
        "versions": _versions(),
        "fingerprint": _fingerprint(table),
        "n_specimens": len(table.records),
        "n_kinds": len(kinds),
        "n_branches": len(branches) - 1,
        "n_words": len(words.names),
        "n_unreadable": len(table.failed),
        "features": [*sorted(table.features), "attributes", *(["rows"] if rows.stack else [])],
        "accuracy": held_out.accuracy if held_out else None,
        "mean_class_accuracy": held_out.mean_class_accuracy if held_out else None,
        "n_folds": held_out.n_folds if held_out else None,
        "confusions": [[kind, answer, n] for (kind, answer), n in confusions],
    }


def _read_annotation(
    collection: Collection, table: Table, X: np.ndarray, settings: Settings
) -> tuple[Annotation | None, np.ndarray | None]:
    """Return detectors of the owner's attributes, and the attributes with their gaps filled."""
    if collection.attributes is None:
        return None, None
    A = np.asarray(collection.attributes[table.item_rows], dtype=np.float64)
    names = collection.attribute_names
    annotation = learn_annotation(X, A, names, seed=settings.seed, n_jobs=settings.n_jobs)
    return annotation, fill_annotation(A, names, annotation, X)


def _find_words(
    collection: Collection, table: Table, annotated: np.ndarray | None
) -> tuple[AttributeMatrix, WordModel]:
    model = WordModel()
    logits = table.features.get("logits")
    words = model.fit_transform(
        None if logits is None else softmax(np.asarray(logits), axis=1),
        np.asarray(table.features["properties"]),
        kinds=table.kinds,
        paths=[record.path for record in table.records],
        keywords=[
            collection.items[row].keywords + record.keywords
            for row, record in zip(table.item_rows, table.records, strict=True)
        ],
        annotated=annotated,
        annotated_names=collection.attribute_names if annotated is not None else None,
    )
    return words, model


def _train_key(
    X: np.ndarray, kinds: list[str | None], settings: Settings
) -> tuple[Any, HeldOut | None, list[str | None], list[float | None]]:
    """Train the key; return it with what it says of every specimen when it is held out."""
    n = len(kinds)
    rows = np.array([i for i, kind in enumerate(kinds) if kind is not None], dtype=np.int64)
    y = np.array([kinds[i] for i in rows], dtype=str)
    sizes = np.unique(y, return_counts=True)[1]
    answers: list[str | None] = [None] * n
    sure: list[float | None] = [None] * n
    if len(sizes) < 2:
        return None, None, answers, sure
    key = KEYS[settings.key](C=KEY_C, n_jobs=settings.n_jobs, random_state=settings.seed)
    key.fit(X[rows], y)
    held_out = key.held_out_
    if held_out is not None:
        told = zip(rows[held_out.rows], held_out.answer, held_out.sure, strict=True)
        for i, answer, probability in told:
            answers[i], sure[i] = str(key.classes_[answer]), float(probability)
    unlabelled = np.setdiff1d(np.arange(n), rows)
    if len(unlabelled):
        probability = key.predict_proba(X[unlabelled])
        for i, row in zip(unlabelled, probability, strict=True):
            answers[i], sure[i] = str(key.classes_[row.argmax()]), float(row.max())
    return key, held_out, answers, sure


def _specimen_rows(table, described, answers, sure, typical) -> list[tuple]:
    return [
        (
            i,
            record.path,
            record.stamp,
            record.digest,
            table.kinds[i],
            record.width,
            record.height,
            record.has_large,
            json.dumps(record.keywords, ensure_ascii=False),
            int(described.labels[i]),
            answers[i],
            sure[i],
            float(typical[i]),
        )
        for i, record in enumerate(table.records)
    ]


def _fingerprint(table: Table) -> str:
    digest = blake2b(digest_size=16)
    for record, kind in zip(table.records, table.kinds, strict=True):
        digest.update(f"{record.path}\0{record.digest}\0{kind}\n".encode())
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    packages = ("fieldguide", "numpy", "scipy", "scikit-learn", "onnxruntime", "Pillow")
    return {"python": platform.python_version()} | {p: metadata.version(p) for p in packages}

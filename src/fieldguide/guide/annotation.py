"""The owner's attributes for images that nobody annotated: detectors learnt from the others.

They fill the gaps of an annotation while a guide is built, and say what a new image shows. A
detector is believed where it ranks held-out specimens well. On the embedded collection they find
more of the attributes of held-out specimens than a vote of the nearest does, and more precisely.

Where whole kinds are not annotated, what they show is judged a kind at a time, as the annotated
kinds are when they are held out (:mod:`fieldguide.describe.group_evidence`): what detects a kind
would else pass for a detector of its attributes. An attribute that is also a word measured of the
subject, such as "mostly red", is measured for them, unless the annotated kinds contradict. The
detectors of new images are then learnt from all kinds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fieldguide.describe import AttributeDetectors, fill_groups, find_agreeing
from fieldguide.features import MAP_WORDS, measure_named, score_maps
from fieldguide.guide import folder as files
from fieldguide.guide import rows, specimens
from fieldguide.guide.summaries import group_kinds, index_kinds
from fieldguide.guide.workspace import Workspace

NAME = "annotation"
LEAST_AUC = 0.75  # held-out area under the ROC curve from which on a detector is believed
_LEAST_ROWS = 20
_SHOWN = 0.5  # score from which on a specimen shows an attribute
_WORD_PLACES = {word.name: j for j, word in enumerate(MAP_WORDS)}


class Filled(NamedTuple):
    """What this chapter hands to the words."""

    attributes: np.ndarray | None  # (n_specimens, n_attributes) without gaps; None without any
    names: tuple[str, ...]
    measured: tuple[str, ...] = ()  # attributes that are measured where a kind has no annotation


class Annotation(NamedTuple):
    """Detectors of the owner's attributes."""

    names: tuple[str, ...]  # of the attributes whose detectors are believed
    columns: np.ndarray  # their places among all
    detectors: AttributeDetectors
    trained: tuple[str, ...]  # the names of all

    def detect(self, X: np.ndarray) -> np.ndarray:
        """Return how far each attribute is shown, (n, len(names)): it is from ½ on."""
        return self.detectors.predict_proba(X)[:, self.columns]


def build(work: Workspace) -> None:
    """Train detectors of the owner's attributes, and fill the gaps of the annotation by them."""
    if work.collection.attributes is None:
        work.built[NAME] = Filled(None, ())
        return
    X, names = work.built[rows.NAME].X, work.collection.attribute_names
    item_rows = work.built[specimens.NAME].item_rows
    A = np.asarray(work.collection.attributes[item_rows], dtype=np.float64)
    groups = group_unannotated(A, work.built[specimens.NAME].kinds)
    measured: tuple[str, ...] = ()
    learnt = A
    if groups is not None:
        given, maps = A, work.built[rows.NAME].maps
        A, measured = fill_kinds(X, given, names, groups, maps)
        learnt = np.where(np.isnan(given) & ~np.isnan(A), A >= _SHOWN, given)
    annotation = learn_annotation(X, learnt, names, seed=work.seed, n_jobs=work.n_jobs)
    work.built[NAME] = Filled(fill_annotation(A, names, annotation, X), names, measured)
    if annotation is not None:
        save_annotation(annotation, work.draft)


def group_unannotated(A: np.ndarray, kinds: Sequence[str | None]) -> np.ndarray | None:
    """Return the number of each row's kind, where some kind has no annotated row; None elsewhere.

    Rows without a kind are groups of their own.
    """
    is_known = ~np.isnan(A).all(axis=1)
    if all(is_known[ids].any() for ids in group_kinds(kinds).values()):
        return None
    index = index_kinds(kinds)
    return np.where(index < 0, -1 - np.arange(len(A)), index)


def fill_kinds(
    X: np.ndarray,
    A: np.ndarray,
    names: Sequence[str],
    groups: np.ndarray,
    maps: np.ndarray | None = None,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the annotation with scores for kinds without any, and which are measured, by name.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
    A : ndarray of shape (n, n_attributes)
        In [0, 1]; NaN where an image is not annotated.
    names : sequence of n_attributes names
    groups : ndarray of shape (n,)
        The kind of each row.
    maps : ndarray of shape (n, MAP_SIZE), optional
        Of the subjects.
    """
    if maps is None:
        return fill_groups(X, A, groups), ()
    filled = fill_groups(X, A, groups, measure_named(maps, names))
    both = [j for j, name in enumerate(names) if name in _WORD_PLACES]
    scores = np.nan_to_num(score_maps(maps))[:, [_WORD_PLACES[names[j]] for j in both]]
    agrees = find_agreeing(scores, A[:, both], groups)
    is_new = np.isnan(A) & ~np.isnan(filled)
    for j, score, is_kept in zip(both, scores.T, agrees, strict=True):
        if is_kept:
            filled[:, j] = np.where(is_new[:, j], score, filled[:, j])
    return filled, tuple(names[j] for j, is_kept in zip(both, agrees, strict=True) if is_kept)


def learn_annotation(
    X: np.ndarray, A: np.ndarray, names: Sequence[str], *, seed: int, n_jobs: int
) -> Annotation | None:
    """Train detectors on annotated rows; None where too little is annotated.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
    A : ndarray of shape (n, n_attributes)
        In [0, 1]; NaN where an image is not annotated.
    names : sequence of n_attributes names
    """
    is_known = ~np.isnan(A)
    used = np.flatnonzero(is_known.sum(axis=0) >= _LEAST_ROWS)
    known = np.flatnonzero(is_known[:, used].any(axis=1))
    if not len(used) or len(known) < _LEAST_ROWS:
        return None
    detectors = AttributeDetectors(n_jobs=n_jobs, random_state=seed)
    detectors.fit(X[known], A[np.ix_(known, used)])
    return _believe(detectors, [names[int(j)] for j in used])


def fill_annotation(
    A: np.ndarray, names: Sequence[str], annotation: Annotation | None, X: np.ndarray
) -> np.ndarray:
    """Return the attributes with what the detectors say where they are missing, else 0."""
    filled: np.ndarray = np.nan_to_num(A, nan=0.0)
    if annotation is None:
        return filled
    place = {name: j for j, name in enumerate(names)}
    used = np.array([place[name] for name in annotation.names], dtype=np.int64)
    lacking = np.flatnonzero(np.isnan(A[:, used]).any(axis=1))
    if not len(lacking):
        return filled
    part = np.ix_(lacking, used)
    filled[part] = np.where(np.isnan(A[part]), annotation.detect(X[lacking]), A[part])
    return filled


def save_annotation(annotation: Annotation, draft: files.NewFiles) -> None:
    """Write the detectors into an edition of a guide."""
    arrays, record = annotation.detectors.set_params(n_jobs=1).to_state()
    settings = {"detectors": record, "names": list(annotation.trained)}
    files.write_model(draft, files.ANNOTATION, arrays, settings)


def open_annotation(folder: Path, n_columns: int) -> Annotation | None:
    """Return the detectors of a guide, or None where it has none."""
    if not (folder / f"{files.ANNOTATION}.safetensors").exists():
        return None

    def make(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Annotation:
        detectors = AttributeDetectors.from_state(arrays, settings["detectors"])
        names = [str(name) for name in settings["names"]]
        if len(names) != detectors.n_attributes_ or detectors.n_features_in_ != n_columns:
            raise ValueError("its parts do not fit together")
        return _believe(detectors, names)

    return files.read_model(folder, files.ANNOTATION, "detectors", make)


def _believe(detectors: AttributeDetectors, names: Sequence[str]) -> Annotation:
    is_good = ~detectors.is_constant_ & (detectors.held_out_.roc_auc >= LEAST_AUC)
    columns = np.flatnonzero(is_good)
    believed = tuple(names[int(j)] for j in columns)
    return Annotation(believed, columns, detectors, tuple(names))

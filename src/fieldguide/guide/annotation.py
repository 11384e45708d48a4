"""The owner's attributes for images that nobody annotated: detectors learnt from the others.

They fill the gaps of an annotation while a guide is built, and say what a new image shows. A
detector is believed where it ranks held-out specimens well. On the embedded collection they find
more of the attributes of held-out specimens than a vote of the nearest does, and more precisely.

Where whole kinds are not annotated, kinds are held out: what detects a kind would else pass for a
detector of its attributes. What such kinds show is then decided by thresholds that were judged by
kinds (:mod:`fieldguide.describe.group_cuts`). An attribute that is also a word measured of the
subject, such as "mostly red", is measured for them, unless the annotated kinds contradict.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fieldguide.describe import AttributeDetectors, GroupCuts, cut_margins, find_agreeing
from fieldguide.features import MAP_WORDS, score_maps
from fieldguide.guide import folder as files
from fieldguide.guide import rows, specimens
from fieldguide.guide.summaries import group_kinds, index_kinds
from fieldguide.guide.workspace import Workspace

NAME = "annotation"
LEAST_AUC = 0.75  # held-out area under the ROC curve from which on a detector is believed
_LEAST_ROWS = 20
_WORD_PLACES = {word.name: j for j, word in enumerate(MAP_WORDS)}


class Filled(NamedTuple):
    """What this chapter hands to the words."""

    attributes: np.ndarray | None  # (n_specimens, n_attributes) without gaps; None without any
    names: tuple[str, ...]
    measured: tuple[str, ...] = ()  # attributes that are measured where a kind has no annotation


class Annotation(NamedTuple):
    """Detectors of the owner's attributes."""

    names: tuple[str, ...]  # of the attributes that are measured, or whose detectors are believed
    columns: np.ndarray  # their places among all
    detectors: AttributeDetectors
    trained: tuple[str, ...]  # the names of all
    cuts: GroupCuts | None  # of all; None where each kind is annotated in part
    measured: tuple[str, ...] = ()  # those of ``names`` that are read from maps of the subject

    def detect(self, X: np.ndarray, maps: np.ndarray | None) -> np.ndarray:
        """Return how far each attribute is shown, (n, len(names)): it is from ½ on."""
        if self.cuts is None:
            return self.detectors.predict_proba(X)[:, self.columns]
        scores = self.cuts.score(self.detectors.decision_function(X))[:, self.columns]
        if self.measured:
            assert maps is not None
            of_maps = np.nan_to_num(score_maps(maps))
            for name in self.measured:
                scores[:, self.names.index(name)] = of_maps[:, _WORD_PLACES[name]]
        return scores


def build(work: Workspace) -> None:
    """Train detectors of the owner's attributes, and fill the gaps of the annotation by them."""
    if work.collection.attributes is None:
        work.built[NAME] = Filled(None, ())
        return
    X, names = work.built[rows.NAME].X, work.collection.attribute_names
    item_rows = work.built[specimens.NAME].item_rows
    A = np.asarray(work.collection.attributes[item_rows], dtype=np.float64)
    groups = group_unannotated(A, work.built[specimens.NAME].kinds)
    maps = work.built[rows.NAME].maps
    annotation = learn_annotation(
        X, A, names, groups=groups, maps=maps, seed=work.seed, n_jobs=work.n_jobs
    )
    measured = () if annotation is None else annotation.measured
    work.built[NAME] = Filled(fill_annotation(A, names, annotation, X, maps), names, measured)
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


def learn_annotation(
    X: np.ndarray,
    A: np.ndarray,
    names: Sequence[str],
    *,
    groups: np.ndarray | None = None,
    maps: np.ndarray | None = None,
    seed: int,
    n_jobs: int,
) -> Annotation | None:
    """Train detectors on annotated rows; None where too little is annotated.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
    A : ndarray of shape (n, n_attributes)
        In [0, 1]; NaN where an image is not annotated.
    names : sequence of n_attributes names
    groups : ndarray of shape (n,), optional
        Rows that are held out together, where others of new groups are to be filled.
    maps : ndarray of shape (n, MAP_SIZE), optional
        Of the subjects.
    """
    is_known = ~np.isnan(A)
    used = np.flatnonzero(is_known.sum(axis=0) >= _LEAST_ROWS)
    known = np.flatnonzero(is_known[:, used].any(axis=1))
    if not len(used) or len(known) < _LEAST_ROWS:
        return None
    detectors = AttributeDetectors(n_jobs=n_jobs, random_state=seed)
    known_A, cuts = A[np.ix_(known, used)], None
    used_names = [names[int(j)] for j in used]
    measured: tuple[str, ...] = ()
    detectors.fit(X[known], known_A, None if groups is None else groups[known])
    if groups is not None:
        cuts = cut_margins(detectors.held_out_margins_, known_A, groups[known])
        if maps is not None:
            measured = _find_measured(maps[known], known_A, used_names, groups[known])
    return _believe(detectors, used_names, cuts, measured)


def fill_annotation(
    A: np.ndarray,
    names: Sequence[str],
    annotation: Annotation | None,
    X: np.ndarray,
    maps: np.ndarray | None = None,
) -> np.ndarray:
    """Return the attributes with what the detectors say where they are missing, else 0."""
    filled = np.nan_to_num(A, nan=0.0)
    if annotation is None:
        return filled
    place = {name: j for j, name in enumerate(names)}
    used = np.array([place[name] for name in annotation.names], dtype=np.int64)
    lacking = np.flatnonzero(np.isnan(A[:, used]).any(axis=1))
    if not len(lacking):
        return filled
    part = np.ix_(lacking, used)
    detected = annotation.detect(X[lacking], None if maps is None else maps[lacking])
    filled[part] = np.where(np.isnan(A[part]), detected, A[part])
    return filled


def save_annotation(annotation: Annotation, draft: files.NewFiles) -> None:
    """Write the detectors into an edition of a guide."""
    arrays, record = annotation.detectors.set_params(n_jobs=1).to_state()
    settings: dict[str, Any] = {
        "detectors": record,
        "names": list(annotation.trained),
        "measured": list(annotation.measured),
    }
    if annotation.cuts is not None:
        cut, settings["slope"] = annotation.cuts
        arrays["cut"] = cut
    files.write_model(draft, files.ANNOTATION, arrays, settings)


def open_annotation(folder: Path, n_columns: int) -> Annotation | None:
    """Return the detectors of a guide, or None where it has none."""
    if not (folder / f"{files.ANNOTATION}.safetensors").exists():
        return None

    def make(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Annotation:
        cut, cuts = arrays.pop("cut", None), None
        detectors = AttributeDetectors.from_state(arrays, settings["detectors"])
        names = [str(name) for name in settings["names"]]
        measured = tuple(str(name) for name in settings.get("measured", ()))
        is_fitting = len(names) == detectors.n_attributes_ and detectors.n_features_in_ == n_columns
        if cut is not None:
            cuts = GroupCuts(cut, float(settings["slope"]))
            is_fitting &= cut.shape == (len(names),)
        if not (is_fitting and set(measured) <= {*names} & {*_WORD_PLACES}):
            raise ValueError("its parts do not fit together")
        return _believe(detectors, names, cuts, measured)

    return files.read_model(folder, files.ANNOTATION, "detectors", make)


def _find_measured(
    maps: np.ndarray, A: np.ndarray, names: Sequence[str], groups: np.ndarray
) -> tuple[str, ...]:
    """Return the attributes that are words of maps too, where annotated groups do not object."""
    both = [j for j, name in enumerate(names) if name in _WORD_PLACES]
    scores = np.nan_to_num(score_maps(maps))[:, [_WORD_PLACES[names[j]] for j in both]]
    agrees = find_agreeing(scores, A[:, both], groups)
    return tuple(names[j] for j, is_kept in zip(both, agrees, strict=True) if is_kept)


def _believe(
    detectors: AttributeDetectors,
    names: Sequence[str],
    cuts: GroupCuts | None,
    measured: tuple[str, ...],
) -> Annotation:
    is_good = ~detectors.is_constant_
    is_good &= detectors.held_out_.roc_auc >= LEAST_AUC if cuts is None else np.isfinite(cuts.cut)
    columns = np.flatnonzero(is_good | np.isin(names, measured))
    believed = tuple(names[int(j)] for j in columns)
    return Annotation(believed, columns, detectors, tuple(names), cuts, measured)

"""The rows by which a guide compares specimens: the network's looks, or a stack of descriptors.

The first look is measured with the specimens. A second one finds the subject and looks closer
(:mod:`fieldguide.features.looks`). It takes about three times as long as all else, and ``auto``
finds out on a sample whether it tells the kinds apart at least as well; without labels it is taken.
It also gives what is seen of the subject, in words, and what the network says of it.

The network knows photographs of everyday things. Where it knows the subject less (microscopy,
drawings, textures), classical descriptors may tell the kinds apart better. Where the looks name
too few specimens of the sample rightly, they are tried too, and taken when clearly better.

What was learnt (words, landmarks, what subjects look like) is kept with the guide as a stack. Rows
go through the journal, so that a build can be interrupted, and rows of unchanged images are taken
from the earlier guide (:mod:`fieldguide.guide.row_measuring`).
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide.errors import GuideError, TooFewWindows
from fieldguide.features import FeatureStack
from fieldguide.features.network import join_names
from fieldguide.features.stack import DEEP, LOOKS, N_FOR_SUBJECT, QUARTERS, split_parts
from fieldguide.guide import folder as files
from fieldguide.guide import specimens
from fieldguide.guide.earlier import Earlier
from fieldguide.guide.journal import Kept, unpack_row
from fieldguide.guide.matrix import MatrixWriter
from fieldguide.guide.row_measuring import (
    KEPT,
    SAID,
    VanishedError,
    decode_item,
    list_kept,
    measure_rows,
    name_entry,
    split_row,
)
from fieldguide.guide.row_weights import choose_weight, draw_labelled, reweigh
from fieldguide.guide.specimens import Table
from fieldguide.guide.summaries import normalise_rows
from fieldguide.guide.workspace import Workspace
from fieldguide.identify import OneVsAllClassifier

NAME = "rows"
AUTO = "auto"
TRIED = ("words+hog+color", "deep+words+hog+color")
GOOD = 0.9  # held-out accuracy of the looks, from which no classical descriptors are tried
BETTER = 0.02  # by which those must beat them, or by two standard errors if that is more
_KINDS_TRIED, _PER_KIND_TRIED, _LEAST_PER_KIND = 25, 16, 4
_SMALL_PX = 512
_COST = 4  # what both looks cost, in units of the first: cells of the network that are computed
_COST_OF_ONE_SIZE = 3  # of a network that takes pictures of one size


class Rows(NamedTuple):
    """What specimens are compared by."""

    X: np.ndarray  # (n_specimens, n_columns) float32, of length 1
    parts: str  # such as "deep" or "words+hog"
    why: str  # one sentence
    stack: FeatureStack | None  # None for "deep" alone
    # Of the second look: box and confidence, (n_specimens, 5), what `measure_subject` sees, and
    # the rows of `map_subject`.
    subjects: np.ndarray | None = None
    seen: np.ndarray | None = None
    maps: np.ndarray | None = None
    said: np.ndarray | None = None  # (n_specimens, n_classes), logarithms of probabilities

    def list_files(self) -> list[str]:
        """Return the names of the feature files that were written."""
        if self.stack is None:
            return []
        return ["rows", *(n for n in (*KEPT, SAID) if getattr(self, n) is not None)]


def build(work: Workspace) -> None:
    """Make the rows of all specimens that can still be read."""
    while NAME not in work.built:
        try:
            work.built[NAME] = gather_rows(work)
        except VanishedError as error:
            specimens.leave_out(work, *error.args)
    rows: Rows = work.built[NAME]
    work.info["settings"] = {
        "embedder": join_names(work.settings.embedder),
        "network": work.network.about,
        "features": rows.parts,
        "features_asked": work.settings.features,
        "features_because": rows.why,
    }


def gather_rows(work: Workspace) -> Rows:
    """Return the rows of all specimens; write what is needed to make rows of new ones.

    Raises
    ------
    VanishedError
        When an image can no longer be read.
    """
    table: Table = work.built[specimens.NAME]
    known = _find_known(work)
    stack: FeatureStack | None = None
    if known is not None:
        parts, why, stack = known
        if stack is not None:
            _follow_landmarks(stack, work)
    else:
        parts, why = work.settings.features, "They were asked for."
        split_parts(parts if parts != AUTO else DEEP)
        if parts == AUTO:
            work.progress("choosing features", 0, 1)
            parts, why, stack = choose_parts(work)
        if parts != DEEP and stack is None:
            stack = _learn_stack(parts, work)
    if stack is None:
        return Rows(normalise_rows(table.features["embedding"]), parts, why, None)
    earlier = Earlier(None, {}) if known is None else work.earlier  # rows of another stack
    kept, sizes = _keep_rows(work, stack), list_kept(table, stack)
    measure_rows(work, stack, kept, earlier, range(len(table.records)))
    before = stack.quarters_weight
    if known is None and QUARTERS in split_parts(parts):
        why += _weigh_quarters(work, stack, kept)
    save_stack(stack, work.draft)
    writers: dict[str, MatrixWriter] = {}
    for record in table.records:
        data = kept.get(name_entry(record))
        if data is None:
            found = {name: earlier.feature(name, name_entry(record)) for name in ("rows", *sizes)}
        else:
            own = split_row(unpack_row(data), sizes)
            found = {**own, "rows": _reweigh(own["rows"], stack, before)}
        for name, part in found.items():
            assert part is not None
            writers.setdefault(name, MatrixWriter(work.draft, name)).add(part)
    for writer in writers.values():
        writer.close()
    matrices = {name: np.asarray(writer.open()) for name, writer in writers.items()}
    kept_besides = (matrices.get(name) for name in (*KEPT, SAID))
    return Rows(matrices["rows"], parts, why, stack, *kept_besides)


def choose_parts(work: Workspace) -> tuple[str, str, FeatureStack | None]:
    """Return the features that tell the kinds apart, why, in one sentence, and what was learnt."""
    table: Table = work.built[specimens.NAME]
    sample, of_kind = draw_labelled(
        table.kinds,
        work.seed,
        least=_LEAST_PER_KIND,
        n_kinds=_KINDS_TRIED,
        n_each=_PER_KIND_TRIED,
    )
    sample = np.sort(sample) if len(np.unique(of_kind)) > 1 else sample[:0]
    has_map = work.network.stride_px is not None
    if not len(sample) and not has_map:
        return DEEP, "The collection has too few labels to compare features by.", None
    if not len(sample):
        why = "The collection has too few labels to compare features by: both looks are taken."
        return LOOKS, why, None
    y = np.array([table.kinds[i] for i in sample])
    embedding = np.asarray(table.features["embedding"][sample])
    accuracy = _judge(normalise_rows(embedding), y)
    best: tuple[str, FeatureStack | None] = (DEEP, None)
    sentence = f"On a sample, the network's first look names {accuracy:.0%} of specimens rightly"
    if has_map:
        stack = _learn_stack(LOOKS, work)
        kept = _keep_rows(work, stack)
        measure_rows(work, stack, kept, Earlier(None, {}), sample.tolist())
        files_of = [name_entry(table.records[i]) for i in sample]
        packed, sizes = [unpack_row(kept[file]) for file in files_of], list_kept(table, stack)
        X = np.stack([split_row(row, sizes)["rows"] for row in packed])
        looks = _judge(X, y)
        cost = _COST if work.network.map_px is None else _COST_OF_ONE_SIZE
        sentence += f", both looks, which take the network {cost} times the work, {looks:.0%}"
        if looks >= accuracy:  # a tie keeps both, which say where the subject is
            best, accuracy = (LOOKS, stack), looks
    else:
        sentence += " (it has no map of places, so there is no second look)"
    if accuracy >= GOOD:
        return best[0], f"{sentence}.", best[1]
    images = [_read(work, i) for i in sample]
    standard_error = np.sqrt(accuracy * (1 - accuracy) / len(sample))
    accuracy += max(BETTER, 2 * standard_error)
    for parts in TRIED:
        try:
            stack = _new_stack(parts, work).fit(images)
        except TooFewWindows:  # pictures of one colour have no visual words
            continue
        tried = _judge(_describe(stack, images, embedding, work.n_jobs), y)
        sentence += f", {parts} {tried:.0%}"
        if tried > accuracy:
            best, accuracy = (parts, None), tried
    return best[0], f"{sentence}.", best[1]


def _weigh_quarters(work: Workspace, stack: FeatureStack, kept: Kept) -> str:
    """Let what is where count as much as names most specimens rightly; return a sentence of it."""
    table: Table = work.built[specimens.NAME]
    drawn, y = draw_labelled(table.kinds, work.seed)
    if len(np.unique(y)) < 2:
        return ""
    work.progress("choosing features", 0, 1)
    sizes = list_kept(table, stack)
    packed = (unpack_row(kept[name_entry(table.records[i])]) for i in drawn)
    X = np.stack([split_row(row, sizes)["rows"] for row in packed])
    part, before = stack.split_columns(X.shape[1])[QUARTERS], stack.quarters_weight
    with one_blas_thread():
        weight = choose_weight(X, part, before, y, seed=work.seed)
    stack.set_params(quarters_weight=weight)
    times = "" if weight == 1 else f"{weight:g} times "
    return f" What is where in a picture counts {times}as much as each other part."


def _reweigh(row: np.ndarray, stack: FeatureStack, before: float) -> np.ndarray:
    """Return a row that was measured when the quarters counted ``before``, as they count now."""
    if stack.quarters_weight == before:
        return row
    part = stack.split_columns(len(row))[QUARTERS]
    reweighed: np.ndarray = reweigh(row[None], part, before, stack.quarters_weight)[0]
    return reweighed


def save_stack(stack: FeatureStack, draft: files.NewFiles) -> None:
    """Write what makes rows of pictures."""
    files.write_model(draft, files.STACK, *_to_state(stack))


def open_rows(edition: Path, about: dict[str, Any]) -> np.ndarray:
    """Return the rows of all specimens."""
    rows = _map_rows(edition, about)
    return rows if _is_stacked(about) else normalise_rows(rows)


def count_columns(edition: Path, about: dict[str, Any]) -> int:
    """Return how many columns the rows have, without reading them."""
    n_columns: int = _map_rows(edition, about).shape[1]
    return n_columns


def _map_rows(edition: Path, about: dict[str, Any]) -> np.ndarray:
    name = "rows" if _is_stacked(about) else "embedding"
    return files.read_features(edition, name, about["n_specimens"])


def open_stack(edition: Path, about: dict[str, Any]) -> FeatureStack | None:
    """Return what makes rows of pictures; None where they are the network's first look."""
    if not _is_stacked(about):
        return None
    return files.read_model(edition, files.STACK, "features", FeatureStack.from_state)


def _is_stacked(about: dict[str, Any]) -> bool:
    features: str = about["settings"].get("features", DEEP)
    return features != DEEP


def _find_known(work: Workspace) -> tuple[str, str, FeatureStack | None] | None:
    """Return what the earlier guide was built with, if it was asked for the same.

    A stack serves whatever has changed since; that there is none was found on the same images.
    Specimens that are added are always described as the others are.
    """
    info, folder = work.earlier.info, work.earlier.folder
    said = info.get("settings", {})
    if said.get("features_asked") != work.settings.features or info.get("seed") != work.seed:
        return None
    if folder is None:
        return None
    try:
        stack = open_stack(folder, info)
    except GuideError:
        return None
    is_same = info.get("fingerprint") == work.info["fingerprint"]
    if stack is None and not is_same and work.settings.adds_to is None:
        return None
    return said["features"], said["features_because"], stack


def _follow_landmarks(stack: FeatureStack, work: Workspace) -> None:
    """Give the landmarks of an earlier stack the numbers that their specimens have now, or −1."""
    place = {record.path: i for i, record in enumerate(work.built[specimens.NAME].records)}
    now = np.array([place.get(each.path, -1) for each in work.earlier.specimens()], dtype=np.int64)
    is_known = (stack.landmark_rows_ >= 0) & (stack.landmark_rows_ < len(now))
    stack.landmark_rows_ = np.where(is_known, now[np.where(is_known, stack.landmark_rows_, 0)], -1)


def _to_state(stack: FeatureStack) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    for each in (stack, *stack.descriptors_.values()):
        each.set_params(n_jobs=1)  # the number of threads belongs to the machine
    return stack.to_state()


def _keep_rows(work: Workspace, stack: FeatureStack) -> Kept:
    """Return where the journal keeps the rows that a stack makes."""
    arrays, settings = _to_state(stack)
    digest = blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(arrays[name].tobytes())
    return work.journal.kept(f"rows {digest.hexdigest()}")


def _read(work: Workspace, i: int) -> Image.Image:
    return decode_item(work.collection, work.built[specimens.NAME].item_rows[i]).image


def _learn_stack(parts: str, work: Workspace) -> FeatureStack:
    """Return a stack that has learnt from the collection."""
    work.progress("learning features", 0, 1)
    n = len(work.built[specimens.NAME].records)
    if parts == LOOKS:
        # A few are enough, and small ones: they are all in memory at once.
        drawn = np.random.default_rng(work.seed).permutation(n)[:N_FOR_SUBJECT]
        few = (_shrink(_read(work, int(i))) for i in np.sort(drawn))
        return _new_stack(parts, work).fit(few, network=work.network)
    images = (_read(work, i) for i in range(n))
    return _new_stack(parts, work).fit(images, network=work.network)


def _shrink(image: Image.Image) -> Image.Image:
    small = image.copy()
    small.thumbnail((_SMALL_PX, _SMALL_PX))
    return small


def _new_stack(parts: str, work: Workspace) -> FeatureStack:
    return FeatureStack(parts, n_jobs=work.n_jobs, random_state=work.seed)


def _judge(X: np.ndarray, y: np.ndarray) -> float:
    """Return the held-out accuracy of a linear key."""
    held_out = OneVsAllClassifier().fit(X, y).held_out_
    assert held_out is not None
    return held_out.accuracy


def _describe(
    stack: FeatureStack, images: Sequence[Any], embedding: np.ndarray, n_jobs: int
) -> np.ndarray:
    rows = map_in_order(
        lambda i: stack.describe([images[i]], embedding[[i]]), range(len(images)), n_jobs=n_jobs
    )
    return np.concatenate(list(rows))

"""The rows by which a guide compares specimens: the network's view, or a stack of descriptors.

The network knows photographs of everyday things. Where it knows the subject less (microscopy,
drawings, textures), classical descriptors may tell the kinds apart better. ``auto`` finds out: if
the network's features name too few specimens of a sample rightly, the others are tried on the
same sample, and taken when they are clearly better.

A stack is learnt once and kept with the guide. Its rows go through the journal, so that a build
can be interrupted, and rows of unchanged images are taken from the earlier guide.
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order
from fieldguide.errors import GuideError, UnreadableImageError
from fieldguide.features.stack import DEEP, FeatureStack, split_parts
from fieldguide.guide import folder as files
from fieldguide.guide import specimens
from fieldguide.guide.earlier import Earlier
from fieldguide.guide.journal import Kept, pack_row, unpack_row
from fieldguide.guide.matrix import MatrixWriter
from fieldguide.guide.measure import BATCH_SIZE, LARGE_PX, Measured
from fieldguide.guide.specimens import Table
from fieldguide.guide.summaries import normalise_rows
from fieldguide.guide.workspace import Workspace
from fieldguide.identify import OneVsAllClassifier

NAME = "rows"
AUTO = "auto"
TRIED = ("words+hog+color", "deep+words+hog+color")
GOOD = 0.9  # held-out accuracy of the network's features from which nothing else is tried
BETTER = 0.02  # by which something else must beat them, or by two standard errors if that is more
_KINDS_TRIED, _PER_KIND_TRIED, _LEAST_PER_KIND = 25, 16, 4


class Rows(NamedTuple):
    """What specimens are compared by."""

    X: np.ndarray  # (n_specimens, n_columns) float32, of length 1
    parts: str  # such as "deep" or "words+hog"
    why: str  # one sentence
    stack: FeatureStack | None  # None for "deep" alone


class VanishedError(Exception):
    """An image that was measured can no longer be read: (path, reason)."""


def build(work: Workspace) -> None:
    """Make the rows of all specimens that can still be read."""
    while NAME not in work.built:
        try:
            work.built[NAME] = gather_rows(work)
        except VanishedError as error:
            specimens.leave_out(work, *error.args)
    rows: Rows = work.built[NAME]
    work.info["settings"] = {
        "embedder": work.settings.embedder and Path(work.settings.embedder).name,
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
    else:
        parts, why = work.settings.features, "They were asked for."
        if parts == AUTO:
            work.progress("choosing features", 0, 1)
            parts, why = choose_parts(work)
        if parts != DEEP:
            work.progress("learning features", 0, 1)
            stack = _new_stack(parts, work).fit(_read(work, i) for i in range(len(table.records)))
    if stack is None:
        return Rows(normalise_rows(table.features["embedding"]), parts, why, None)
    kept = work.journal.kept(f"rows {save_stack(stack, work.draft)}")
    earlier = Earlier(None, {}) if known is None else work.earlier  # rows of another stack
    measure_rows(work, stack, kept, earlier)
    with MatrixWriter(work.draft, "rows") as writer:
        for record in table.records:
            data = kept.get(_file(record))
            row = earlier.row(_file(record)) if data is None else unpack_row(data)
            assert row is not None
            writer.add(row)
    return Rows(np.asarray(writer.open()), parts, why, stack)


def choose_parts(work: Workspace) -> tuple[str, str]:
    """Return the features that tell the kinds apart, and why, in one sentence."""
    table: Table = work.built[specimens.NAME]
    rows = _draw_sample(table.kinds, work.seed)
    if not len(rows):
        return DEEP, "The collection has too few labels to compare features by."
    y = np.array([table.kinds[i] for i in rows])
    embedding = np.asarray(table.features["embedding"][rows])
    deep = _judge(normalise_rows(embedding), y)
    sentence = f"On a sample, the network's features name {deep:.0%} of specimens rightly"
    if deep >= GOOD:
        return DEEP, f"{sentence}."
    images = [_read(work, i) for i in rows]
    standard_error = np.sqrt(deep * (1 - deep) / len(rows))
    best, best_accuracy = DEEP, deep + max(BETTER, 2 * standard_error)
    for parts in TRIED:
        stack = _new_stack(parts, work).fit(images)
        accuracy = _judge(_describe(stack, images, embedding, work.n_jobs), y)
        sentence += f", {parts} {accuracy:.0%}"
        if accuracy > best_accuracy:
            best, best_accuracy = parts, accuracy
    return best, f"{sentence}."


def measure_rows(work: Workspace, stack: FeatureStack, kept: Kept, earlier: Earlier) -> None:
    """Describe what is neither kept in the journal nor in the earlier guide."""
    table: Table = work.built[specimens.NAME]
    done = set(kept)
    todo = [
        i
        for i, record in enumerate(table.records)
        if _file(record) not in done and earlier.row(_file(record)) is None
    ]
    n, n_done = len(table.records), len(table.records) - len(todo)
    batches = [todo[i : i + BATCH_SIZE] for i in range(0, len(todo), BATCH_SIZE)]

    def describe(batch: list[int]) -> list[tuple[str, bytes]]:
        images = [_read(work, i) for i in batch]
        rows = stack.describe(images, np.asarray(table.features["embedding"][batch]))
        return [(_file(table.records[i]), pack_row(r)) for i, r in zip(batch, rows, strict=True)]

    work.progress("describing images", n_done, n)
    for rows in map_in_order(describe, batches, n_jobs=work.n_jobs):
        kept.write(rows)
        n_done += len(rows)
        work.progress("describing images", n_done, n)


def save_stack(stack: FeatureStack, draft: files.NewFiles) -> str:
    """Write a stack; return a digest of what it says."""
    for each in (stack, *stack.descriptors_.values()):
        each.set_params(n_jobs=1)  # the number of threads belongs to the machine
    arrays, settings = stack.to_state()
    digest = blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(arrays[name].tobytes())
    files.write_model(draft, files.STACK, arrays, settings)
    return digest.hexdigest()


def open_stack(folder: Path, n_jobs: int = 1) -> FeatureStack:
    """Return the stack of a guide."""
    stack = files.read_model(folder, files.STACK, "features", FeatureStack.from_state)
    return stack.set_params(n_jobs=n_jobs)


def _find_known(work: Workspace) -> tuple[str, str, FeatureStack] | None:
    """Return the stack of the earlier guide, if it has one and was asked for the same."""
    info, folder = work.earlier.info, work.earlier.folder
    said = info.get("settings", {})
    if said.get("features_asked") != work.settings.features or info.get("seed") != work.seed:
        return None
    if said["features"] == DEEP or folder is None:
        return None
    try:
        return said["features"], said["features_because"], open_stack(folder)
    except GuideError:
        return None


def _file(record: Measured) -> str:
    return f"{record.path}\0{record.stamp}"


def _read(work: Workspace, i: int) -> Image.Image:
    table: Table = work.built[specimens.NAME]
    try:
        return work.collection.picture(table.item_rows[i], at_least_px=LARGE_PX)[0].image
    except UnreadableImageError as error:
        raise VanishedError(table.records[i].path, str(error)) from None


def _new_stack(parts: str, work: Workspace) -> FeatureStack:
    split_parts(parts)
    return FeatureStack(parts, n_jobs=work.n_jobs, random_state=work.seed)


def _draw_sample(kinds: Sequence[str | None], seed: int) -> np.ndarray:
    """Return specimens of a few kinds, as many of each as there are up to a limit."""
    rng = np.random.default_rng(seed)
    members: dict[str, list[int]] = {}
    for i, kind in enumerate(kinds):
        if kind is not None:
            members.setdefault(kind, []).append(i)
    large = [rows for _, rows in sorted(members.items()) if len(rows) >= _LEAST_PER_KIND]
    if len(large) < 2:
        return np.empty(0, dtype=np.int64)
    chosen = np.sort(rng.permutation(len(large))[:_KINDS_TRIED])
    parts = [rng.permutation(large[k])[:_PER_KIND_TRIED] for k in chosen]
    return np.sort(np.concatenate(parts))


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

"""The field marks of each kind: found while a guide is built, read when it is open.

A guide keeps what every specimen shows of the columns that marks are chosen from (``pool.py``), the
fold that each was dealt to (``choosing.py``), and which marks are said of each kind
(``saying.py``). What sets one kind apart from others is counted from these when it is asked for
(``model.py``). Patterns without a name are found on a sample (``patterns.py``).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.special import softmax

from fieldguide._parallel import map_in_order
from fieldguide.chapters.marks import patterns
from fieldguide.chapters.marks.choosing import Measured
from fieldguide.chapters.marks.model import Marks, Said
from fieldguide.chapters.marks.pool import OWNER, SOURCES, Column, Observed, Pool, read_pool
from fieldguide.chapters.marks.records import ImageMarks, NetworkClass, PatternMark
from fieldguide.chapters.marks.saying import N_SAID, count_enough, drop_repeats
from fieldguide.features import COLOURS, MEASURES
from fieldguide.features.network import N_CLASSES
from fieldguide.features.vocabulary import class_names
from fieldguide.guide import annotation, rows, specimens, words
from fieldguide.guide import folder as files
from fieldguide.guide.annotation import Filled
from fieldguide.guide.apart import N_FOLDS, Passed, deal_folds
from fieldguide.guide.measure import picture_names
from fieldguide.guide.rows import Rows
from fieldguide.guide.shelf import open_picture
from fieldguide.guide.specimens import Table
from fieldguide.guide.summaries import group_kinds, index_kinds
from fieldguide.guide.visual_words import encode_patches
from fieldguide.guide.words import Words
from fieldguide.guide.workspace import Workspace

NAME = "marks"
ANSWER = ImageMarks
FILE = "models/marks"
STEP = "finding marks"
N_CLASSES_SHOWN = 5
_ADDRESS = re.compile(r"pictures/marks/[0-9a-f]{32}\.png")


def build(work: Workspace) -> None:
    """Find the marks of each kind and write them."""
    work.info["settings"]["marks"] = work.settings.marks
    table: Table = work.built[specimens.NAME]
    members = group_kinds(table.kinds)
    if not work.settings.marks or len(members) < 2:
        return
    work.progress(STEP, 0, len(members))
    index = index_kinds(table.kinds)
    model = Marks(tuple(members), index, deal_folds(index, work.seed), _read_pool(work), ())
    found = find_patterns(work, index)
    classes = _list_classes(_read_said(work), index, len(members))
    unknown = _list_unknown(work, index, model.pool.columns)
    said = []

    def choose(k: int) -> tuple[list[Passed], int]:
        kept = drop_repeats(model.find_passed(k), model.pool.columns, model.shown[k])
        own, other = np.flatnonzero(index == k), np.flatnonzero((index >= 0) & (index != k))
        chosen = kept[:N_SAID]
        return chosen, count_enough(chosen, model.pool.shows, own, other, work.seed)

    for k, (chosen, n_sufficient) in enumerate(
        map_in_order(choose, range(len(members)), n_jobs=work.n_jobs)
    ):
        columns = tuple(p.column for p in chosen)
        said.append(Said(columns, n_sufficient, found[k], classes[k], unknown[k]))
        work.progress(STEP, k + 1, len(members))
    save_marks(replace(model, said=tuple(said)), work.draft)
    work.pictures |= {pattern.picture for each in said for pattern in each.patterns}


def find_patterns(work: Workspace, index: np.ndarray) -> list[tuple[PatternMark, ...]]:
    """Return the patterns of each kind, found on a sample, and write their pictures."""
    found: Rows = work.built[rows.NAME]
    ids = patterns.draw_sample(index, found.X)
    images = [_open_picture(work, i) for i in ids]
    own_bag = None if found.stack is None else found.stack.descriptors_.get("words")
    bag = own_bag or patterns.learn_vocabulary(images, work.seed, work.n_jobs)
    n_kinds = index.max() + 1
    if bag is None:
        return [()] * n_kinds
    seen = patterns.find_words(bag, images, work.n_jobs)
    if found.subjects is not None:
        boxes = found.subjects[ids, :4]
        seen = [patterns.keep_inside(*each) for each in zip(seen, boxes, strict=True)]
    listed: list[tuple[PatternMark, ...]] = []
    for k, passed in enumerate(patterns.find_patterns(seen, bag.n_words, index[ids], work.seed)):
        own = np.flatnonzero(index[ids] == k).tolist()
        entries = []
        for each in passed:
            few = [images[i] for i in own], [seen[i] for i in own]
            patches = patterns.cut_patches(*few, each.column)
            address = work.draft.shelf.keep("marks", encode_patches(patches), "png")
            entries.append(PatternMark(address, len(patches), *each[1:]))
        listed.append(tuple(entries))
    return listed


def save_marks(model: Marks, draft: files.NewFiles) -> None:
    """Write what a guide knows of marks."""
    arrays = {
        "index": model.index,
        "folds": model.folds.astype(np.uint8),
        "shows": np.packbits(model.pool.shows, axis=1),
    }
    if model.pool.measured is not None:
        arrays |= model.pool.measured._asdict()
    settings = {
        "columns": [list(column) for column in model.pool.columns],
        "kinds": [
            {
                "kind": kind,
                "said": list(said.columns),
                "enough": said.n_sufficient,
                "patterns": [pattern.__dict__ for pattern in said.patterns],
                "classes": [list(each) for each in said.classes],
                "unknown": list(said.unknown),
            }
            for kind, said in zip(model.kinds, model.said, strict=True)
        ],
    }
    files.write_model(draft, FILE, arrays, settings)


def open_part(edition: Path, about: dict[str, Any]) -> Marks | None:
    """Return what a guide knows of marks, every value checked; None for a guide without."""
    if not (edition / f"{FILE}.json").exists():
        return None

    def make(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Marks:
        return _read_marks(arrays, settings, about["n_specimens"])

    return files.read_model(edition, FILE, "marks", make)


def _read_pool(work: Workspace) -> Pool:
    table: Table = work.built[specimens.NAME]
    found: Rows = work.built[rows.NAME]
    said: Words = work.built[words.NAME]
    observed = Observed(
        _read_said(work),
        np.asarray(table.features["properties"]),
        found.seen,
        found.maps,
    )
    return read_pool(
        *(said.model, said.matrix, said.near, observed),
        left_out=said.doubtful,
        n_jobs=work.n_jobs,
    )


def _read_said(work: Workspace) -> np.ndarray | None:
    said = words.read_said(work)
    return None if said is None or said.shape[1] != N_CLASSES else said


def _list_classes(
    said: np.ndarray | None, index: np.ndarray, n_kinds: int
) -> list[tuple[NetworkClass, ...]]:
    """Return what the network calls the pictures of each kind, of its own classes."""
    if said is None:
        return [()] * n_kinds
    listed = []
    for k in range(n_kinds):
        mean = softmax(said[index == k], axis=1).mean(axis=0)
        best = np.argsort(-mean, kind="stable")[:N_CLASSES_SHOWN]
        listed.append(tuple(NetworkClass(class_names()[j], float(mean[j])) for j in best))
    return listed


def _list_unknown(
    work: Workspace, index: np.ndarray, columns: Sequence[Column]
) -> list[tuple[int, ...]]:
    """Return the columns of attributes that nobody annotated in any specimen of each kind."""
    n_kinds, attributes = index.max() + 1, work.collection.attributes
    if attributes is None:
        return [()] * n_kinds
    rows_of = work.built[specimens.NAME].item_rows
    lacking = np.isnan(np.asarray(attributes[rows_of], dtype=np.float64))
    filled: Filled = work.built[annotation.NAME]
    places = {name: j for j, name in enumerate(filled.names) if name not in filled.measured}
    own = [(j, places[c.text]) for j, c in enumerate(columns) if _is_annotated(c, places)]
    listed = []
    for k in range(n_kinds):
        is_unknown = lacking[index == k].all(axis=0)
        listed.append(tuple(j for j, attribute in own if is_unknown[attribute]))
    return listed


def _is_annotated(column: Column, places: dict[str, int]) -> bool:
    return column.source == OWNER and column.text in places


def _open_picture(work: Workspace, i: int) -> Image.Image:
    record = work.built[specimens.NAME].records[i]
    address = picture_names(record.digest, record.has_large)[1]
    return open_picture(work.draft.root, address).convert("RGB")


def _read_marks(arrays: dict[str, np.ndarray], settings: dict[str, Any], n: int) -> Marks:
    """Return the marks from what was written; KeyError, ValueError, TypeError if damaged."""
    columns = tuple(
        Column(
            str(text),
            _check(source, source in SOURCES),
            tuple(_check(colour, colour in COLOURS) for colour in colours),
            str(part),
            *map(str, same_as),
        )
        for text, source, colours, part, *same_as in settings["columns"]
    )
    index, folds = arrays["index"], arrays["folds"]
    kinds = tuple(str(entry["kind"]) for entry in settings["kinds"])
    _check("index", index.shape == folds.shape == (n,) and index.dtype == np.int32)
    _check("index", index.min(initial=0) >= -1 and index.max(initial=-1) == len(kinds) - 1)
    _check("folds", folds.dtype == np.uint8 and folds.max(initial=0) < N_FOLDS)
    packed = arrays["shows"]
    _check("shows", packed.dtype == np.uint8 and packed.shape == (n, -(-len(columns) // 8)))
    shows = np.unpackbits(packed, axis=1, count=len(columns)).astype(bool)
    measured = None
    if "measures" in arrays:
        measured = Measured(arrays["measures"], arrays["around"])
        _check("measures", _is_measured(measured.measures, (n, len(MEASURES))))
        _check("around", _is_measured(measured.around, (n, len(COLOURS))))
    said = tuple(_read_kind(entry, len(columns)) for entry in settings["kinds"])
    pool = Pool(columns, shows, measured)
    return Marks(kinds, index, folds.astype(np.int64), pool, said)


def _is_measured(values: np.ndarray, shape: tuple[int, int]) -> bool:
    return values.shape == shape and values.dtype.kind == "f" and not np.isinf(values).any()


def _read_kind(entry: dict[str, Any], n_columns: int) -> Said:
    chosen, unknown = (
        tuple(int(_check(j, isinstance(j, int) and 0 <= j < n_columns)) for j in listed)
        for listed in (entry["said"], entry.get("unknown", ()))
    )
    found = tuple(
        PatternMark(
            _check(each["picture"], _ADDRESS.fullmatch(each["picture"])),
            *(int(each[name]) for name in ("n_patches", "n_own", "of_own", "n_other", "of_other")),
        )
        for each in entry["patterns"]
    )
    classes = tuple(
        NetworkClass(_check(name, name in class_names()), float(share))
        for name, share in entry["classes"]
    )
    return Said(chosen, int(entry["enough"]), found, classes, unknown)


def _check(value: Any, is_fine: Any) -> Any:
    if not is_fine:
        raise ValueError(f"{value!r} is not what it should be")
    return value

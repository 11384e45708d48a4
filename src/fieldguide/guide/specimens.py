"""The specimens: every image of the collection, measured once in its life.

What an earlier guide or an interrupted build has measured already is taken from there; images that
the owner has excluded are left out.
"""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from fieldguide._parallel import map_in_order
from fieldguide.collection import Collection, Item, Taken
from fieldguide.errors import CollectionError
from fieldguide.guide.earlier import find_size
from fieldguide.guide.edits.hand import Hand, SpecimenIndex, read_hand
from fieldguide.guide.edits.records import SPECIMEN
from fieldguide.guide.matrix import MatrixWriter
from fieldguide.guide.measure import BATCH_SIZE, Measured, list_pictures
from fieldguide.guide.owner import save_owned
from fieldguide.guide.shards import measure_images
from fieldguide.guide.workspace import Workspace

NAME = "specimens"


@dataclass
class Table:
    """The measured collection: one row per specimen, and the files that could not be read."""

    records: list[Measured]  # without their arrays
    kinds: list[str | None]
    item_rows: list[int]  # row of each specimen in the collection
    features: dict[str, np.ndarray]
    failed: list[tuple[str, str, str]]  # path, reason, stamp
    passing: dict[str, str]  # files that could not be read for a reason of the moment, and why
    hand: Hand  # what the owner has edited of these specimens
    n_excluded: int


def build(work: Workspace) -> None:
    """Measure what is not known yet, and lay out all of it as a table."""
    passing = measure_missing(work)
    work.earlier.recognise(work.journal.digests())
    read_missing_headers(work)
    table = collect(work, passing)
    if work.settings.adds_to is not None:
        check_added(work, table)
    store(work, table)


def leave_out(work: Workspace, path: str, reason: str) -> None:
    """Take a file that can no longer be read, and all that have vanished with it, off the table."""
    passing = work.built[NAME].passing
    store(work, collect(work, passing | {path: reason} | find_vanished(work.collection)))


def store(work: Workspace, table: Table) -> None:
    """Hand the table to the other chapters, and keep what the owner said of its specimens."""
    work.built[NAME] = table
    save_owned(work.collection, table.item_rows, work.draft)
    work.info |= {
        "title": _to_text(work.settings.title or work.collection.name),
        "source": _to_text(work.collection.name),
        "seed": work.seed,
        "embedder": work.network.name,
        "fingerprint": _fingerprint(table),
        "n_specimens": len(table.records),
        "n_unreadable": len(table.failed),
        "n_captions": work.collection.n_captions,
        "other_files": work.collection.others,
        "kinds_because": work.collection.kinds_because,
        "images": _find_folder(work),
        "labels": _tell_labels(work),
        "update": tell_update(work, table),
    }
    if table.n_excluded:
        work.info["n_excluded"] = table.n_excluded


def _to_text(text: str) -> str:
    """Return a text as a file can hold it."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def tell_update(work: Workspace, table: Table) -> dict[str, int] | None:
    """Return how many pictures were measured and how many were known; None for a first build."""
    if not work.earlier.info:
        return None
    before = dict(work.earlier.list_contents())
    contents = set(before.values())
    now = {record.path: record.digest for record in table.records}
    known = {path for path, digest in now.items() if digest in contents}
    kept = sum(before.get(path) == now[path] for path in known)
    gone = contents.difference(now.values())
    return {
        "measured": len(now) - len(known),
        "kept": kept,
        "moved": len(known) - kept,
        "gone": sum(digest in gone for digest in before.values()),
    }


def _find_folder(work: Workspace) -> str | None:
    """Return where the images are, from the folder of the guide; None where that has no name."""
    source = work.collection.folder
    if source is None:  # arrays, or specimens that were added to: the images are where they were
        return work.earlier.info.get("images") if work.settings.adds_to is not None else None
    return _seen_from_guide(source, work)


def _tell_labels(work: Workspace) -> dict[str, Any] | None:
    """Return the rule by which kinds were found, where the sidecar is, and of bursts that they
    were joined."""
    given = work.collection
    if given.folder is None:
        return work.earlier.info.get("labels") if work.settings.adds_to is not None else None
    sidecar = None if given.sidecar is None else _seen_from_guide(given.sidecar, work)
    bursts = {"bursts": True} if given.bursts else {}
    return {"kinds": given.kinds_rule, "sidecar": sidecar, **bursts}


def _seen_from_guide(place: Path, work: Workspace) -> str | None:
    """Return where a file or folder is, from the folder of the guide; None without a name."""
    try:
        found = os.path.relpath(os.path.realpath(place), os.path.realpath(work.draft.root))
    except ValueError:  # another drive
        return None
    return found if found.encode("utf-8", "replace").decode() == found else None


def check_added(work: Workspace, table: Table) -> None:
    """Refuse to add images none of which can be read."""
    known = {each.path for each in work.earlier.specimens()}
    if any(record.path not in known for record in table.records):
        return
    failed = [
        (path, reason)
        for path, reason, stamp in table.failed
        if f"{path}\0{stamp}" not in work.earlier.failed
    ]
    example = "; {}: {}".format(*failed[0]) if failed else ""
    raise CollectionError(
        f"Nothing was added: none of the new images can be read ({len(failed)}{example})."
    )


def measure_missing(work: Workspace) -> dict[str, str]:
    """Measure what is neither in the journal nor in the earlier guide, or has lost its pictures.

    Returns
    -------
    dict
        The files that could not be read for a reason of the moment, and the reason. They are not
        in the journal, so the next build tries them again.
    """
    journal, shelf, items = work.journal, work.draft.shelf, work.collection.items
    known = work.earlier.pictures() | journal.file_pictures()
    failed = work.earlier.failed | journal.failed()
    excluded = find_excluded(work, is_measured=False)
    todo = []
    for i, item in enumerate(items):
        file = _file(item)
        is_whole = file in known and all(map(shelf.has, known[file]))
        if not is_whole and file not in failed and item.path not in excluded:
            todo.append(i)
    todo = recognise_moved(work, todo)
    passing: dict[str, str] = {}
    n, n_done = len(items), len(items) - len(todo)
    work.progress("reading images", n_done, n)
    for records in measure_images(work, todo):
        journal.write(record for record in records if record.stamp)
        passing |= {r.path: r.reason for r in records if r.reason and not r.stamp}
        n_done += len(records)
        work.progress("reading images", n_done, n)
    return passing


def recognise_moved(work: Workspace, todo: list[int]) -> list[int]:
    """Carry over what is known of files that were moved, renamed or copied; return the others.

    A file as large as one that the earlier guide has measured is read, not decoded, and taken for
    it if the content is the same.
    """
    items, sizes = work.collection.items, work.earlier.sizes()
    others = [i for i in todo if find_size(_file(items[i])) not in sizes]
    same_size = sorted(set(todo).difference(others))
    for start in range(0, len(same_size), BATCH_SIZE):
        batch = same_size[start : start + BATCH_SIZE]
        known = {i: _find_same(work, i) for i in batch}
        work.journal.write(record for record in known.values() if record is not None)
        others += [i for i, record in known.items() if record is None]
        work.progress("recognising images", start + len(batch), len(same_size))
    return sorted(others)


def _find_same(work: Workspace, i: int) -> Measured | None:
    """Return what the earlier guide knows of an image of the same content, under its new name."""
    item, digest = work.collection.items[i], work.collection.digest(i)
    same = None if digest is None else work.earlier.find_file(digest)
    if same is None:
        return None
    path, _, stamp = same.partition("\0")
    record = work.earlier.read(path, stamp)
    names = list_pictures(record.digest, record.has_large, record.clip)
    if not all(map(work.draft.shelf.has, names)):
        return None
    return replace(record, path=item.path, stamp=item.stamp, taken=work.earlier.taken.get(same))


def read_missing_headers(work: Workspace) -> None:
    """Read when and where pictures were taken of which an earlier version has measured the rest.

    Their files are opened, and no pixel is decoded.
    """
    known = {*find_taken(work), *work.earlier.failed, *work.journal.failed()}
    items = work.collection.items
    missing = [i for i, item in enumerate(items) if _file(item) not in known]
    batches = [missing[i : i + BATCH_SIZE] for i in range(0, len(missing), BATCH_SIZE)]
    n_done = 0

    def read(batch: list[int]) -> list[Taken | None]:
        return [work.collection.taken(i) for i in batch]

    read_batches = map_in_order(read, batches, n_jobs=work.n_jobs)
    for batch, found in zip(batches, read_batches, strict=True):
        pairs = zip((items[i] for i in batch), found, strict=True)
        work.journal.write_taken((item.path, item.stamp, said) for item, said in pairs if said)
        n_done += len(batch)
        work.progress("reading dates and places", n_done, len(missing))


def find_taken(work: Workspace) -> Mapping[str, Taken]:
    """Return when and where each file was taken that has been read, by path, NUL, stamp."""
    return work.earlier.taken | work.journal.taken()


def find_vanished(collection: Collection) -> dict[str, str]:
    """Return the files of a collection that are no longer there, and the reason."""
    gone: dict[str, str] = {}
    if collection.folder is None:
        return gone
    for item in collection.items:
        try:
            os.stat(collection.folder / item.path)
        except OSError as error:
            gone[item.path] = f"cannot be opened ({(error.strerror or str(error)).lower()})"
    return gone


def collect(work: Workspace, passing: dict[str, str]) -> Table:
    """Write the feature matrices in the order of the collection; keep the rest in memory.

    ``passing`` are files that cannot be read now, and why: they are left out.
    """
    collection, journal = work.collection, work.journal
    done, taken = journal.stamps(), find_taken(work)
    failed = [(path, reason, "") for path, reason in collection.skipped]
    excluded = find_excluded(work, is_measured=True)
    good: list[int] = []
    records: list[Measured] = []
    with ExitStack() as opened:
        writers = {
            name: opened.enter_context(MatrixWriter(work.draft, name))
            for name in ("embedding", "logits", "properties")
        }
        for i, item in enumerate(collection.items):
            if item.path in excluded:
                continue
            if item.path in passing:
                record = Measured(item.path, "", reason=passing[item.path])
            elif done.get(item.path) == item.stamp:
                record = journal.read(item.path)
            else:
                record = work.earlier.read(item.path, item.stamp)
            if record.reason is not None:
                failed.append((record.path, record.reason, record.stamp))
                continue
            good.append(i)
            records.append(replace(record.without_arrays(), taken=taken.get(_file(item))))
            for name, writer in writers.items():
                row = getattr(record, name)
                if row is not None:
                    writer.add(row)
    if not records and not failed:
        raise CollectionError(
            f"All {len(excluded)} images in {collection.name!r} are excluded by edits; undo one."
        )
    if not records:
        path, reason, _ = failed[0]
        raise CollectionError(
            f"None of the {len(failed)} files in {collection.name!r} can be used "
            f"({path}: {reason}); give a folder with readable images."
        )
    features = {name: writer.open() for name, writer in writers.items() if writer.n_rows}
    index = SpecimenIndex([r.path for r in records], [r.digest for r in records])
    hand = read_hand(work.edits.active, index)
    kinds = [hand.label(row, collection.items[i].kind) for row, i in enumerate(good)]
    return Table(records, kinds, good, features, sorted(failed), passing, hand, len(excluded))


def _file(item: Item) -> str:
    return f"{item.path}\0{item.stamp}"


def _fingerprint(table: Table) -> str:
    digest = blake2b(digest_size=16)
    for record, kind in zip(table.records, table.kinds, strict=True):
        digest.update(f"{record.path}\0{record.digest}\0{kind}\n".encode())
    return digest.hexdigest()


def find_excluded(work: Workspace, *, is_measured: bool) -> frozenset[str]:
    """Return the paths of the images to leave out.

    An excluded image is in no catalogue, so its file is read to know that it is the same, but not
    decoded and not measured. Before all others are measured it is not known which were moved: then
    these are the images that have both the path and the content of an excluded one.
    """
    targets = [
        edit.target
        for edit in work.edits.active
        if edit.verb == "exclude" and edit.target and edit.target.form == SPECIMEN
    ]
    if not targets:
        return frozenset()
    items = work.collection.items
    known = work.earlier.digests() | work.journal.digests()
    digests = [known.get(f"{item.path}\0{item.stamp}", "") for item in items]
    named = {target.name for target in targets}
    for i, item in enumerate(items):
        if item.path in named and not digests[i]:
            digests[i] = work.collection.digest(i) or ""
    index = SpecimenIndex([item.path for item in items], digests)
    found = [(index.find(target), target) for target in targets]
    return frozenset(
        items[i].path
        for i, target in found
        if i is not None
        and (is_measured or (items[i].path, digests[i]) == (target.name, target.digest))
    )

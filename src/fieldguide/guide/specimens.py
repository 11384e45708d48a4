"""The specimens: every image of the collection, measured once in its life.

What an earlier guide or an interrupted build has measured already is taken from there.
"""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from fieldguide.collection import Collection
from fieldguide.errors import CollectionError
from fieldguide.guide.matrix import MatrixWriter
from fieldguide.guide.measure import Measured, measure_images
from fieldguide.guide.owner import save_owned
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


def build(work: Workspace) -> None:
    """Measure what is not known yet, and lay out all of it as a table."""
    table = collect(work, measure_missing(work))
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
        "title": (work.settings.title or work.collection.name).encode("utf-8", "replace").decode(),
        "source": work.collection.name,
        "seed": work.seed,
        "embedder": work.network.name,
        "fingerprint": _fingerprint(table),
        "n_specimens": len(table.records),
        "n_unreadable": len(table.failed),
        "n_captions": work.collection.n_captions,
        "other_files": work.collection.others,
        "kinds_because": work.collection.kinds_because,
    }


def check_added(work: Workspace, table: Table) -> None:
    """Refuse to add images none of which can be read."""
    if len(table.records) > work.earlier.info["n_specimens"]:
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
    todo = []
    for i, item in enumerate(items):
        file = f"{item.path}\0{item.stamp}"
        is_whole = file in known and all(map(shelf.has, known[file]))
        if not is_whole and file not in failed:
            todo.append(i)
    passing: dict[str, str] = {}
    n, n_done = len(items), len(items) - len(todo)
    work.progress("reading images", n_done, n)
    for records in measure_images(work.collection, todo, work.network, shelf, n_jobs=work.n_jobs):
        journal.write(record for record in records if record.stamp)
        passing |= {r.path: r.reason for r in records if r.reason and not r.stamp}
        n_done += len(records)
        work.progress("reading images", n_done, n)
    return passing


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
    done = journal.stamps()
    failed = [(path, reason, "") for path, reason in collection.skipped]
    good: list[int] = []
    records: list[Measured] = []
    with ExitStack() as opened:
        writers = {
            name: opened.enter_context(MatrixWriter(work.draft, name))
            for name in ("embedding", "logits", "properties")
        }
        for i, item in enumerate(collection.items):
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
            records.append(record.without_arrays())
            for name, writer in writers.items():
                row = getattr(record, name)
                if row is not None:
                    writer.add(row)
    if not records:
        path, reason, _ = failed[0]
        raise CollectionError(
            f"None of the {len(failed)} files in {collection.name!r} can be used "
            f"({path}: {reason}); give a folder with readable images."
        )
    features = {name: writer.open() for name, writer in writers.items() if writer.n_rows}
    kinds = [collection.items[i].kind for i in good]
    return Table(records, kinds, good, features, sorted(failed), passing)


def _fingerprint(table: Table) -> str:
    digest = blake2b(digest_size=16)
    for record, kind in zip(table.records, table.kinds, strict=True):
        digest.update(f"{record.path}\0{record.digest}\0{kind}\n".encode())
    return digest.hexdigest()

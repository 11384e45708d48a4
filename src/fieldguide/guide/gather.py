"""Gather the measurements of a collection, each image measured once in its life.

What an earlier guide or an interrupted build has measured already is taken from there.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fieldguide.collection import Collection
from fieldguide.errors import CollectionError, GuideError
from fieldguide.features.network import Network
from fieldguide.guide import folder as files
from fieldguide.guide.catalogue import Catalogue
from fieldguide.guide.editions import Draft
from fieldguide.guide.journal import Journal
from fieldguide.guide.measure import Measured, measure_images, picture_names

Progress = Callable[[str, int, int], None]


@dataclass
class Table:
    """The measured collection: one row per specimen, and the files that could not be read."""

    records: list[Measured]  # without their arrays
    kinds: list[str | None]
    item_rows: list[int]  # row of each specimen in the collection
    features: dict[str, np.ndarray]
    failed: list[tuple[str, str, str]]  # path, reason, stamp


class Earlier:
    """The guide that stands in the folder already: unchanged images are not measured again."""

    def __init__(
        self,
        catalogue: Catalogue | None,
        features: dict[str, np.ndarray],
        info: dict[str, Any] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.info = info or {}
        self.folder = folder  # of its edition; None without an earlier guide
        self._catalogue = catalogue
        self._features = features
        self._rows = catalogue.stamps() if catalogue else {}
        self.failed = catalogue.failed() if catalogue else {}  # reasons, by path, NUL, stamp

    @classmethod
    def open(cls, out: Path, measure_settings: str) -> "Earlier":
        """Open what is in ``out``; nothing is there when it was measured otherwise, or damaged."""
        try:
            info = files.read_info(out)
            if info.get("measure_settings") != measure_settings:
                return cls(None, {})
            folder = files.find_edition(out, info)
            catalogue = Catalogue(folder / files.CATALOGUE)
            n = info["n_specimens"]
            features = {name: files.read_features(folder, name, n) for name in info["features"]}
        except GuideError:
            return cls(None, {})
        return cls(catalogue, features, info, folder)

    def pictures(self) -> dict[str, tuple[str, str]]:
        """Return the addresses of thumbnail and picture of every file, as path, NUL, stamp."""
        if self._catalogue is None:
            return {}
        names = [picture_names(*pair) for pair in self._catalogue.thumbnails()]
        return {file: names[row] for file, row in self._rows.items()}

    def read(self, path: str, stamp: str) -> Measured:
        """Return what was measured of a file that was seen."""
        reason = self.failed.get(f"{path}\0{stamp}")
        if reason is not None:
            return Measured(path, stamp, reason=reason)
        assert self._catalogue is not None
        row = self._rows[f"{path}\0{stamp}"]
        arrays = {
            name: np.array(self._features[name][row]) if name in self._features else None
            for name in ("properties", "embedding", "logits")
        }
        return self._catalogue.measured(row, arrays)

    def row(self, file: str) -> np.ndarray | None:
        """Return the row of a file (path, NUL, stamp), or None."""
        if "rows" not in self._features or file not in self._rows:
            return None
        return np.array(self._features["rows"][self._rows[file]])

    def close(self) -> None:
        """Let go of the catalogue."""
        if self._catalogue:
            self._catalogue.close()


def measure_missing(
    collection: Collection,
    network: Network,
    journal: Journal,
    earlier: Earlier,
    draft: Draft,
    n_jobs: int,
    progress: Progress,
) -> dict[str, str]:
    """Measure what is neither in the journal nor in the earlier guide, or has lost its pictures.

    Returns
    -------
    dict
        The files that could not be read for a reason of the moment, and the reason. They are not
        in the journal, so the next build tries them again.
    """
    known = earlier.pictures() | journal.file_pictures()
    failed = earlier.failed | journal.failed()
    todo = []
    for i, item in enumerate(collection.items):
        file = f"{item.path}\0{item.stamp}"
        is_whole = file in known and all(map(draft.shelf.has, known[file]))
        if not is_whole and file not in failed:
            todo.append(i)
    passing: dict[str, str] = {}
    n, n_done = len(collection), len(collection) - len(todo)
    progress("reading images", n_done, n)
    for records in measure_images(collection, todo, network, draft.shelf, n_jobs=n_jobs):
        journal.write(record for record in records if record.stamp)
        passing |= {r.path: r.reason for r in records if r.reason and not r.stamp}
        n_done += len(records)
        progress("reading images", n_done, n)
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


def collect(
    collection: Collection,
    journal: Journal,
    earlier: Earlier,
    draft: Draft,
    passing: dict[str, str],
) -> Table:
    """Write the feature matrices in the order of the collection; keep the rest in memory.

    ``passing`` are files that cannot be read now, and why: they are left out.
    """
    done = journal.stamps()
    failed = [(path, reason, "") for path, reason in collection.skipped]
    good: list[int] = []
    records: list[Measured] = []
    with ExitStack() as opened:
        writers = {
            name: opened.enter_context(MatrixWriter(draft, name))
            for name in ("embedding", "logits", "properties")
        }
        for i, item in enumerate(collection.items):
            if item.path in passing:
                record = Measured(item.path, "", reason=passing[item.path])
            elif done.get(item.path) == item.stamp:
                record = journal.read(item.path)
            else:
                record = earlier.read(item.path, item.stamp)
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
    return Table(records, kinds, good, features, sorted(failed))


class MatrixWriter:
    """Writes the rows of a float32 matrix to a .npy file of an edition, one by one.

    How many there will be is known only at the end: the header is written then, over a blank of
    the same length.
    """

    def __init__(self, draft: files.NewFiles, name: str) -> None:
        self.n_rows = 0
        self._draft = draft
        self._name = name
        self._file: BinaryIO | None = None

    def add(self, row: np.ndarray) -> None:
        """Write one more row."""
        if self._file is None:
            self._path, self._n_columns = self._draft.new(files.feature_file(self._name)), len(row)
            self._file = open(self._path, "wb")  # noqa: SIM115  (closed by __exit__)
            self._write_header()
        self._file.write(np.ascontiguousarray(row, dtype="<f4").tobytes())
        self.n_rows += 1

    def __enter__(self) -> "MatrixWriter":
        return self

    def __exit__(self, *_: object) -> None:
        """Finish the file."""
        if self._file is not None:
            with self._file:
                self._file.seek(0)
                self._write_header()

    def open(self) -> np.ndarray:
        """Return the finished matrix, memory-mapped."""
        return np.load(self._path, mmap_mode="r")

    def _write_header(self) -> None:
        # NumPy pads the header so that the number of rows may grow to any length in place.
        shape = (self.n_rows, self._n_columns)
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        assert self._file is not None
        np.lib.format.write_array_header_1_0(self._file, header)

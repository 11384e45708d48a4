"""Gather the measurements of a collection, each image measured once in its life.

What an earlier guide or an interrupted build has measured already is taken from there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fieldguide.collection import Collection
from fieldguide.errors import CollectionError, GuideError
from fieldguide.features.network import Network
from fieldguide.guide import folder as files
from fieldguide.guide.catalogue import Catalogue
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
    failed: list[tuple[str, str, str]]
    pictures: set[str]


class Earlier:
    """The guide that stands in the folder already: unchanged images are not measured again."""

    def __init__(
        self,
        catalogue: Catalogue | None,
        features: dict[str, np.ndarray],
        info: dict[str, Any] | None = None,
    ) -> None:
        self.info = info or {}
        self._catalogue = catalogue
        self._features = features
        self._rows = catalogue.stamps() if catalogue else {}
        self._failed = catalogue.failed() if catalogue else {}

    @classmethod
    def open(cls, out: Path, measure_settings: str) -> "Earlier":
        """Open what is in ``out``; nothing is there when it was measured otherwise, or damaged."""
        try:
            info = files.read_info(out)
            if info.get("measure_settings") != measure_settings:
                return cls(None, {})
            catalogue = Catalogue(out / files.CATALOGUE)
            names = info["features"]
            features = {name: files.read_features(out, name, info["n_specimens"]) for name in names}
        except GuideError:
            return cls(None, {})
        return cls(catalogue, features, info)

    def has(self, path: str, stamp: str) -> bool:
        """Whether this very file was seen, read or not."""
        return f"{path}\0{stamp}" in self._rows or f"{path}\0{stamp}" in self._failed

    def read(self, path: str, stamp: str) -> Measured:
        """Return what was measured of a file that was seen."""
        reason = self._failed.get(f"{path}\0{stamp}")
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
    out: Path,
    n_jobs: int,
    progress: Progress,
) -> None:
    """Measure what is neither in the journal nor in the earlier guide."""
    done = journal.stamps()
    todo = [
        i
        for i, item in enumerate(collection.items)
        if done.get(item.path) != item.stamp and not earlier.has(item.path, item.stamp)
    ]
    n, n_done = len(collection), len(collection) - len(todo)
    progress("reading images", n_done, n)
    for records in measure_images(collection, todo, network, out, n_jobs=n_jobs):
        journal.write(records)
        n_done += len(records)
        progress("reading images", n_done, n)


def collect(collection: Collection, journal: Journal, earlier: Earlier, stage: Path) -> Table:
    """Write the feature matrices in the order of the collection; keep the rest in memory."""
    done = journal.stamps()
    failed = [(path, reason, "") for path, reason in collection.skipped]
    good: list[int] = []
    records: list[Measured] = []
    writers = {name: MatrixWriter() for name in ("embedding", "logits", "properties")}
    for i, item in enumerate(collection.items):
        if done.get(item.path) == item.stamp:
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
                writer.add(stage / files.feature_file(name), row)
    if not records:
        path, reason, _ = failed[0]
        raise CollectionError(
            f"None of the {len(failed)} files in {collection.name!r} can be used "
            f"({path}: {reason}); give a folder with readable images."
        )
    features = {name: writer.close() for name, writer in writers.items() if writer.n_rows}
    pictures = {
        name for record in records for name in picture_names(record.digest, record.has_large)
    }
    kinds = [collection.items[i].kind for i in good]
    return Table(records, kinds, good, features, sorted(failed), pictures)


class MatrixWriter:
    """Writes the rows of a float32 matrix to a .npy file, one by one.

    How many there will be is known only at the end: the header is written then, over a blank of
    the same length.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._file: BinaryIO | None = None

    def add(self, path: Path, row: np.ndarray) -> None:
        """Write one more row."""
        if self._file is None:
            self._path, self._n_columns = path, len(row)
            self._file = open(path, "wb")  # noqa: SIM115  (closed by close)
            self._write_header()
        self._file.write(np.ascontiguousarray(row, dtype="<f4").tobytes())
        self.n_rows += 1

    def close(self) -> np.ndarray:
        """Finish the file and return the matrix, memory-mapped."""
        assert self._file is not None
        self._file.seek(0)
        self._write_header()
        self._file.close()
        return np.load(self._path, mmap_mode="r")

    def _write_header(self) -> None:
        # NumPy pads the header so that the number of rows may grow to any length in place.
        shape = (self.n_rows, self._n_columns)
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        assert self._file is not None
        np.lib.format.write_array_header_1_0(self._file, header)

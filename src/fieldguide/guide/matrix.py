"""Feature matrices of an edition, written row by row."""

from typing import BinaryIO

import numpy as np

from fieldguide.guide import folder as files


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
            self._file = open(self._path, "wb")  # noqa: SIM115  (see close)
            self._write_header()
        self._file.write(np.ascontiguousarray(row, dtype="<f4").tobytes())
        self.n_rows += 1

    def __enter__(self) -> "MatrixWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            with self._file:
                self._file.seek(0)
                self._write_header()

    def open(self) -> np.ndarray:
        """Return the finished matrix, memory-mapped."""
        matrix: np.ndarray = np.load(self._path, mmap_mode="r")
        return matrix

    def _write_header(self) -> None:
        # NumPy pads the header so that the number of rows may grow to any length in place.
        shape = (self.n_rows, self._n_columns)
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        assert self._file is not None
        np.lib.format.write_array_header_1_0(self._file, header)

"""Fields of arrays and of sparse matrices."""

from typing import Any

import numpy as np
from scipy import sparse

from fieldguide._saving.codec import Field, Reader, Writer, join, short

FLOATS = ("float32", "float64")
INTEGERS = ("int32", "int64")
SCALARS = {
    np.dtype(kind).name: np.dtype(kind).type
    for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}

Limit = int | float | str  # a number, or the name of a size, "-name" for its negative


class Array(Field):
    """An array of given types, shape and range.

    Parameters
    ----------
    dtypes : tuple of names, or None for any
    shape : sizes, by number or name, or ``...`` for any
    within : pair of (low, end), optional
        Values are at least low and less than end; each a number or the name of a size, ``"-n"``
        for its negative.
    low, high, above : float
        Values are in [low, high] and larger than ``above``.
    finite : bool
    """

    def __init__(
        self,
        dtypes: str | tuple[str, ...] | None,
        *shape: Any,
        within: tuple[Limit, Limit] | None = None,
        low: float = -np.inf,
        high: float = np.inf,
        above: float = -np.inf,
        finite: bool = True,
    ) -> None:
        self.dtypes = (dtypes,) if isinstance(dtypes, str) else dtypes
        self.shape = None if shape == (...,) else shape
        self.within, self.low, self.high, self.above = within, low, high, above
        self.finite = finite

    def write(self, value: Any, path: str, out: Writer) -> str:
        """Keep the array; return its type, and F if it is stored by columns.

        Products of matrices may round otherwise in another order, so the order is kept.
        """
        array = np.asarray(value)
        if array.dtype.name not in SCALARS or not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if array.dtype.name not in SCALARS:
            out.refuse(path, f"is an array of {array.dtype}, which cannot be saved; give numbers")
        by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        out.arrays[path] = np.require(array.T if by_columns else array, requirements="C")
        return f"{array.dtype.name} F" if by_columns else array.dtype.name

    def read(self, record: Any, path: str, source: Reader) -> np.ndarray:
        """Return the array."""
        name, _, order = record.partition(" ") if isinstance(record, str) else ("", "", "")
        allowed = tuple(SCALARS) if self.dtypes is None else self.dtypes
        if name not in allowed or order not in ("", "F"):
            wanted = "numbers" if self.dtypes is None else " or ".join(allowed)
            source.refuse(path, f"must be an array of {wanted}; got {short(record)}")
        array = source.take(path)
        if array.dtype != np.dtype(name):
            source.refuse(path, f"must be an array of {name}; got {array.dtype}")
        # Compiled loops are for memory that can be written to.
        array = np.require(array, requirements=["C", "W", "A"])
        array = array.T if order else array
        if self.shape is not None:
            source.agree(path, self.shape, array.shape)
        if self.finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            source.refuse(path, "holds NaN or infinity")
        if array.size and array.dtype.kind != "b":
            self._check_range(array, path, source)
        return array

    def _check_range(self, array: np.ndarray, path: str, source: Reader) -> None:
        known = array if self.finite else array[np.isfinite(array)]
        if not known.size:
            return
        least, most = known.min(), known.max()
        if not (self.low <= least and most <= self.high and least > self.above):
            low = f"above {self.above:g}" if self.above > -np.inf else f"at least {self.low:g}"
            got = most if most > self.high else least
            source.refuse(path, f"must be {low} and at most {self.high:g}; got {got:g}")
        if self.within is not None:
            low_name, end_name = self.within

            def check() -> None:
                low, end = (_limit(name, source.sizes) for name in (low_name, end_name))
                if not low <= least <= most < end:
                    got = most if most >= end else least
                    source.refuse(path, f"must lie in {low:g} to {end - 1:g}; got {got:g}")

            source.later.append(check)


ANY = Array(None, ..., finite=False)


def _limit(limit: Limit, sizes: dict[str, int]) -> int | float:
    if not isinstance(limit, str):
        return limit
    return -sizes[limit[1:]] if limit.startswith("-") else sizes[limit]


class Rows(Field):
    """A matrix in compressed sparse rows, or as an array unless it is always sparse."""

    def __init__(
        self, *shape: int | str, always_sparse: bool = False, low: float = -np.inf
    ) -> None:
        self.shape, self.always_sparse, self.low = shape, always_sparse, low

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Write the array, or the parts of the sparse one."""
        if not sparse.issparse(value):
            return ANY.write(value, path, out)
        if value.format != "csr":
            out.refuse(path, f"is sparse by {value.format}; give a CSR array")
        name = "csr_array" if isinstance(value, sparse.sparray) else "csr_matrix"
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        record = {part: ANY.write(v, join(path, part), out) for part, v in parts.items()}
        return {name: {"shape": list(map(int, value.shape)), **record}}

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the matrix."""
        if isinstance(record, str) and not self.always_sparse:
            return Array(FLOATS, *self.shape, low=self.low).read(record, path, source)
        name, body = next(iter(record.items())) if isinstance(record, dict) and record else ("", 0)
        if name not in ("csr_array", "csr_matrix") or len(record) != 1:
            source.refuse(path, f"must be a matrix; got {short(record)}")
        body = source.keys(body, path, {"shape", "data", "indices", "indptr"}, set())
        shape = body["shape"]
        is_shape = isinstance(shape, list) and len(shape) == 2
        if not is_shape or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
            source.refuse(join(path, "shape"), f"must be two whole numbers; got {short(shape)}")
        source.agree(path, self.shape, tuple(shape))
        inside = source.inside(apart=True)
        fields = {
            "data": Array(FLOATS, "n_values", low=self.low),
            "indices": Array(INTEGERS, "n_values", within=(0, shape[1])),
            "indptr": Array(INTEGERS, shape[0] + 1),
        }
        values = {n: f.read(body[n], join(path, n), inside) for n, f in fields.items()}
        inside.settle()
        ends = values["indptr"]
        if ends[0] != 0 or ends[-1] != len(values["data"]) or (ends[1:] < ends[:-1]).any():
            source.refuse(join(path, "indptr"), "must rise from 0 to the number of values")
        with source.making(path):
            return getattr(sparse, name)(tuple(values.values()), shape=tuple(shape))

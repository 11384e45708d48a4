"""The specimens that look most like a picture, also among very many.

A row of both looks has 24 KB: to compare a picture with 100,000 specimens is to read 2.4 GB. Of
more than ``LEAST`` specimens, the rows are also kept in the 128 directions that vary most, 512
bytes each; the ``N_CANDIDATES`` that are likest there are compared by their whole rows. How often
that finds the nearest: docs/scale.md.
"""

from pathlib import Path
from typing import Any

import numpy as np

from fieldguide.features import Reduction, find_close, find_largest, reduce_rows
from fieldguide.guide import folder as files
from fieldguide.guide import rows
from fieldguide.guide.workspace import Workspace

NAME = "nearest"
LEAST = 8192  # specimens, from which on candidates are looked for
N_CANDIDATES = 256
_FILE, _REDUCED = "models/nearest", "reduced"
_WHOLE = 4096  # specimens, of which the nearest of each are found by whole rows
_BLOCK = 1 << 25  # likenesses that are in memory at a time


class Nearest:
    """Finds the specimens nearest to a picture.

    Parameters
    ----------
    X : array of shape (n_specimens, n_columns), float32
        Rows of length 1, perhaps memory-mapped.
    reduction : Reduction, optional
    reduced : array of shape (n_specimens, n_directions), float32, optional
        What the reduction makes of the rows.
    """

    def __init__(
        self, X: np.ndarray, reduction: Reduction | None = None, reduced: np.ndarray | None = None
    ) -> None:
        self._X = X
        self._reduction = reduction
        self._reduced = X if reduced is None else reduced

    def find(
        self,
        queries: np.ndarray,
        n: int,
        *,
        own: np.ndarray | None = None,
        among: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the ``n`` specimens nearest to each of some rows, nearest first, (m, n).

        ``own`` are specimens, one for each row, that are not its answer; ``among`` are those that
        may be.
        """
        n_queries, n_others = len(queries), len(self._X) if among is None else len(among)
        n = max(min(n, n_others - (own is not None)), 0)
        found = np.empty((n_queries, n), dtype=np.int64)
        step = max(_BLOCK // max(len(self._X), 1), 1)
        for start in range(0, n_queries, step):
            part = slice(start, start + step)
            found[part] = self._find_some(
                queries[part], n, None if own is None else own[part], among
            )
        return found

    def _find_some(
        self, queries: np.ndarray, n: int, own: np.ndarray | None, among: np.ndarray | None
    ) -> np.ndarray:
        asked = queries if self._reduction is None else self._reduction.apply(queries)
        likeness = asked @ (self._reduced if among is None else self._reduced[among]).T
        names = np.arange(len(self._X)) if among is None else among
        if own is not None:
            likeness[own[:, None] == names] = -np.inf
        if self._reduction is None:
            nearest: np.ndarray = names[find_largest(likeness, n)]
            return nearest
        candidates = names[find_largest(likeness, min(n + N_CANDIDATES, len(names)))]
        found = np.empty((len(queries), n), dtype=np.int64)
        for i, (query, ids) in enumerate(zip(queries, candidates, strict=True)):
            ids = np.sort(ids if own is None else ids[ids != own[i]])  # as they lie in the file
            found[i] = ids[find_largest((self._X[ids] @ query)[None], n)[0]]
        return found


def build(work: Workspace) -> None:
    """Keep the rows of a large collection in few directions."""
    X = work.built[rows.NAME].X
    if len(X) < LEAST:
        return
    work.progress("comparing specimens", 0, 1)
    reduction = Reduction.fit(X)
    reduced = work.built[NAME] = reduction.apply(X, n_jobs=work.n_jobs)
    files.write_model(work.draft, _FILE, reduction._asdict(), {})
    np.save(work.draft.new(files.feature_file(_REDUCED)), reduced)


def find_near(
    X: np.ndarray, n_near: int, *, reduced: np.ndarray | None = None, n_jobs: int | None = 1
) -> np.ndarray:
    """Return the nearest specimens of each, itself not among them, (n, min(n_near, n - 1)).

    Of a large collection they are looked for in few directions; ``reduced`` are the rows in these,
    where they are known.
    """
    if len(X) > _WHOLE:
        X = reduce_rows(X, n_jobs=n_jobs) if reduced is None else reduced
    return find_close(X, n_near, n_jobs=n_jobs)


def reduce_specimens(work: Workspace) -> np.ndarray:
    """Return the rows of all specimens in few directions."""
    if NAME not in work.built:
        work.built[NAME] = reduce_rows(work.built[rows.NAME].X, n_jobs=work.n_jobs)
    reduced: np.ndarray = work.built[NAME]
    return reduced


def open_nearest(edition: Path, X: np.ndarray) -> Nearest:
    """Return what finds the specimens of a guide with rows ``X``."""
    if not (edition / f"{_FILE}.safetensors").exists():
        return Nearest(X)

    def make(arrays: dict[str, np.ndarray], _: dict[str, Any]) -> Reduction:
        reduction = Reduction(**arrays)
        if reduction.centre.shape != X.shape[1:] or len(reduction.directions) != X.shape[1]:
            raise ValueError("it is of other rows")
        return reduction

    reduction = files.read_model(edition, _FILE, "reduction of rows", make)
    n_directions = reduction.directions.shape[1]
    return Nearest(X, reduction, files.read_features(edition, _REDUCED, len(X), n_directions))

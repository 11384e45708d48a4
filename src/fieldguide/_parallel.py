"""Coarse parallelism through joblib, in order, with one place that decides how."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs


def map_in_order(
    function: Callable[..., Any],
    items: Iterable[Any],
    *,
    n_jobs: int | None = None,
    threads: bool = True,
) -> Iterator[Any]:
    """Yield ``function(item)`` for each item, in order, whatever ``n_jobs`` is.

    Threads suit work that releases the GIL (decoding, onnxruntime, numba kernels);
    ``threads=False`` uses processes, or the user's own joblib backend.
    A few items are in flight at a time, so memory does not grow with the number of items.
    """
    if effective_n_jobs(n_jobs) == 1:
        yield from map(function, items)
        return
    runner = Parallel(
        n_jobs=n_jobs,
        prefer="threads" if threads else "processes",
        return_as="generator",
        pre_dispatch="2*n_jobs",
    )
    yield from runner(delayed(function)(item) for item in items)

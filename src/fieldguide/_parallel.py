"""Coarse parallelism through joblib, in order, with one place that decides how.

Threads share memory. Work whose function returns all that it computes may also travel to other
machines: a build that is given a cluster says so with :func:`sending_to`.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Protocol

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController


class Workers(Protocol):
    """Processes of this machine or others that are given pieces of work."""

    def map_as_done(
        self, function: Callable[[Any], Any], items: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number of each item and ``function(item)``, in the order in which they end.

        Parameters
        ----------
        function : callable
            It returns all that it computes; what it holds travels with it.
        items : iterable
            Read as there is room for them.
        """


class Elsewhere(Protocol):
    """Other machines that do pieces of work."""

    def takes(self, function: Callable[[Any], Any]) -> bool:
        """Whether a function can be sent there, and is small enough."""

    def map_in_order(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Return ``function(item)`` for each item, in order."""


# Of this thread: what threads do for it stays with them.
_elsewhere: ContextVar[Elsewhere | None] = ContextVar("elsewhere", default=None)


@contextmanager
def sending_to(elsewhere: Elsewhere | None) -> Iterator[None]:
    """Send work that may travel to other machines, inside the block; None: to none."""
    token = _elsewhere.set(elsewhere)
    try:
        yield
    finally:
        _elsewhere.reset(token)


def find_elsewhere(n_jobs: int | None) -> Elsewhere | None:
    """Return the machines that work may be sent to; None where ``n_jobs`` asks for one thread."""
    return None if n_jobs in (None, 1) else _elsewhere.get()


def map_in_order(
    function: Callable[..., Any],
    items: Iterable[Any],
    *,
    n_jobs: int | None = None,
    threads: bool = True,
    travels: bool = False,
) -> Iterator[Any]:
    """Yield ``function(item)`` for each item, in order, whatever ``n_jobs`` is.

    Threads suit work that releases the GIL (decoding, onnxruntime, numba kernels);
    ``threads=False`` uses processes, or the user's own joblib backend. ``travels=True`` is for a
    function that returns all that it computes, where that takes longer than sending what it holds:
    other machines may do it (:func:`sending_to`).
    A few items are in flight at a time, so memory does not grow with the number of items.
    """
    elsewhere = find_elsewhere(n_jobs) if travels else None
    if elsewhere is not None and elsewhere.takes(function):
        yield from elsewhere.map_in_order(function, items)
        return
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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Give BLAS one thread inside the block: another number may sum in another order."""
    with _find_libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _find_libraries(n_modules: int) -> ThreadpoolController:
    """Return the libraries that ``n_modules`` modules have loaded; to look for them is slow."""
    return ThreadpoolController()

"""Work that is done by the workers of a dask scheduler, on this machine or on others.

A function and its items are sent out, a few items for each thread of the workers at a time, and
results come back as they are done. The function travels once to each worker. A worker that dies
costs the items that it was at, which others are given; one that joins late is given its share.

Answers must not depend on who gave them: a worker with other versions than this machine's is
refused in one sentence (:func:`list_versions`). Dask is the extra ``cluster``, and is imported
where a scheduler is given.
"""

import os
import platform
import queue
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from fieldguide.errors import ClusterError

Versions = tuple[tuple[str, str], ...]

CONNECT_S = 5.0  # for which a scheduler is waited for
_LOOK_EVERY_S = 1.0  # at how many workers there are
_MOST_BYTES = 2**30  # that a function may hold to be sent: the scheduler has it in memory
_AHEAD = 2  # items for each thread of the workers: one at work, one that waits there
_LEAST = 4
# Answers differ in their last digits, or files in their bytes, from version to version of these.
_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-image",
    "numba",
    "onnxruntime",
    "Pillow",
    "av",  # of the extra video: without it, clips cannot be read
)
_accepted: set[Versions] = set()  # in a worker: those of builds that it serves


class Cluster:
    """The workers of a scheduler.

    Parameters
    ----------
    client : distributed.Client

    Attributes
    ----------
    waiting : callable
        Called every second for as long as there is no worker.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.waiting: Callable[[], None] = lambda: None
        self.address = str(client.scheduler.address) if client.scheduler else "?"
        self._n_threads, self._counted_at = 0, -1e9

    def takes(self, function: Callable[[Any], Any]) -> bool:
        """Whether a function can be sent, and is not too large."""
        import cloudpickle

        arrays: list[Any] = []
        try:
            rest = cloudpickle.dumps(function, protocol=5, buffer_callback=arrays.append)
        except Exception:  # what cannot travel may say so in any way
            return False
        n_bytes = len(rest) + sum(int(each.raw().nbytes) for each in arrays)
        return n_bytes <= _MOST_BYTES

    def map_as_done(
        self, function: Callable[[Any], Any], items: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number of each item and ``function(item)``, in the order in which they end."""
        versions, numbered = list_versions(), enumerate(items)
        # As the result of a task and not as scattered data: it can be had again when the worker
        # that holds it dies.
        carried = self.client.submit(_keep, function, pure=False)
        pending: dict[str, tuple[int, Any]] = {}
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        try:
            while True:
                room = max(_AHEAD * self._count_threads(), _LEAST) - len(pending)
                for i, item in islice(numbered, max(room, 0)):
                    future = self.client.submit(_run, versions, carried, item, pure=False)
                    pending[future.key] = i, future
                    future.add_done_callback(done.put)
                if not pending:
                    return
                future = self._wait(done)
                i, _ = pending.pop(future.key)
                result = self._read(future)
                future.release()
                yield i, result
        finally:
            with suppress(Exception):  # of a connection that is lost
                self.client.cancel([carried, *(future for _, future in pending.values())])

    def map_in_order(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Return ``function(item)`` of each item, in order."""
        done = dict(self.map_as_done(function, items))
        return [done[i] for i in range(len(done))]

    def _count_threads(self) -> int:
        """Return how many threads the workers have; how many there were a moment ago is enough."""
        now = time.monotonic()
        if now - self._counted_at > _LOOK_EVERY_S:
            try:
                self._n_threads = sum(self.client.nthreads().values())
            except Exception as error:  # whatever a lost connection is called
                raise self._say_lost(error) from None
            self._counted_at = now
        return self._n_threads

    def _wait(self, done: "queue.SimpleQueue[Any]") -> Any:
        """Return a future that has ended."""
        while True:
            try:
                return done.get(timeout=_LOOK_EVERY_S)
            except queue.Empty:
                self._look()

    def _look(self) -> None:
        """See whether the scheduler and workers are still there."""
        if self.client.status != "running":
            raise self._say_lost(None)
        if not self._count_threads():
            self.waiting()

    def _read(self, future: Any) -> Any:
        """Return the result of a future that has ended, or raise what it ended with.

        A worker that dies before its result has been fetched gives the work back.
        """
        from distributed import KilledWorker

        patience_s = _LOOK_EVERY_S
        while True:
            if future.status in ("cancelled", "lost"):
                raise self._say_lost(None)
            try:
                return future.result(timeout=patience_s)
            except TimeoutError:
                if future.status == "error":  # of the work itself
                    raise
                self._look()
                patience_s *= 2  # a large result is fetched from its beginning each time
            except KilledWorker as error:
                raise self._say_killed(error) from None
            except ImportError as error:
                raise ClusterError(
                    f"A worker of the scheduler {self.address} cannot run this version of "
                    f"Fieldguide ({error}); install the same version on all machines."
                ) from None

    def _say_killed(self, error: Any) -> ClusterError:
        return ClusterError(
            f"Workers of the scheduler {self.address} died again and again at the same piece of "
            f"work, the last one {error.last_worker.address}; give them more memory, or fewer "
            "threads, and run the same command again."
        )

    def _say_lost(self, error: Exception | None) -> ClusterError:
        because = f" ({error})" if error is not None and str(error) else ""
        return ClusterError(
            f"The scheduler {self.address} went away{because}; start it and its workers, and run "
            "the same command again, which goes on where this one stopped."
        )


@contextmanager
def open_cluster(given: Any) -> Iterator[Cluster | None]:
    """Give the workers of a scheduler; None for None.

    Parameters
    ----------
    given : distributed.Client, str or None
        A client, which stays open; or the address of a scheduler, or the file that
        ``dask scheduler --scheduler-file`` writes.
    """
    if given is None:
        yield None
        return
    try:
        import distributed
    except ImportError:
        raise ClusterError(
            "A scheduler needs the package distributed, which is not installed; run "
            "'pip install fieldguide[cluster]'."
        ) from None
    if isinstance(given, distributed.Client):
        if given.asynchronous:
            raise ClusterError("client must not be asynchronous; give one that waits for answers.")
        yield Cluster(given)
        return
    if not isinstance(given, str) or not given:
        raise ClusterError(
            "client must be a distributed.Client, the address of a scheduler, or its scheduler "
            f"file; got {given!r}."
        )
    client = _connect(distributed, given)
    try:
        yield Cluster(client)
    finally:
        client.close()


def _connect(distributed: Any, address: str) -> Any:
    if address.endswith(".json") and not Path(address).is_file():
        raise ClusterError(
            f"There is no scheduler file {address!r}; start a scheduler with 'dask scheduler "
            f"--scheduler-file {address}'."
        )
    named = {"scheduler_file" if address.endswith(".json") else "address": address}
    try:
        return distributed.Client(**named, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        first = str(error).strip().split("\n")[0].rstrip(".")
        raise ClusterError(
            f"No scheduler answers at {address!r} ({first}); start one with 'dask scheduler', and "
            "give the address that it prints, such as tcp://host:8786."
        ) from None


@cache
def list_versions() -> Versions:
    """Return what answers depend on besides the data, as names and versions."""
    package = Path(__file__).parent
    digest = blake2b(digest_size=4)
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return (
        ("Fieldguide", f"{metadata.version('fieldguide')} (source {digest.hexdigest()})"),
        ("Python", ".".join(platform.python_version_tuple()[:2])),
        *((name, _find_version(name)) for name in _PACKAGES),
    )


def _find_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def name_worker() -> str:
    """Return the address of the worker that this is called in, or the number of the process."""
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):  # a process of this machine
        return str(os.getpid())


def _keep(function: Any) -> Any:
    return function


def _run(versions: Versions, function: Callable[[Any], Any], item: Any) -> Any:
    """Do one piece of work, in a worker."""
    if versions not in _accepted:
        _check(versions)
        # Of the whole process from now on: another number of threads may sum in another order.
        threadpool_limits(1, "blas")
        _accepted.add(versions)
    return function(item)


def _check(versions: Versions) -> None:
    own = dict(list_versions())
    for name, wanted in versions:
        if own.get(name) != wanted:
            raise ClusterError(
                f"The worker {name_worker()} has {name} {own.get(name)}, and this machine "
                f"has {wanted}; install the same version on all machines."
            )

"""Work that is done by processes of this machine, where threads would wait for each other.

Python runs one thread at a time, and releases the others only inside libraries. With a few cores
that costs little; with many, or where a graphics processor does what the libraries would, most
threads wait. Processes do not, but each has to start and takes memory of its own.

A function travels once to each process, by a file; items as there is room for them. Results come
back as they are done. What a process returns is what a thread would: one thread of BLAS each.
"""

import pickle
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from fieldguide._later import load_later
from fieldguide.errors import FieldguideError

_AHEAD = 2  # items for each process: one at work, one that waits
_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM")


@dataclass(frozen=True)
class Processes:
    """Processes of this machine, started for each work and gone when it is done.

    Parameters
    ----------
    n : int
        How many.

    Examples
    --------
    >>> sorted(Processes(2).map_as_done(abs, [-3, 2]))
    [(0, 3), (1, 2)]
    """

    n: int

    def map_as_done(
        self, function: Callable[[Any], Any], items: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number of each item and ``function(item)``, in the order in which they end."""
        # loky's processes do not run the user's script again, as those of multiprocessing do.
        from joblib.externals.loky import ProcessPoolExecutor

        numbered = enumerate(items)
        env = {f"{name}_NUM_THREADS": "1" for name in _THREADS}
        with tempfile.TemporaryDirectory(prefix="fieldguide-") as place:
            file = Path(place) / "function"  # of this user alone, who wrote it
            file.write_bytes(pickle.dumps(function, protocol=5))
            pool = ProcessPoolExecutor(self.n, timeout=None, env=env, initializer=_begin)
            pending: dict[Future[Any], int] = {}
            try:
                while True:
                    for i, item in islice(numbered, _AHEAD * self.n - len(pending)):
                        pending[pool.submit(_run, str(file), item)] = i
                    if not pending:
                        return
                    for future in wait(pending, return_when=FIRST_COMPLETED).done:
                        i = pending.pop(future)
                        yield i, future.result()
            except BrokenProcessPool:
                raise FieldguideError(
                    "A process was ended from outside, most likely because memory "
                    "is short; run the same command again with fewer --jobs, which goes on where "
                    "this one stopped."
                ) from None
            finally:
                pool.shutdown(wait=True, kill_workers=True)


def _begin() -> None:
    from joblib.externals.loky import process_executor

    load_later("scipy.stats")
    process_executor._USE_PSUTIL = False  # a cache that fills is no leak to be cured by a new start
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    threadpool_limits(1, "blas")  # another number of threads may sum in another order


def _run(file: str, item: Any) -> Any:
    return _load(file)(item)


@cache
def _load(file: str) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = pickle.loads(Path(file).read_bytes())
    return function

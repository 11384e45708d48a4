"""Pieces of work with images, for the workers of a cluster or for processes of this machine.

A worker reads the images itself, from a folder that has the same name on all machines, and sends
back numbers and thumbnails; this machine alone writes to the journal and to the guide's folder.
Processes of this machine do the same where there are enough of them and of the images to pay for
their start.

A worker that sees other files under the same names would spoil a guide in silence. It compares the
size of each with what this machine has listed. Where they differ, this machine looks again: either
the file has changed since, and it does that piece of work itself, or the folder is not shared, and
that is said.

Where there are no workers, threads do the same with the network that is open.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fieldguide._cluster import name_worker
from fieldguide._parallel import Workers, map_in_order
from fieldguide._processes import Processes
from fieldguide.collection import Collection, Item
from fieldguide.errors import ClusterError, EmbedderError
from fieldguide.features.network import BUILTIN, Network, open_network
from fieldguide.guide.earlier import find_size
from fieldguide.guide.measure import Measured, deal_batches, measure_batch
from fieldguide.guide.workspace import Workspace

_LEAST_PROCESSES = 4  # fewer are no quicker than threads
_WORTH = 64  # images for each process that pay for its start


@dataclass(frozen=True)
class Shard:
    """Some images, and what is known of them: a row of each matrix for each image."""

    images: Collection
    embedding: np.ndarray | None = None
    logits: np.ndarray | None = None


class Odd(NamedTuple):
    """A file that a worker sees otherwise than it was listed."""

    path: str
    worker: str


class Parcel:
    """Thumbnails on their way to the shelf of a guide."""

    def __init__(self) -> None:
        self.pictures: dict[str, bytes] = {}

    def has(self, address: str) -> bool:
        """Whether it is in the parcel."""
        return address in self.pictures

    def put(self, address: str, data: bytes) -> None:
        """Put a picture into the parcel."""
        self.pictures[address] = data


_open: dict["Lens", Network] = {}  # in a worker: its threads share them
_lock = threading.Lock()


@dataclass(frozen=True)
class Lens:
    """What says which network pictures are shown to. It travels; the network does not."""

    embedder: tuple[str, ...]
    device: str
    name: str  # of the network that this machine has opened

    @classmethod
    def of(cls, network: Network, embedder: tuple[str, ...], device: str) -> "Lens":
        """Return what opens ``network`` again on a machine that sees the same files."""
        files = tuple(each if each in BUILTIN else os.path.abspath(each) for each in embedder)
        return cls(files, device, network.name)

    def open(self) -> Network:
        """Return the network, opened once in each worker; ClusterError where it is another."""
        with _lock:
            if self not in _open:
                _open[self] = self._open_checked()
            return _open[self]

    def _open_checked(self) -> Network:
        try:
            network = open_network(self.embedder, device=self.device)
        except (EmbedderError, OSError) as error:
            raise ClusterError(
                f"The worker {name_worker()} cannot open the network ({str(error).rstrip('.')}); "
                "put its file where all machines see it."
            ) from None
        if network.name != self.name:
            raise ClusterError(
                f"The worker {name_worker()} has the network {network.name}, and this machine "
                f"{self.name}; give all machines the same file."
            )
        return network


@dataclass(frozen=True)
class Sent:
    """A function of a shard and the network, as a worker calls it: with a look at the files first.

    Where one of them is not as it was listed, it returns an `Odd`.
    """

    function: Callable[[Any, Network], Any]
    lens: Lens

    def __call__(self, shard: Shard) -> Any:
        """Call it."""
        path = find_odd(shard.images)
        if path is not None:
            return Odd(path, name_worker())
        return self.function(shard, self.lens.open())


def find_workers(work: Workspace, n_images: int) -> Workers | None:
    """Return who is given so many images: a cluster, processes, or None for our own threads."""
    return find_processes(work.processes, n_images) if work.cluster is None else work.cluster


def find_processes(processes: Processes, n_images: int) -> Processes | None:
    """Return the processes if they are given so many images; None where threads are as quick."""
    is_worth = processes.n >= _LEAST_PROCESSES and n_images >= _WORTH * processes.n
    return processes if is_worth else None


def measure_images(work: Workspace, todo: Sequence[int]) -> Iterator[list[Measured]]:
    """Yield the measurements of images of the collection, a batch at a time.

    Thumbnails are on the shelf before their records are given, named by the digest of the image's
    content. A file that could not be read for a reason of the moment has an empty stamp.
    """
    batches, shelf = deal_batches(todo, work.network), work.draft.shelf
    workers = find_workers(work, len(todo))
    if workers is None:
        yield from map_in_order(
            lambda batch: measure_batch(work.collection, batch, work.network, shelf),
            batches,
            n_jobs=work.n_jobs,
        )
        return
    shards = [lambda batch=batch: Shard(work.collection.part(batch)) for batch in batches]
    for _, (records, pictures) in send_out(work, workers, measure_shard, shards):
        for address, data in pictures.items():
            shelf.put(address, data)
        yield records


def measure_shard(shard: Shard, network: Network) -> tuple[list[Measured], dict[str, bytes]]:
    """Return the records and the thumbnails of the images of a shard."""
    parcel = Parcel()
    records = measure_batch(shard.images, range(len(shard.images)), network, parcel)
    return records, parcel.pictures


def send_out(
    work: Workspace,
    workers: Workers | None,
    function: Callable[[Any, Network], Any],
    shards: Sequence[Callable[[], Shard]],
) -> Iterator[tuple[int, Any]]:
    """Yield the number of each shard and what a function returns for it, as they end.

    Parameters
    ----------
    work : Workspace
    workers : Workers or None
        None for threads, which end in order.
    function : callable
        Of a shard and the network; it travels.
    shards : sequence of callables
        Each makes a shard, when there is someone for it.
    """
    if workers is None:
        yield from enumerate(
            map_in_order(lambda make: function(make(), work.network), shards, n_jobs=work.n_jobs)
        )
        return
    lens = Lens.of(work.network, work.settings.embedder, work.settings.device)
    made = (make() for make in shards)
    for i, found in workers.map_as_done(Sent(function, lens), made):
        if isinstance(found, Odd):
            shard = shards[i]()
            check_shared(shard.images, found)
            found = function(shard, work.network)
        yield i, found


def find_odd(images: Collection) -> str | None:
    """Return the first file that is not there or is not as large as it was listed."""
    if images.folder is None:
        return None
    return next((item.path for item in images.items if _is_odd(images, item)), None)


def check_shared(images: Collection, odd: Odd) -> None:
    """Refuse a worker that sees another file than this machine does."""
    (item,) = (item for item in images.items if item.path == odd.path)
    if _is_odd(images, item):
        return  # it has changed since it was listed
    raise ClusterError(
        f"The worker {odd.worker} sees another file {odd.path!r} in {str(images.folder)!r} than "
        "this machine, or none; put the images on a disk that all machines share, under the same "
        "name."
    )


def _is_odd(images: Collection, item: Item) -> bool:
    assert images.folder is not None
    try:
        sizes = [os.stat(images.folder / path).st_size for path in item.burst or (item.path,)]
    except OSError:
        return True
    return str(sum(sizes)) != find_size(f"{item.path}\0{item.stamp}")

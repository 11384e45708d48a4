"""The network of a build, as it is opened by the workers of a cluster."""

import os
import threading
from dataclasses import dataclass

from joblib import effective_n_jobs

from fieldguide._cluster import name_worker
from fieldguide._device import count_shares
from fieldguide._processes import Processes
from fieldguide.errors import ClusterError, EmbedderError
from fieldguide.features.network import BUILTIN, Network, open_network

_BYTES_ON_DEVICE = 4 * 2**30  # of a graphics processor's memory, for each process
_open: dict["Lens", Network] = {}  # in a worker: its threads share them
_lock = threading.Lock()


def measuring_processes(network: Network, n_jobs: int | None) -> Processes:
    """Return as many processes as may measure, each with the network open."""
    n, on_device = int(effective_n_jobs(n_jobs)), network.n_at_once > 1
    return Processes(min(n, count_shares(_BYTES_ON_DEVICE)) if on_device else n)


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

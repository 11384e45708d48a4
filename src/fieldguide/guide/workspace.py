"""What the chapters of one build share, and the settings that it depends on."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs
from safetensors import SafetensorError

from fieldguide._cluster import Cluster
from fieldguide._device import count_shares
from fieldguide._files import is_disk_full
from fieldguide._processes import Processes
from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.features.network import Network, open_network
from fieldguide.guide.earlier import Earlier
from fieldguide.guide.editions import Draft
from fieldguide.guide.edits.log import EditLog, Reading
from fieldguide.guide.journal import Journal

MEASURE_VERSION = 2  # raise it when a measurement changes: old ones are then not used again

_BYTES_ON_DEVICE = 4 * 2**30  # of a graphics processor's memory, for each process

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Settings:
    """What a build depends on besides the collection."""

    seed: int = 0
    embedder: tuple[str, ...] = ()
    n_jobs: int = -1
    device: str = "cpu"
    title: str | None = None
    features: str = "auto"
    key: str = "auto"
    kernel: str = "linear"
    key_cost: float | None = None
    key_loss: float | None = None
    key_words: bool = False
    tree: str = "auto"
    marks: bool = True
    places: bool = True
    vocabulary: str | None = None  # the file with a list of words, as a text tower reads them
    recipe: str | None = None  # of the demonstration: which code drew it
    adds_to: int | None = None  # the edition that new specimens are added to; see adding.py


@dataclass
class Workspace:
    """Everything that a build shares.

    Attributes
    ----------
    collection : Collection
    settings : Settings
    network : Network
    journal : Journal
        What has been measured so far; a chapter keeps its own with ``journal.kept(name)``.
    draft : Draft
        The edition that is being written: ``draft.new(name)`` is a place for a file,
        ``draft.shelf`` takes pictures.
    earlier : Earlier
        The guide that stands in the folder already.
    edits : Reading
        What the owner has edited.
    progress : callable
        Takes (what is being done, how many are done, how many there are).
    built : dict
        What each chapter hands to those after it, by its name.
    info : dict
        What becomes guide.json; each chapter adds its own.
    pictures : set of str
        Addresses of pictures that are no specimen's.
    processes : Processes
        Of this machine; they measure in place of threads where that pays.
    cluster : Cluster or None
        Workers that measure in place of this machine.
    """

    collection: Collection
    settings: Settings
    network: Network
    journal: Journal
    draft: Draft
    earlier: Earlier
    progress: Progress
    processes: Processes
    edits: Reading = field(default_factory=Reading)
    built: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    pictures: set[str] = field(default_factory=set)
    cluster: Cluster | None = None

    @property
    def seed(self) -> int:
        """Of everything random."""
        return self.settings.seed

    @property
    def n_jobs(self) -> int:
        """Threads; the guide does not depend on it."""
        return self.settings.n_jobs


def name_measuring(network: str, max_pixels: int) -> str:
    """Return all that measurements depend on, as guide.json keeps it."""
    return f"{MEASURE_VERSION} {network} {max_pixels}"


@contextmanager
def explained_faults(out: Path) -> Iterator[None]:
    """Turn the errors of writing to a full or failing disk into a GuideError."""
    try:
        yield
    except (OSError, sqlite3.Error, SafetensorError) as error:
        if is_disk_full(error):
            raise GuideError(
                f"There is no room left on the disk of {str(out)!r}; free some, and run the same "
                "build again: it goes on where it stopped."
            ) from None
        if isinstance(error, OSError):
            raise
        raise GuideError(
            f"The guide {str(out)!r} cannot be written ({error}); when the disk works again, run "
            "the same build: it goes on where it stopped."
        ) from None


@contextmanager
def open_workspace(
    collection: Collection,
    out: Path,
    settings: Settings,
    progress: Progress,
    cluster: Cluster | None = None,
) -> Iterator[Workspace]:
    """Open the folder of a guide to build into; what the block wrote is published at its end."""
    out.mkdir(parents=True, exist_ok=True)
    progress("opening the network", 0, 1)
    network = open_network(settings.embedder, device=settings.device)
    measured = name_measuring(network.name, collection.max_pixels)
    processes = measuring_processes(network, settings.n_jobs)
    with explained_faults(out), Journal(out, measured) as journal:
        draft = Draft(out, journal)
        earlier = Earlier.open(out, measured)
        if settings.adds_to is not None and earlier.info.get("edition") != settings.adds_to:
            raise GuideError(
                f"The guide {str(out)!r} was built again meanwhile; run the same command again."
            )
        edits = EditLog(out).read()
        info: dict[str, Any] = {"measure_settings": measured}
        if edits.edits:
            info["edits"] = edits.last
        work = Workspace(
            *(collection, settings, network, journal, draft, earlier, progress, processes, edits),
            info=info,
            cluster=cluster,
        )
        yield work
        earlier.close()
        draft.publish(work.info, work.pictures)


def measuring_processes(network: Network, n_jobs: int | None) -> Processes:
    """Return as many processes as may measure, each with the network open."""
    n, on_device = int(effective_n_jobs(n_jobs)), network.n_at_once > 1
    return Processes(min(n, count_shares(_BYTES_ON_DEVICE)) if on_device else n)

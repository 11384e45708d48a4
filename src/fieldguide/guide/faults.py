"""What a disk may do to a build, said in one sentence."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from fieldguide._files import is_disk_full
from fieldguide.errors import GuideError


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

"""Atomic writes: a reader sees the old file or the new one, never half of one."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Give a temporary path beside ``path``; move it onto ``path`` when the block succeeds.

    The temporary file is removed when the block fails. ``durable=False`` does not wait for the
    disk: right for thousands of small files that can be made again.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if durable:
            with open(temporary, "r+b") as written:
                os.fsync(written.fileno())
        temporary.chmod(0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write ``data`` to ``path`` atomically."""
    with replacing(path, durable=durable) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` atomically, as UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` to ``path`` atomically, as indented JSON."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n")


def cache_folder() -> Path:
    """Return the user's cache folder for Fieldguide; it need not exist or be writable.

    ``FIELDGUIDE_CACHE`` names another one.
    """
    own = os.environ.get("FIELDGUIDE_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(base) / "fieldguide" if base else Path.home() / ".cache" / "fieldguide"
    except RuntimeError:  # a user without a home folder
        return Path(tempfile.gettempdir()) / "fieldguide"

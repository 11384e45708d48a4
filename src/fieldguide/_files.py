"""Writes that are whole or not there, and deletions by a list of names."""

import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

_VALUE_BYTES = 300  # of memory that a value of JSON may take: an object of one field


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
            sync(temporary)
        temporary.chmod(0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` atomically, as UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` to ``path`` atomically, as indented JSON."""
    write_bytes(path, encode_json(value))


def encode_json(value: Any) -> bytes:
    """Return ``value`` as indented JSON in UTF-8, as :func:`write_json` writes it."""
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    return f"{text}\n".encode()


def open_below(root: Path, name: str) -> int:
    """Open a regular file below a folder, and follow no link on the way; return its descriptor.

    Each folder is opened from the one before, so that none is put in its place meanwhile.
    """
    if os.open not in os.supports_dir_fd:  # Windows, where links take special rights
        place = os.path.join(os.path.realpath(root), name)
        if os.path.realpath(place) != os.path.normpath(place):
            raise OSError(errno.ELOOP, "it is a link, which is not followed", place)
        return open_regular(Path(place))
    *folders, last = name.split("/")
    inside = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            deeper = os.open(folder, flags, dir_fd=inside)
            os.close(inside)
            inside = deeper
        return open_regular(Path(last), inside=inside)
    finally:
        os.close(inside)


def open_regular(path: Path, flags: int = os.O_RDONLY, *, inside: int | None = None) -> int:
    """Open a regular file, and nothing else; return its descriptor.

    A link is not followed, and a pipe or a device, which may never end, is not waited for: both are
    an OSError. ``inside`` is an open folder that ``path`` begins at.
    """
    careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        flags |= careful | getattr(os, "O_BINARY", 0)
        file = os.open(path, flags, 0o644, dir_fd=inside)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link, which is not followed", str(path)) from None
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "it is no regular file", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return file


def open_without_waiting(path: str, flags: int) -> int:
    """Open what may be a pipe by now, which else would be waited for; an ``opener`` of open()."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_regular(path: Path) -> bytes:
    """Return what a regular file holds; see :func:`open_regular`.

    A file that would take half of the memory is an OSError: one of holes may claim any size.
    """
    with open(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > half_of_memory():
            raise OSError(errno.EFBIG, f"it claims {size / 1e9:,.1f} GB", str(path))
        return file.read()


@cache
def half_of_memory() -> int:
    """Return half of the bytes of memory that this machine has; 2 GB where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 2**31


def parse_json(data: bytes) -> Any:
    """Return the value in a JSON file that we wrote; ValueError for anything else.

    Numbers that no file of ours holds are refused where they stand: NaN, infinity, and whole
    numbers that are too large for a float. So is a file whose values would take half of the memory:
    two bytes can stand for three hundred.
    """
    if sum(map(data.count, (b"[", b"{", b","))) * _VALUE_BYTES > half_of_memory():
        raise ValueError("it holds more values than fit in the memory of this machine")
    try:
        return json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            parse_int=_parse_int,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}")


def _parse_float(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _refuse_constant(text[:40])


def _parse_int(text: str) -> int:
    return int(text) if len(text) < 309 else _refuse_constant(f"{text[:20]}…")


def is_disk_full(error: BaseException) -> bool:
    """Whether an error of the system, of SQLite, safetensors or NumPy says that a disk is full."""
    # NumPy says "17 requested and 4 written", and no number.
    said = ("disk is full", "No space left", "quota exceeded", " requested and ")
    number = getattr(error, "errno", None)
    return number in (errno.ENOSPC, errno.EDQUOT) or any(part in str(error) for part in said)


def sync(path: Path) -> None:
    """Wait until a file, or the list of names of a folder, is on the disk."""
    if path.is_dir() and os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_listed(root: Path, names: Iterable[str]) -> None:
    """Delete the files ``names`` below ``root``, and the folders that are empty by that.

    Nothing else goes: not a folder that holds other files, not what lies outside ``root`` or
    behind a link. A file that cannot be deleted, such as one in use, stays.
    """
    inside = os.path.realpath(root)
    named: dict[str, list[str]] = {}
    for name in names:
        folder, base = os.path.split(os.path.normpath(os.path.join(inside, name)))
        named.setdefault(folder, []).append(base)
    emptied: set[str] = set()
    for folder, bases in named.items():
        if os.path.realpath(folder) != folder or not Path(folder).is_relative_to(inside):
            continue
        for base in bases:
            with suppress(OSError):
                os.unlink(os.path.join(folder, base))
        while folder != inside:
            emptied.add(folder)
            folder = os.path.dirname(folder)
    for folder in sorted(emptied, key=len, reverse=True):
        with suppress(OSError):  # it holds other files, or is gone
            os.rmdir(folder)


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

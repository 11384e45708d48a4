"""List the files of a folder, tell which may be pictures, and read the CSV file beside it."""

import csv
import math
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fieldguide._files import open_without_waiting
from fieldguide.collection.clips import is_clip_name
from fieldguide.errors import CollectionError

_LITTER = {"thumbs.db", "desktop.ini", "ehthumbs.db"}
# Those that we read, and those that a user would miss if they were not listed as unreadable.
_PICTURES = frozenset(
    """
    .apng .arw .avif .bmp .cr2 .cr3 .dib .dng .gif .heic .heif .jfif .jp2 .jpe .jpeg .jpg .jxl .mpo
    .nef .orf .pbm .pgm .png .pnm .ppm .psd .raf .rw2 .svg .tga .tif .tiff .webp
    """.split()  # noqa: SIM905 - suffixes are easier to read and extend without quotes
)
# How files begin in the formats that we read; WebP has its name behind the size.
_BEGINNINGS = (
    b"\xff\xd8\xff",
    b"\x89PNG",
    b"RIFF",
    b"GIF8",
    b"II*\0",
    b"MM\0*",
    b"II+\0",
    b"MM\0+",
)
_VALUES = {
    **dict.fromkeys(("yes", "true", "y", "t", "1"), 1.0),
    **dict.fromkeys(("no", "false", "n", "f", "0"), 0.0),
    "": math.nan,
}


def list_files(root: Path) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """List the candidates below ``root``.

    Returns
    -------
    files : dict of relative path to stamp, ordered by path
        The stamp holds size and modification time: another stamp, another file.
    skipped : list of (relative path, reason)
    """
    inside = os.path.realpath(root)
    files: dict[str, str] = {}
    skipped: list[tuple[str, str]] = []
    pending = [("", str(root))]
    while pending:
        prefix, folder = pending.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            skipped.append((prefix or ".", f"the folder cannot be opened ({error.strerror})"))
            continue
        for entry in entries:
            if is_litter(entry.name):
                continue
            path = prefix + entry.name
            if not is_text(path):
                shown = path.encode("utf-8", "replace").decode()
                skipped.append((shown, "its name is not valid UTF-8; rename it"))
                continue
            try:
                reason = _reason_to_skip(entry, inside)
                if reason:
                    skipped.append((path, reason))
                elif entry.is_dir(follow_symlinks=False):
                    pending.append((path + "/", entry.path))
                else:
                    status = entry.stat()
                    files[path] = f"{status.st_size}-{status.st_mtime_ns}"
            except OSError as error:
                skipped.append((path, f"cannot be opened ({(error.strerror or '').lower()})"))
    return dict(sorted(files.items())), sorted(skipped)


def is_candidate(root: Path, path: str) -> bool:
    """Whether a file may be a picture or a clip: by its name, or else a picture by how it
    begins."""
    if is_picture_name(path):
        return True
    try:
        with open(root / path, "rb", opener=open_without_waiting) as file:
            head = file.read(16)
    except OSError:
        return False
    is_bitmap = head.startswith(b"BM") and head[6:10] == bytes(4)  # which its header leaves empty
    return is_bitmap or (
        head.startswith(_BEGINNINGS) and (head[:4] != b"RIFF" or head[8:12] == b"WEBP")
    )


def is_picture_name(path: str) -> bool:
    """Whether a file has the name of a picture or a clip."""
    return os.path.splitext(path)[1].lower() in _PICTURES or is_clip_name(path)


def is_litter(path: str) -> bool:
    """Whether a path is, or lies below, a hidden file or one that systems leave in folders."""
    return any(name.startswith(".") or name.lower() in _LITTER for name in path.split("/"))


def count_types(paths: Iterable[str]) -> dict[str, int]:
    """Count files by how their names end, the most frequent first; "" for no ending."""
    counts = Counter(os.path.splitext(path)[1].lower() for path in paths)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _reason_to_skip(entry: os.DirEntry[str], inside: str) -> str | None:
    if entry.is_symlink():
        target = os.path.realpath(entry.path)
        if os.path.commonpath([inside, target]) != inside:
            return "a link that leaves the folder"
        if not os.path.exists(target):
            return "a link to nothing"
        if os.path.isdir(target):
            return "a link to a folder that is read anyway"
    elif entry.is_dir(follow_symlinks=False):
        return None
    if not stat.S_ISREG(entry.stat().st_mode):
        return "not a regular file"
    return None


def is_text(path: str) -> bool:
    """Whether a path can be written as UTF-8."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class Sidecar(NamedTuple):
    """The table that accompanies a folder, one row per image."""

    paths: list[str]
    labels: list[str | None] | None
    keywords: list[tuple[str, ...]]
    attributes: np.ndarray  # (n, len(names)), NaN where unknown
    names: tuple[str, ...]


def read_sidecar(path: Path) -> Sidecar:
    """Read a CSV file with ``path``, optionally ``label`` and ``keywords``, and attributes."""
    shown = repr(str(path))
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise CollectionError(f"The sidecar {shown} is not a file; give a CSV file.")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(_without_nul(file))
            header = [name.strip() for name in next(reader, [])]
            rows = [(reader.line_num, row) for row in reader if row]
    except OSError as error:
        raise CollectionError(f"The sidecar {shown} cannot be opened: {error}.") from None
    except (csv.Error, ValueError) as error:  # ValueError: not UTF-8, or a NUL
        raise CollectionError(f"The sidecar {shown} is not a CSV file in UTF-8: {error}.") from None
    if "path" not in header or len(set(header)) != len(header) or "" in header:
        raise CollectionError(
            f"The sidecar {shown} needs a header of different names with one column 'path'; "
            f"it has {', '.join(map(_quote, header[:20])) or 'none'}."
        )
    names = tuple(name for name in header if name not in ("path", "label", "keywords"))
    columns = [header.index(name) for name in names]
    first_line: dict[str, int] = {}
    table = np.full((len(rows), len(names)), np.nan, dtype=np.float32)
    for i, (line, row) in enumerate(rows):
        if len(row) != len(header):
            raise CollectionError(
                f"Line {line} of the sidecar {shown} does not have {len(header)} fields."
            )
        image = row[header.index("path")].strip().replace("\\", "/").removeprefix("./")
        if first_line.setdefault(image, line) != line:
            raise CollectionError(
                f"The sidecar {shown} names {_quote(image)} more than once, "
                f"in lines {first_line[image]} and {line}."
            )
        values = [_attribute_value(row[j]) for j in columns]
        if None in values:
            j = columns[values.index(None)]
            raise CollectionError(
                f"{_quote(header[j])} in line {line} of the sidecar {shown} is "
                f"{_quote(row[j].strip())}; "
                "an attribute is a number from 0 to 1, yes, no, or empty."
            )
        table[i] = values
    labels = _column(rows, header, "label")
    return Sidecar(
        list(first_line),
        None if labels is None else [label.strip() or None for label in labels],
        [_split_keywords(text) for text in _column(rows, header, "keywords") or [""] * len(rows)],
        table,
        names,
    )


def _without_nul(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise ValueError(f"line {number} holds a NUL")
        yield line


def _quote(text: str) -> str:
    """Return ``text`` in quotes, cut to what a sentence can hold."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


def _column(rows: list[tuple[int, list[str]]], header: list[str], name: str) -> list[str] | None:
    if name not in header:
        return None
    j = header.index(name)
    return [row[j] for _, row in rows]


def _split_keywords(text: str) -> tuple[str, ...]:
    return tuple(word.strip().lower() for word in text.split(";") if word.strip())


def _attribute_value(text: str) -> float | None:
    """Return a value from 0 to 1, NaN where it is missing, or None where it is neither."""
    if text in _VALUES:  # most are, as they stand
        return _VALUES[text]
    text = text.strip().lower()
    if text in _VALUES:
        return _VALUES[text]
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None

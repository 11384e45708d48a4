"""List the files of a folder, and read the CSV file that may accompany it."""

import csv
import os
import stat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fieldguide.errors import CollectionError

_LITTER = {"thumbs.db", "desktop.ini", "ehthumbs.db"}
_YES = {"yes", "true", "y", "t"}
_NO = {"no", "false", "n", "f"}


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
            if entry.name.startswith(".") or entry.name.lower() in _LITTER:
                continue
            path = prefix + entry.name
            if not _is_text(path):
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


def _reason_to_skip(entry: os.DirEntry, inside: str) -> str | None:
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


def _is_text(path: str) -> bool:
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
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = [name.strip() for name in reader.fieldnames or []]
            reader.fieldnames = header
            rows = list(reader)
    except OSError as error:
        raise CollectionError(f"The sidecar {str(path)!r} cannot be opened: {error}.") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise CollectionError(
            f"The sidecar {str(path)!r} is not a CSV file in UTF-8: {error}."
        ) from None
    if "path" not in header or len(set(header)) != len(header) or "" in header:
        raise CollectionError(
            f"The sidecar {str(path)!r} needs a header of different names with one column 'path'; "
            f"it has {', '.join(map(repr, header)) or 'none'}."
        )
    names = tuple(name for name in header if name not in ("path", "label", "keywords"))
    paths: list[str] = []
    table = np.full((len(rows), len(names)), np.nan, dtype=np.float32)
    for i, row in enumerate(rows):
        if None in row or None in row.values():
            raise CollectionError(
                f"Line {i + 2} of the sidecar {str(path)!r} does not have {len(header)} fields."
            )
        paths.append(row["path"].strip().replace("\\", "/").removeprefix("./"))
        for j, name in enumerate(names):
            table[i, j] = _attribute_value(row[name], name, i + 2, path)
    if len(set(paths)) != len(paths):
        twice = next(p for p in paths if paths.count(p) > 1)
        raise CollectionError(f"The sidecar {str(path)!r} names {twice!r} more than once.")
    labels = [row["label"].strip() or None for row in rows] if "label" in header else None
    keywords = [
        tuple(word.strip().lower() for word in row.get("keywords", "").split(";") if word.strip())
        for row in rows
    ]
    return Sidecar(paths, labels, keywords, table, names)


def _attribute_value(text: str, name: str, line: int, path: Path) -> float:
    text = text.strip().lower()
    if not text:
        return float("nan")
    if text in _YES:
        return 1.0
    if text in _NO:
        return 0.0
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value <= 1:
        raise CollectionError(
            f"{name!r} in line {line} of the sidecar {str(path)!r} is {text!r}; "
            "an attribute is a number from 0 to 1, yes, no, or empty."
        )
    return value

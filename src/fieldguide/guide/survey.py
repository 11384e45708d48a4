"""A survey: what a guide says of many pictures, as a table with a row for each.

Rows that are done are kept in a file beside the table, ``out.csv.part``: a line of JSON each, with
the stamp of the picture's file. A survey that was stopped goes on from there and ends in the same
table. The table itself is written when the last row is known, whole or not at all; then the kept
rows go.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fieldguide._check import check_jobs
from fieldguide._csv import write_table
from fieldguide._files import encode_json, read_regular, write_bytes
from fieldguide._parallel import map_in_order
from fieldguide.collection import Collection, read_picture_or_clip
from fieldguide.errors import CollectionError, FieldguideError, GuideError, UnreadableImageError
from fieldguide.guide.answer import N_DIGITS
from fieldguide.guide.answering import find_group, place_row
from fieldguide.guide.measure import LARGE_PX
from fieldguide.guide.shards import find_processes
from fieldguide.guide.sighting import Sighting, look_together
from fieldguide.guide.workspace import measuring_processes

if TYPE_CHECKING:
    from fieldguide.guide.guide import Guide

_BATCH = 4  # pictures that are named at a time, or as many as a device is shown at once
_MADE_BY = "fieldguide identify --csv"


class Shot(NamedTuple):
    """A picture to be named, or a file that cannot be one."""

    file: str  # as the user writes it: the given folder, then the path inside it
    stamp: str  # changes when the file does
    error: str = ""  # why it is not looked at


class Named(NamedTuple):
    """A row of the table; a field that does not apply is None, and then an empty cell."""

    file: str
    kind: str | None = None  # the likeliest
    confidence: float | None = None  # calibrated probability of that kind
    group: str | None = None  # the fewest kinds among which it is, nine times in ten
    none_of_these: str | None = None  # "true" where it is unlike all specimens, else "false"
    empty: str | None = None  # "true" where no subject stands out, else "false"
    date: str | None = None  # when it was taken, by its EXIF
    branch: str | None = None  # where it belongs in the tree, in words
    error: str | None = None  # why it cannot be read


COLUMNS = Named._fields


def list_shots(places: Sequence[str | os.PathLike[str]]) -> list[Shot]:
    """Return the pictures among files and in folders, those of each folder by their path.

    A picture that is named twice is listed once.
    """
    found: dict[str, Shot] = {}
    for place in map(Path, places):
        if not place.is_dir():
            found.setdefault(str(place), Shot(str(place), _stamp(place)))
            continue
        listed = Collection.from_folder(place, kinds="none")
        shots = [Shot(str(place / item.path), item.stamp) for item in listed.items]
        shots += [Shot(str(place / path), "", reason) for path, reason in listed.skipped]
        for shot in sorted(shots):
            found.setdefault(shot.file, shot)
    if not found:
        raise CollectionError(
            f"There is no picture in {', '.join(repr(str(place)) for place in places)}; give a "
            "folder that holds some."
        )
    return list(found.values())


def survey(
    guide: "Guide",
    shots: Sequence[Shot],
    target: Path,
    *,
    n_jobs: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Named]:
    """Name many pictures and write the table of them to ``target``, a CSV file; return its rows.

    Parameters
    ----------
    guide : Guide
    shots : sequence of Shot
        From :func:`list_shots`.
    target : Path
    n_jobs : int, optional
        How many cores work; -1 is all. The table does not depend on it.
    progress : callable, optional
        Called with (what is being done, how many are done, how many there are).
    """
    check_jobs("a survey", n_jobs)
    report = progress or (lambda *_: None)
    kept = _Kept(target.with_name(f"{target.name}.part"), _fingerprint(guide))
    rows = kept.read(shots)
    todo = [shot for shot in shots if shot.file not in rows]
    report("naming pictures", len(rows), len(shots))
    with open(kept.path, "ab") as file:
        for batch in _name_all(guide, todo, n_jobs):
            rows |= {each.said.file: each.said for each in batch}
            lasting = [(each.shot.stamp, each.said) for each in batch if not each.is_passing]
            file.write(b"".join(_line(*each) for each in lasting))
            file.flush()
            report("naming pictures", len(rows), len(shots))
    table = [rows[shot.file] for shot in shots]
    write_table(target, COLUMNS, ((_text(row.file), *row[1:]) for row in table))
    kept.path.unlink(missing_ok=True)
    return table


class _Row(NamedTuple):
    """What is said of a picture, and whether that may be another thing the next time."""

    shot: Shot
    said: Named
    is_passing: bool = False


def _name_all(guide: "Guide", shots: Sequence[Shot], n_jobs: int) -> Iterator[list[_Row]]:
    if not shots:
        return
    network = guide.network
    size = max(_BATCH, network.n_at_once)
    batches = [shots[i : i + size] for i in range(0, len(shots), size)]
    processes = find_processes(measuring_processes(network, n_jobs), len(shots))
    if processes is None:
        yield from map_in_order(lambda batch: _name(guide, batch), batches, n_jobs=n_jobs)
        return
    name = NameShots(guide.folder, guide.embedder, guide.device, _fingerprint(guide))
    for _, named in processes.map_as_done(name, batches):
        yield named


@dataclass(frozen=True)
class NameShots:
    """Names pictures in a process that opens the guide by itself."""

    folder: Path
    embedder: tuple[str, ...]
    device: str
    fingerprint: str

    def __call__(self, batch: Sequence[Shot]) -> list[_Row]:
        """Do it."""
        return _name(_open_same(self), batch)


@cache
def _open_same(asked: NameShots) -> "Guide":
    from fieldguide.guide.guide import Guide

    guide = Guide.open(asked.folder)
    if _fingerprint(guide) != asked.fingerprint:
        raise GuideError(
            f"The guide {str(asked.folder)!r} was built again meanwhile; run the same command "
            "again."
        )
    guide.use_embedder(asked.embedder)
    guide.use_device(asked.device)
    return guide


def _name(guide: "Guide", batch: Sequence[Shot]) -> list[_Row]:
    """Return the rows of some pictures."""
    found: list[_Row | Sighting] = []
    for shot in batch:
        if shot.error:
            found.append(_Row(shot, Named(shot.file, error=shot.error)))
            continue
        try:
            found.append(guide.look(read_picture_or_clip(shot.file, at_least_px=LARGE_PX)))
        except UnreadableImageError as error:
            found.append(_Row(shot, Named(shot.file, error=str(error)), error.passing))
    look_together([each for each in found if isinstance(each, Sighting)])
    return [
        each if isinstance(each, _Row) else _Row(shot, _describe(guide, shot, each))
        for shot, each in zip(batch, found, strict=True)
    ]


def _describe(guide: "Guide", shot: Shot, sighting: Sighting) -> Named:
    kinds = sighting.kinds
    return Named(
        shot.file,
        kinds[0].name if kinds else None,
        round(kinds[0].probability, N_DIGITS) if kinds else None,
        "; ".join(find_group(sighting)),
        _word(bool(kinds) and sighting.is_stranger),
        _word(sighting.is_empty),
        sighting.picture.taken.date,
        guide.sentence(place_row(guide, sighting.nearest)),
    )


class _Kept:
    """The rows of a survey that was stopped."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self._head = {"made_by": _MADE_BY, "guide": fingerprint}

    def read(self, shots: Sequence[Shot]) -> dict[str, Named]:
        """Return the rows of files that are as they were, and leave a file of these alone."""
        stamps = {shot.file: shot.stamp for shot in shots}
        rows, lines = {}, [_json_line(self._head)]
        for entry in self._read_entries():
            row = Named(*entry["row"])
            if stamps.get(row.file) == entry["stamp"]:
                rows[row.file] = row
                lines.append(_line(entry["stamp"], row))
        write_bytes(self.path, b"".join(lines))
        return rows

    def _read_entries(self) -> list[dict[str, Any]]:
        try:
            head, *lines = read_regular(self.path).split(b"\n")
        except FileNotFoundError:
            return []
        if (_parse(head) or {}).get("made_by") != _MADE_BY:
            if not head and not lines:  # an empty file
                return []
            raise FieldguideError(
                f"{str(self.path)!r} is no survey that was stopped; move it away, or give `csv` "
                "another name."
            )
        if _parse(head) != self._head:  # of another guide, or of this one before it was built again
            return []
        # What follows the last line break is a line that was being written.
        entries = [_parse(line) for line in lines[:-1]]
        return [entry for entry in entries if entry is not None and _is_entry(entry)]


def _is_entry(entry: dict[str, Any]) -> bool:
    row = entry.get("row")
    return isinstance(row, list) and len(row) == len(COLUMNS) and isinstance(row[0], str)


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _line(stamp: str, row: Named) -> bytes:
    return _json_line({"stamp": stamp, "row": list(row)})


def _json_line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _fingerprint(guide: "Guide") -> str:
    """Return what changes when the guide is built again."""
    return blake2b(encode_json(guide.about), digest_size=16).hexdigest()


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return ""  # why it cannot be read is said when it is
    return f"{status.st_size}-{status.st_mtime_ns}"


def _text(file: str) -> str:
    """Return the name of a file with a sign in the place of what is no text."""
    return file.encode("utf-8", "replace").decode()


def _word(value: bool) -> str:
    return "true" if value else "false"

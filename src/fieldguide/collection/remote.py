"""Images at an address: in an object store, or in tar shards there, through fsspec.

An address is what fsspec opens: ``s3://bucket/photos``, ``gs://…``, ``file:///shared/shards``. All
files below it are listed with their sizes. A ``.tar`` file is a shard, as WebDataset writes them:
its headers are read, and of its members those that lie beside a picture under the same name:

==============  ===================================================================
``.cls``        the kind, as it stands there
``.txt .json``  a caption or words, as beside files: :mod:`fieldguide.collection.captions`
==============  ===================================================================

A picture is read when it is needed, with one request: of a member of a shard, its bytes alone.
"""

import os
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from fieldguide.collection.captions import (
    MAX_BYTES,
    SUFFIXES,
    Caption,
    find_captions,
    join_captions,
    parse_caption,
)
from fieldguide.collection.clips import is_clip_name, read_picture_or_clip, read_stretch
from fieldguide.collection.collection import Collection, Item
from fieldguide.collection.digests import digest_of
from fieldguide.collection.folder import (
    count_types,
    is_litter,
    is_picture_name,
    is_text,
    read_sidecar,
)
from fieldguide.collection.frames import Stretch
from fieldguide.collection.images import MAX_FILE_BYTES, Picture, read_header
from fieldguide.collection.layout import choose_kinds
from fieldguide.collection.taken import Taken
from fieldguide.errors import CollectionError, UnreadableImageError

SHARD, KIND = ".tar", ".cls"
# What stores call the state of a file; the first that there is.
_STATES = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "created")


class Place(NamedTuple):
    """Where the bytes of a file are."""

    file: str
    size: int
    start: int | None = None  # in a shard


class Listed(NamedTuple):
    """A file or a member of a shard."""

    place: Place
    stamp: str
    folders: str  # its path without the name of the shard, by which kinds are found
    beside: bytes | None = None  # what a small member holds that is no picture


@dataclass(frozen=True, eq=False, repr=False)
class RemoteCollection(Collection):
    """Images at an address."""

    address: str = ""
    places: tuple[Place, ...] = ()

    def part(self, indices: Sequence[int]) -> "RemoteCollection":
        """Return some of the images as a small collection that other processes can be given."""
        return RemoteCollection(
            self.name,
            tuple(self.items[i] for i in indices),
            max_pixels=self.max_pixels,
            address=self.address,
            places=tuple(self.places[i] for i in indices),
        )

    def picture(self, i: int, *, at_least_px: int = 0) -> tuple[Picture, str]:
        """Fetch and decode image ``i``, or a few frames of a clip; return it with a digest of its
        content."""
        data = self._fetch(i)
        picture = read_picture_or_clip(data, max_pixels=self.max_pixels, at_least_px=at_least_px)
        return picture, digest_of(data)

    def stretch(self, i: int, at_s: float) -> Stretch | None:
        """Fetch clip ``i`` and return some frames in a row, around a moment."""
        return read_stretch(self._fetch(i), at_s, max_pixels=self.max_pixels)

    def taken(self, i: int) -> Taken | None:
        """Return when and where image ``i`` was taken; None where it cannot be fetched, and for a
        clip."""
        if is_clip_name(self.items[i].path):
            return None
        try:
            return read_header(self._fetch(i))
        except UnreadableImageError:
            return None

    def digest(self, i: int) -> str | None:
        """Return the digest of image ``i``; None where it cannot be fetched."""
        try:
            return digest_of(self._fetch(i))
        except UnreadableImageError:
            return None

    def _fetch(self, i: int) -> bytes:
        file, size, start = self.places[i]
        if size > MAX_FILE_BYTES:
            raise UnreadableImageError(
                f"{size / 2**20:.0f} MB is more than the {MAX_FILE_BYTES // 2**20} MB that we read"
            )
        files = open_address(self.address)[0]
        end = None if start is None else start + size
        try:
            data = bytes(files.cat_file(file, start=start, end=end))
        except Exception as error:  # each store has errors of its own
            raise UnreadableImageError(f"cannot be read ({_say(error)})", passing=True) from None
        if len(data) != size:
            raise UnreadableImageError("it changed after it was listed", passing=True)
        return data


def list_address(
    address: str, *, kinds: str, sidecar: str | os.PathLike[str] | None, max_pixels: int
) -> Collection:
    """Return the images at an address, as :meth:`Collection.from_folder` does of a folder."""
    table = None if sidecar is None else read_sidecar(Path(sidecar))
    skipped: list[tuple[str, str]] = []
    files = dict(sorted(_list_files(address, skipped)))
    wanted = files if table is None else set(table.paths)
    named = [path for path in files if path in wanted and is_picture_name(path)]
    if table is not None:
        missing = "named in the sidecar, but there is no such file"
        skipped += [(path, missing) for path in table.paths if path not in files]
    others = {path: files[path] for path in files if not is_picture_name(path)}
    said, used = _read_captions(address, named, others)
    layout = choose_kinds([files[path].folders for path in named], kinds)
    own = {} if kinds == "none" else _read_kinds(others)
    items = tuple(
        Item(path, own.get(_stem(path), kind), words, files[path].stamp, text)
        for path, kind, (words, text) in zip(
            named, layout.kinds, (said.get(path, Caption()) for path in named), strict=True
        )
    )
    because = layout.because
    if own:
        because = "Kinds are what stands in the shards (.cls) beside the pictures."
    made = RemoteCollection(
        address.rstrip("/").rpartition("/")[2].removesuffix(SHARD) or address,
        items,
        skipped=tuple(skipped),
        others=count_types(path for path in others if path not in used and not path.endswith(KIND)),
        n_captions=len(used),
        kinds_because=because,
        max_pixels=max_pixels,
        kinds_rule=kinds,
        address=address,
        places=tuple(files[path].place for path in named),
    )
    return made if table is None else replace(made._annotate(table), others={})


def open_address(address: str) -> tuple[Any, str]:
    """Return the store at an address, and the path in it; CollectionError where it is unknown."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise CollectionError(
            f"Images at {address!r} need the package fsspec, which is not installed; run "
            "'pip install fieldguide[remote]'."
        ) from None
    try:
        files, root = url_to_fs(address)
    except Exception as error:  # an unknown protocol, a package that it needs, no credentials
        raise CollectionError(
            f"The address {address!r} cannot be opened ({_say(error)})."
        ) from None
    return files, str(root)


def _list_files(address: str, skipped: list[tuple[str, str]]) -> Iterator[tuple[str, Listed]]:
    """Yield all files at an address, and the members of shards, by their paths."""
    files, root = open_address(address)
    try:
        found = files.find(root, detail=True)
    except Exception as error:  # each store has errors of its own
        raise CollectionError(f"The address {address!r} cannot be read ({_say(error)}).") from None
    if not found:
        raise CollectionError(f"There is nothing at the address {address!r}; check it.")
    base = root.rstrip("/") if root not in found else os.path.dirname(root)
    for file, about in found.items():
        path = file.removeprefix(base).lstrip("/")
        if reason := _refuse(path):
            skipped.append(reason)
        elif not is_litter(path) and path.lower().endswith(SHARD):
            yield from _list_members(files, file, path, _tell_state(about), skipped)
        elif not is_litter(path):
            size = int(about.get("size") or 0)
            state = f"{size}-{_tell_state(about)}"
            yield path, Listed(Place(file, size), state, path)


def _list_members(
    files: Any, file: str, path: str, state: str, skipped: list[tuple[str, str]]
) -> Iterator[tuple[str, Listed]]:
    """Yield the members of a shard."""
    seen: set[str] = set()
    try:
        with files.open(file, "rb") as opened, tarfile.open(fileobj=opened, mode="r:") as shard:
            for member in shard:
                inner = member.name.removeprefix("./")
                name = f"{path[: -len(SHARD)]}/{inner}"
                if not member.isreg():
                    continue
                if reason := _refuse(inner):
                    skipped.append((f"{path[: -len(SHARD)]}/{reason[0]}", reason[1]))
                    continue
                if is_litter(inner):
                    continue
                if inner in seen:
                    skipped.append((name, "a second file of this name in the shard"))
                    continue
                seen.add(inner)
                beside = None
                is_small = member.size <= MAX_BYTES
                if is_small and os.path.splitext(inner)[1].lower() in (*SUFFIXES, KIND):
                    told = shard.extractfile(member)
                    beside = b"" if told is None else told.read()
                place = Place(file, member.size, member.offset_data)
                stamp = f"{member.size}-{state}-{member.offset_data}"
                yield name, Listed(place, stamp, inner, beside)
    except Exception as error:  # of the store, or of a damaged shard
        skipped.append((path, f"the shard cannot be read to its end ({_say(error)})"))


def _refuse(path: str) -> tuple[str, str] | None:
    """Return a path that no guide can hold, and why; None for any other."""
    shown = path.encode("utf-8", "replace").decode().replace("\0", " ")
    if not is_text(path) or "\0" in path:
        return shown, "its name is not valid UTF-8; rename it"
    if ".." in path.split("/") or path.startswith("/"):
        return shown, "its name leads out of the shard; rename it"
    return None


def _read_captions(
    address: str, paths: Sequence[str], others: dict[str, Listed]
) -> tuple[dict[str, Caption], set[str]]:
    """Return what is said beside each picture, and the files that gave words."""
    beside = find_captions(paths, others)
    wanted = dict.fromkeys(file for found in beside.values() for file in found)
    apart = [path for path in wanted if others[path].beside is None and _is_small(others[path])]
    files = open_address(address)[0]
    fetched = (
        files.cat([others[path].place.file for path in apart], on_error="omit") if apart else {}
    )
    held = {path: fetched.get(others[path].place.file, b"") for path in apart}
    said = {
        path: parse_caption(
            others[path].beside or held.get(path, b""), is_json=path.lower().endswith(".json")
        )
        for path in wanted
    }
    return join_captions(beside, said)


def _is_small(file: Listed) -> bool:
    return file.place.start is None and file.place.size <= MAX_BYTES


def _read_kinds(others: dict[str, Listed]) -> dict[str, str]:
    """Return what stands in the files of kinds of shards, by the path without its ending."""
    told = {
        _stem(path): (each.beside or b"").decode("utf-8", "replace").strip()
        for path, each in others.items()
        if path.endswith(KIND)
    }
    return {
        stem: kind
        for stem, kind in told.items()
        if kind and len(kind) <= 100 and kind.isprintable()
    }


def _stem(path: str) -> str:
    return os.path.splitext(path)[0]


def _tell_state(about: dict[str, Any]) -> str:
    """Return a few letters that change when a file does, as far as the store tells."""
    state = next((str(about[name]) for name in _STATES if about.get(name)), "")
    return blake2b(state.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _say(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:160].rstrip(".")

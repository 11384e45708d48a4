"""The images that a guide was built from, where they still are.

A guide keeps small pictures and does without the originals. It knows where their folder was, seen
from its own; a file of it is an original as long as it lies there, links followed, and has the
content that was measured. Nothing else of that folder can be had.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

from fieldguide.collection.clips import is_clip_name
from fieldguide.collection.digests import digest_clip, digest_of
from fieldguide.collection.images import read_file
from fieldguide.collection.video_files import find_container
from fieldguide.errors import UnreadableImageError

_VIDEOS = {"mov": "video/mp4", "avi": "video/x-msvideo", "matroska": "video/webm"}
_TYPES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG", "image/png"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
    (b"BM", "image/bmp"),
    (b"II", "image/tiff"),
    (b"MM", "image/tiff"),
)


class Original(NamedTuple):
    """An image file as its owner has it."""

    data: bytes
    media_type: str


def find_original(guide: Path, about: dict[str, Any], path: str) -> Path | None:
    """Return where a specimen's image is; None where it is not in its folder any more."""
    where = about.get("images")
    if not isinstance(where, str):
        return None
    try:
        folder = Path(os.path.realpath(guide / where))
        found = Path(os.path.realpath(folder / path))
        is_inside = found.is_relative_to(folder) and found != folder
        return found if is_inside and found.is_file() else None
    except (OSError, ValueError):
        return None


def read_original(guide: Path, about: dict[str, Any], path: str, digest: str) -> Original | None:
    """Return a specimen's image; None where it is gone or has changed since it was measured."""
    found = find_original(guide, about, path)
    if found is None:
        return None
    try:
        data = read_file(found)
        known = digest_clip(found) if is_clip_name(found) else digest_of(data)
    except UnreadableImageError:
        return None
    if known != digest:
        return None
    container = find_container(data[:16])
    if container is not None:
        return Original(data, _VIDEOS[container])
    return Original(data, next((t for mark, t in _TYPES if data.startswith(mark)), "image/x-none"))

"""Images in: folders and arrays become a :class:`Collection`; the only reader of image files."""

from fieldguide.collection.arrays import to_rgb_array
from fieldguide.collection.clips import read_picture_or_clip
from fieldguide.collection.collection import Collection, Item
from fieldguide.collection.digests import digest_of
from fieldguide.collection.frames import Stretch
from fieldguide.collection.images import Frames, Picture, read_file, read_picture
from fieldguide.collection.taken import Taken

__all__ = [
    "Collection",
    "Frames",
    "Item",
    "Picture",
    "Stretch",
    "Taken",
    "digest_of",
    "read_file",
    "read_picture",
    "read_picture_or_clip",
    "to_rgb_array",
]

"""A collection: many images, what their owner says of them, and what could not be used.

Nothing is decoded when a collection is made: a folder is listed, arrays are kept as they are.
Pictures are decoded one at a time, when somebody asks for them.
"""

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fieldguide._check import check_choice, check_number
from fieldguide._display import make_card
from fieldguide.collection.arrays import check_attributes, check_texts, to_arrays
from fieldguide.collection.bursts import find_bursts, join_burst
from fieldguide.collection.captions import Caption, find_captions, join_captions, read_caption
from fieldguide.collection.clips import is_clip_name, read_picture_or_clip, read_stretch
from fieldguide.collection.digests import digest_clip, digest_of
from fieldguide.collection.folder import (
    Sidecar,
    count_types,
    is_candidate,
    list_files,
    read_sidecar,
)
from fieldguide.collection.frames import Stretch, choose_stretch, take_frames, walk_array
from fieldguide.collection.images import (
    MAX_PIXELS,
    Picture,
    read_file,
    read_header,
    read_picture,
)
from fieldguide.collection.layout import KIND_RULES, choose_kinds
from fieldguide.collection.taken import Taken
from fieldguide.errors import CollectionError, UnreadableImageError


@dataclass(frozen=True)
class Item:
    """One image of a collection, before it is read.

    Examples
    --------
    >>> Item("owls/tawny.jpg", kind="owls", keywords=("night",)).kind
    'owls'
    """

    path: str  # relative, forward slashes
    kind: str | None = None
    keywords: tuple[str, ...] = ()  # of the sidecar and of captions beside it
    stamp: str = ""  # changes when the file does
    caption: str = ""  # the owner's sentence in a file beside it
    burst: tuple[str, ...] = ()  # the pictures of a burst, the first of which gives the path


@dataclass(frozen=True, eq=False, repr=False)
class Collection:
    """Images with their labels and attributes.

    Make one with :meth:`from_folder` or :meth:`from_arrays`.

    Attributes
    ----------
    name : str
        What to call it: the name of the folder.
    items : tuple of Item
        Ordered by path.
    attributes : ndarray of shape (n_items, n_attributes) or None
        The owner's annotation in [0, 1]; NaN where it is missing.
    attribute_names : tuple of str
    skipped : tuple of (path, reason)
        What was seen in the folder and is not a candidate.
    others : dict of str to int
        How many other files the folder holds, by the ends of their names, such as ".xml".
    n_captions : int
        Files beside pictures that gave them words.
    kinds_because : str
        Where the kinds come from, in words; empty for arrays and for kinds "none".
    folder : Path or None
        Where the images are; None for arrays.
    kinds_rule : str
        Where kinds were looked for, as of :meth:`from_folder`.
    sidecar : Path or None
        The CSV file that was read beside the folder.
    bursts : bool
        Whether the pictures of a burst are one image.
    frames_per_s : float
        Of clips that are arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.collection import Collection
    >>> pictures = np.zeros((2, 32, 32, 3), dtype=np.uint8)
    >>> collection = Collection.from_arrays(pictures, ["owl", "wren"])
    >>> len(collection), collection.items[0].kind
    (2, 'owl')
    """

    name: str
    items: tuple[Item, ...]
    attributes: np.ndarray | None = None
    attribute_names: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    others: dict[str, int] = field(default_factory=dict)
    n_captions: int = 0
    kinds_because: str = ""
    max_pixels: int = MAX_PIXELS
    folder: Path | None = field(default=None, repr=False)
    kinds_rule: str = "auto"
    sidecar: Path | None = None
    bursts: bool = False
    frames_per_s: float = 10.0
    _arrays: tuple[np.ndarray, ...] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        n_kinds = len({item.kind for item in self.items if item.kind is not None})
        return f"<Collection {self.name!r}: {len(self):,} images, {n_kinds:,} kinds>"

    def _repr_html_(self) -> str:
        counts = Counter(item.kind for item in self.items if item.kind is not None)
        skipped = f" {len(self.skipped):,} files were skipped." if self.skipped else ""
        lines = [f"{len(self):,} images of {len(counts):,} kinds.{skipped}", self.kinds_because]
        return make_card(self.name, lines, ("kind", "images"), counts.most_common(12))

    @classmethod
    def from_folder(
        cls,
        folder: str | os.PathLike[str],
        *,
        kinds: str = "auto",
        sidecar: str | os.PathLike[str] | None = None,
        max_pixels: int = MAX_PIXELS,
        bursts: bool = False,
    ) -> "Collection":
        """List a folder of images and clips, and its sub-folders.

        Hidden files are passed over. A link that leaves the folder is not followed. Nothing is
        written into the folder. A file ``name.txt`` or ``name.json`` beside ``name.jpg`` gives the
        image words: see :mod:`fieldguide.collection.captions`.

        Parameters
        ----------
        folder : path, or str
            An address that fsspec opens, such as "s3://bucket/photos", is listed through it (extra
            ``remote``); tar files there are shards of WebDataset: see ``docs/scale.md``.
        kinds : {"auto", "parent", "top", "none"}
            Where a kind comes from: the folder that holds the image, the first folder below
            ``folder``, or nowhere. "auto" is the nearest folder whose name can be a kind: no date,
            number or camera; see :mod:`fieldguide.collection.layout`. An image directly in
            ``folder`` has no kind.
        sidecar : path, optional
            A CSV file with a column ``path`` (relative to ``folder``); optionally ``label`` and
            ``keywords`` (separated by ``;``); every other column is an attribute, with values
            from 0 to 1, yes/no or true/false, empty where unknown. Only the images that it names
            are used, and their kinds come from it when it has ``label``.
        max_pixels : int
            Larger pictures are counted among the unreadable ones, and so are those that would
            take more than 8 bytes × ``max_pixels`` of memory to decode.
        bursts : bool
            Take the pictures that a camera took in one minute for one: see
            :mod:`fieldguide.collection.bursts`. The head of each file is read.
        """
        check_choice("Collection.from_folder", "kinds", kinds, KIND_RULES)
        if isinstance(folder, str) and "://" in folder:
            from fieldguide.collection.remote import list_address

            if bursts:
                raise CollectionError(
                    f"Bursts are found in a folder, not at an address ({folder!r}); build without."
                )
            return list_address(folder, kinds=kinds, sidecar=sidecar, max_pixels=max_pixels)
        root = Path(folder)
        if not root.exists():
            raise CollectionError(f"There is no folder {str(root)!r}; check the path.")
        if not root.is_dir():
            raise CollectionError(
                f"{str(root)!r} is a file; give the folder that holds the images."
            )
        files, skipped = list_files(root)
        table = None if sidecar is None else read_sidecar(Path(sidecar))
        if table is None:
            named = [path for path in files if is_candidate(root, path)]
        else:
            named = sorted(path for path in table.paths if path in files)
            missing = "named in the sidecar, but there is no such file"
            skipped += [(path, missing) for path in table.paths if path not in files]
        others = dict.fromkeys(files)
        for path in named:
            del others[path]
        said, used = _read_captions(root, named, others)
        layout = choose_kinds(named, kinds)
        beside = [said.get(path, Caption()) for path in named]
        items = [
            Item(path, kind, caption.words, files[path], caption.text)
            for path, kind, caption in zip(named, layout.kinds, beside, strict=True)
        ]
        made = cls(
            _name_of(root),
            tuple(items),
            skipped=tuple(skipped),
            n_captions=len(used),
            kinds_because=layout.because,
            max_pixels=max_pixels,
            folder=root,
            kinds_rule=kinds,
            sidecar=None if sidecar is None else Path(sidecar),
        )
        if table is None:
            made = replace(made, others=count_types(path for path in others if path not in used))
        else:
            made = made._annotate(table)
        return made._join_bursts() if bursts else made

    def _join_bursts(self) -> "Collection":
        """Return the collection with one item for the pictures of each burst."""
        assert self.folder is not None
        paths, kinds = [item.path for item in self.items], [item.kind for item in self.items]
        groups = sorted(
            find_bursts(self.folder, paths, kinds), key=lambda group: self.items[group[0]].path
        )
        items = tuple(_join_items([self.items[i] for i in group]) for group in groups)
        table = self.attributes
        first = [group[0] for group in groups]
        return replace(
            self, items=items, attributes=None if table is None else table[first], bursts=True
        )

    def _annotate(self, table: Sidecar) -> "Collection":
        """Return the collection with what a sidecar says of its images."""
        row_of = {path: row for row, path in enumerate(table.paths)}
        rows = [row_of[item.path] for item in self.items]
        items = [
            replace(
                item,
                kind=item.kind if table.labels is None else table.labels[row],
                keywords=tuple(dict.fromkeys((*table.keywords[row], *item.keywords))),
            )
            for item, row in zip(self.items, rows, strict=True)
        ]
        because = "Kinds are the labels of the sidecar."
        return replace(
            self,
            items=tuple(items),
            attributes=table.attributes[rows] if table.names else None,
            attribute_names=table.names,
            kinds_because=self.kinds_because if table.labels is None else because,
        )

    @classmethod
    def from_arrays(
        cls,
        images: Sequence[Any] | np.ndarray,
        labels: Iterable[Any] | None = None,
        *,
        names: Sequence[str] | None = None,
        attributes: np.ndarray | None = None,
        attribute_names: Sequence[str] = (),
        name: str = "images",
        frames_per_s: float = 10.0,
    ) -> "Collection":
        """Take images or clips that are already in memory.

        Parameters
        ----------
        images : sequence of arrays or Pillow images
            Grey (h, w) or colour (h, w, 3 or 4); 8-bit, or floats in [0, 1]. Of a clip
            (n_frames, h, w, 3 or 4).
        labels : sequence, optional
            A kind per image; None for an image without one.
        names : sequence of str, optional
            Unique file names; made up from the kind and a number when missing.
        attributes : array of shape (n, n_attributes), optional
            In [0, 1]; NaN where unknown.
        attribute_names : sequence of str
        name : str
            What to call the collection.
        frames_per_s : float
            Of the clips.
        """
        check_number("Collection.from_arrays", "frames_per_s", frames_per_s, 1e-3, 1e6)
        arrays = [to_arrays(image, i) for i, image in enumerate(images)]
        if not arrays:
            raise CollectionError("No images were given; give at least one.")
        kinds = [None if k is None else str(k) for k in labels] if labels is not None else None
        if kinds is not None and len(kinds) != len(arrays):
            raise CollectionError(
                f"There are {len(arrays)} images but {len(kinds)} labels; give one label each."
            )
        if names is None:
            folders = [f"{k}/" if k else "" for k in kinds] if kinds else [""] * len(arrays)
            ends = ["" if array.ndim == 4 else ".png" for array in arrays]
            names = [f"{folders[i]}{i:06d}{end}" for i, end in enumerate(ends)]
        if len(names) != len(arrays) or len(set(names)) != len(names):
            raise CollectionError("names must hold one different name for each image.")
        given = {"labels": kinds or (), "names": names, "attribute_names": attribute_names}
        for what, texts in {**given, "name": [name]}.items():
            check_texts(what, texts)
        table = check_attributes(attributes, attribute_names, len(arrays))
        order = sorted(range(len(arrays)), key=lambda i: names[i])
        items = tuple(
            Item(names[i], kinds[i] if kinds else None, stamp=digest_of(arrays[i].tobytes()))
            for i in order
        )
        return cls(
            name,
            items,
            attributes=None if table is None else table[order],
            attribute_names=tuple(attribute_names),
            frames_per_s=frames_per_s,
            _arrays=tuple(arrays[i] for i in order),
        )

    def part(self, indices: Sequence[int]) -> "Collection":
        """Return some of the images as a small collection that other processes can be given.

        It has what it takes to read them, and nothing of the others. They are read from where they
        are, which must have the same name there.
        """
        return Collection(
            self.name,
            tuple(self.items[i] for i in indices),
            max_pixels=self.max_pixels,
            folder=None if self.folder is None else Path(os.path.abspath(self.folder)),
            frames_per_s=self.frames_per_s,
            _arrays=None if self._arrays is None else tuple(self._arrays[i] for i in indices),
        )

    def picture(self, i: int, *, at_least_px: int = 0) -> tuple[Picture, str]:
        """Decode image ``i``, or a few frames of a clip; return it with a digest of its content."""
        if self._arrays is not None:
            array = self._arrays[i]
            if array.ndim == 4:
                return take_frames(array, self.frames_per_s), digest_of(array.tobytes())
            image = Image.fromarray(array)
            return Picture(image, image.width, image.height), digest_of(array.tobytes())
        assert self.folder is not None
        if self.items[i].burst:
            return self._read_burst(i, at_least_px)
        file = self.folder / self.items[i].path
        source = file if is_clip_name(file) else read_file(file)
        picture = read_picture_or_clip(source, max_pixels=self.max_pixels, at_least_px=at_least_px)
        return picture, digest_clip(file) if isinstance(source, Path) else digest_of(source)

    def _read_burst(self, i: int, at_least_px: int) -> tuple[Picture, str]:
        assert self.folder is not None
        root = self.folder

        def read(path: str) -> Picture:
            return read_picture(root / path, max_pixels=self.max_pixels, at_least_px=at_least_px)

        return join_burst(self.items[i].burst, read), self._digest_burst(i)

    def _digest_burst(self, i: int) -> str:
        assert self.folder is not None
        digests = [digest_of(read_file(self.folder / path)) for path in self.items[i].burst]
        return digest_of("".join(digests).encode())

    def stretch(self, i: int, at_s: float) -> Stretch | None:
        """Return some frames in a row of clip ``i``, around a moment; None for what is no clip."""
        if self._arrays is not None:
            array = self._arrays[i]
            if array.ndim != 4:
                return None
            return choose_stretch(walk_array(array, self.frames_per_s), at_s)
        assert self.folder is not None
        if self.items[i].burst:
            return None
        file = self.folder / self.items[i].path
        return read_stretch(file, at_s, max_pixels=self.max_pixels)

    def taken(self, i: int) -> Taken | None:
        """Return when and where image ``i`` was taken, without decoding it; None for a file that
        cannot be opened, and for a clip."""
        if self._arrays is not None:
            return Taken()
        assert self.folder is not None
        if is_clip_name(self.items[i].path):
            return None
        try:
            return read_header(read_file(self.folder / self.items[i].path))
        except UnreadableImageError:
            return None

    def digest(self, i: int) -> str | None:
        """Return the digest of image ``i`` without decoding it; None for a file that cannot be
        read."""
        if self._arrays is not None:
            return digest_of(self._arrays[i].tobytes())
        assert self.folder is not None
        file = self.folder / self.items[i].path
        try:
            if self.items[i].burst:
                return self._digest_burst(i)
            return digest_clip(file) if is_clip_name(file) else digest_of(read_file(file))
        except UnreadableImageError:
            return None

    def __iter__(self) -> Iterator[np.ndarray]:
        """Decode one image after the other, as uint8 arrays of shape (h, w, 3)."""
        for i in range(len(self)):
            yield np.asarray(self.picture(i)[0].image)


def _join_items(burst: list[Item]) -> Item:
    """Return the pictures of a burst as one item; one picture as it is."""
    first = burst[0]
    if len(burst) == 1:
        return first
    size = sum(int(item.stamp.partition("-")[0]) for item in burst)
    stamps = "".join(f"{item.path}\0{item.stamp}\0" for item in burst)
    return replace(
        first,
        keywords=tuple(dict.fromkeys(word for item in burst for word in item.keywords)),
        stamp=f"{size}-{digest_of(stamps.encode())}",
        caption=next(filter(None, (item.caption for item in burst)), ""),
        burst=tuple(item.path for item in burst),
    )


def _name_of(root: Path) -> str:
    """Return the name of a folder as text that every file and page can hold.

    Python shows bytes that are not UTF-8 as surrogates, which cannot be written.
    """
    name = root.resolve().name
    return "".join("\ufffd" if unicodedata.category(c) in ("Cs", "Cc") else c for c in name)


def _read_captions(
    root: Path, paths: Iterable[str], others: Iterable[str]
) -> tuple[dict[str, Caption], set[str]]:
    """Return what is said beside each picture, and the files that gave words."""
    beside = find_captions(paths, others)
    said = {file: read_caption(root / file) for files in beside.values() for file in files}
    return join_captions(beside, said)

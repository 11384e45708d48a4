"""Specimens as pictures on a page: where from, how large, and in words for who cannot see them."""

import base64
import io
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageOps

from fieldguide.features.properties import PROPERTY_NAMES
from fieldguide.guide.measure import KEEP_SMALL_PX, LARGE_PX, SMALL_PX
from fieldguide.guide.shelf import open_picture
from fieldguide.guide.views import Exemplar, Specimen
from fieldguide.site.addresses import AddressBook
from fieldguide.site.phrases import alternative_text

if TYPE_CHECKING:
    from fieldguide.guide import Guide

_N_WORDS = 3
_FEW = 0.02  # share of the specimens below which a word is rare
_CACHED = 50_000  # records kept in memory


@dataclass(frozen=True)
class Picture:
    """A specimen as a picture; sources are relative to the root of the site."""

    specimen: Specimen
    address: str
    thumbnail: str
    thumbnail_size: tuple[int, int]
    picture: str
    picture_size: tuple[int, int]
    alt: str
    words: tuple[str, ...]
    kind: str | None  # its label, where the guide has a plate of it


@dataclass(frozen=True)
class InlinePicture:
    """A picture that stands inside the page."""

    source: str  # data address
    width: int
    height: int
    alt: str


def find_specimen(guide: "Guide", exemplar: Exemplar) -> int:
    """Return the specimen of an exemplar; for a kind alone its best."""
    if exemplar.specimen is not None:
        return exemplar.specimen
    return guide.kind(exemplar.kind).exemplars[0]


class PictureBook:
    """The pictures of a guide, gathered when a page first shows them. Threads may share it."""

    def __init__(self, guide: "Guide", book: AddressBook) -> None:
        self._guide = guide
        self._book = book
        self._known: dict[int, Picture] = {}
        self._n_showing = {word: n for word, n, _ in guide.words}

    def __call__(self, ids: Iterable[int]) -> list[Picture]:
        """Return the pictures of some specimens, in their order."""
        ids = [int(i) for i in ids]
        known = self._known
        found = {i: known[i] for i in ids if i in known}
        absent = [i for i in dict.fromkeys(ids) if i not in found]
        if absent:
            found.update((s.id, self._gather(s)) for s in self._guide.specimens(absent))
            if len(known) > _CACHED:
                self._known = dict(found)
            else:
                known.update(found)
        return [found[i] for i in ids]

    def _gather(self, specimen: Specimen) -> Picture:
        words = self._telling_words(specimen.id)
        place = self._guide.sentence(specimen.branch) if specimen.branch else specimen.path
        kind = None if specimen.kind is None else self._guide.shown_name(specimen.kind)
        has_large = specimen.picture != specimen.thumbnail
        small_px = SMALL_PX if has_large else KEEP_SMALL_PX
        return Picture(
            specimen=specimen,
            address=self._book.specimen(specimen.id),
            thumbnail=specimen.thumbnail,
            thumbnail_size=fit(specimen, small_px),
            picture=specimen.picture,
            picture_size=fit(specimen, LARGE_PX if has_large else small_px),
            alt=alternative_text(kind, words, place),
            words=words,
            kind=specimen.kind if self._book.has_kind(specimen.kind) else None,
        )

    def _telling_words(self, specimen: int) -> tuple[str, ...]:
        """The words that the fewest others show; those of the subject before the picture's.

        A word of a handful of specimens is as often a slip of the network as a mark: it comes
        after the others.
        """

        def rank(word: str) -> tuple[bool, bool, int]:
            n = self._n_showing.get(word, 0)
            return word in PROPERTY_NAMES, n < _FEW * self._guide.n_specimens, n

        shown = [word for word, _ in self._guide.words_of(specimen)]
        return tuple(sorted(shown, key=rank)[:_N_WORDS])


class EmbeddedPictures(PictureBook):
    """The pictures of a page that stands alone: small, inside of it, and leading to no page."""

    def _gather(self, specimen: Specimen) -> Picture:
        shown = super()._gather(specimen)
        source, size = embed_picture(self._guide.folder, specimen), shown.thumbnail_size
        return replace(shown, address="", thumbnail=source, picture=source, picture_size=size)


def fit(specimen: Specimen, most_px: int) -> tuple[int, int]:
    """Size of a picture that was reduced, never enlarged, to ``most_px`` on its longer side."""
    width, height = specimen.width, specimen.height
    scale = min(1.0, most_px / max(width, height, 1))
    return max(1, round(width * scale)), max(1, round(height * scale))


def embed_picture(folder: Path, specimen: Specimen, size_px: tuple[int, int] | None = None) -> str:
    """Return a thumbnail, whole or cut to a size, as a data address: for files that stand alone."""
    cut = open_picture(Path(folder), specimen.thumbnail).convert("RGB")
    if size_px is not None:
        cut = ImageOps.fit(cut, size_px, Image.Resampling.LANCZOS)
    return _to_data_address(cut, 85)


def inline_picture(image: Image.Image, alt: str, most_px: int) -> InlinePicture:
    """Return a picture, reduced to ``most_px`` on its longer side, to stand inside a page."""
    small = image.convert("RGB")
    small.thumbnail((most_px, most_px), Image.Resampling.LANCZOS, reducing_gap=2.0)
    return InlinePicture(_to_data_address(small, 82), small.width, small.height, alt)


def _to_data_address(image: Image.Image, quality: int) -> str:
    data = io.BytesIO()
    image.save(data, "JPEG", quality=quality, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}"

"""What the server answers from: one edition of a guide, in a language."""

import time
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from fieldguide._languages import ENGLISH, say
from fieldguide.collection import digest_of
from fieldguide.errors import UnreadableImageError
from fieldguide.site.answers import ShortAnswer, ShownAnswer, shorten_answer
from fieldguide.site.chapter_pages import list_chapter_pictures
from fieldguide.site.render import Renderer
from fieldguide.site.uploads import Upload

if TYPE_CHECKING:
    from fieldguide.guide import Guide
    from fieldguide.guide.originals import Original


class ServedEdition:
    """One edition of a guide, as it was when it was opened, for readers of one language.

    Parameters
    ----------
    guide : Guide
    max_upload_mb : float
        Of the largest picture that *identify* takes.
    editing : bool
        Whether its readers may edit.
    language : str
    """

    def __init__(
        self,
        guide: "Guide",
        max_upload_mb: float,
        editing: bool = False,
        language: str = ENGLISH,
    ) -> None:
        self.guide = guide
        self._max_upload_mb = max_upload_mb
        self._variants: dict[tuple[bool, str], ServedEdition] = {(editing, language): self}
        self.renderer = Renderer(
            guide, live=True, max_upload_mb=max_upload_mb, editing=editing, language=language
        )
        self.page = lru_cache(maxsize=256)(self.renderer.page)
        self.results = lru_cache(maxsize=64)(self.renderer.results)
        self.compare = lru_cache(maxsize=64)(self.renderer.compare)

    def variant(self, editing: bool, language: str) -> "ServedEdition":
        """Return the same for readers who may edit or not, in a language."""
        key = (editing, language)
        if key not in self._variants:
            made = ServedEdition(self.guide, self._max_upload_mb, editing, language)
            self._variants.setdefault(key, made)
        return self._variants[key]

    def identify(self, uploads: list[Upload]) -> dict[str, Any]:
        """Return the answer about a picture as plain data."""
        return self.guide.identify([uploads[0].data])[0].to_plain()

    def show(self, upload: Upload) -> ShownAnswer:
        """Return the answer about a picture for a page."""
        start = time.perf_counter()
        sighting = self.guide.look(upload.data)
        answer = self.guide.identify([sighting])[0]
        shown = self.renderer.show(answer, sighting.image, time.perf_counter() - start)
        return replace(shown, file=upload.name, digest=digest_of(upload.data))

    def identify_page(self, uploads: list[Upload]) -> str:
        """Render the page with the answer about a picture, or with those about several."""
        if len(uploads) == 1:
            return self.renderer.identify(self.show(uploads[0]))
        return self.renderer.identify(entries=[self.enter(upload) for upload in uploads])

    def fragment(self, uploads: list[Upload]) -> str:
        """Render the answer about a picture alone."""
        return self.renderer.answer(self.show(uploads[0]))

    def entry(self, uploads: list[Upload]) -> str:
        """Render the answer about one of several pictures."""
        return self.renderer.entry(self.enter(uploads[0]))

    def enter(self, upload: Upload) -> ShortAnswer:
        """Return what a list says of one picture of several, or why it says nothing."""
        try:
            sighting = self.guide.look(upload.data)
        except UnreadableImageError as error:
            return ShortAnswer(upload.name, None, None, refusal=word_refusal(error))
        return shorten_answer(upload.name, self.guide.identify([sighting])[0], sighting.image)

    def read_original(self, digest: str) -> "Original | None":
        """Return the image of a specimen; None for any other digest."""
        i = self._by_digest.get(digest)
        return None if i is None else self.guide.read_original(i)

    @cached_property
    def _by_digest(self) -> dict[str, int]:
        return {digest: i for i, digest in enumerate(self.guide.digests)}

    @cached_property
    def pictures(self) -> frozenset[str]:
        """The addresses of all its pictures."""
        listed = self.guide.specimens(list(range(self.guide.n_specimens)))
        pictures = [address for specimen in listed for address in specimen.pictures]
        words = [word.picture for word in self.guide.visual_words]
        moving = self.guide.movements.list_pictures()
        return frozenset([*pictures, *words, *moving, *list_chapter_pictures(self.guide)])


def word_refusal(error: UnreadableImageError) -> str:
    """Say why a picture that was sent has no answer."""
    reason = str(error).strip().rstrip(".")
    return say("That picture cannot be read: %(reason)s.", reason=reason)

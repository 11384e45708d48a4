"""The owner's own words in an image file.

====  ===============================  =========================
      keywords                         caption
====  ===============================  =========================
IPTC  2:25                             2:120
XMP   dc:subject                       dc:description, the first
EXIF  XPKeywords
====  ===============================  =========================

Metadata are a courtesy. Where they are damaged, the words before the damage are kept, and the
picture is never lost for it. All readers take time in proportion to what they read, read
at most ``MAX_BYTES``, and stop at ``MAX_KEYWORDS`` words.
"""

import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from xml.parsers import expat

from PIL import Image

from fieldguide.collection.captions import (
    MAX_BYTES,
    MAX_KEYWORDS,
    caption_words,
    clean_caption,
    clean_word,
)

_DC = "http://purl.org/dc/elements/1.1/"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_SUBJECT = (_DC, "subject")
_DESCRIPTION = (_DC, "description")
_IPTC_KEYWORD, _IPTC_CAPTION = (2, 25), (2, 120)
_LISTS = frozenset((_RDF, name) for name in ("Bag", "Seq", "Alt"))
_ENTRY = (_RDF, "li")
# By how a packet begins, the longer marks first; UTF-8 has no mark, or one that is stripped.
_ENCODINGS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)


def read_keywords(image: Image.Image, windows: object = None) -> tuple[str, ...]:
    """Return the words of an opened image in lower case, each once, at most ``MAX_KEYWORDS``.

    Those of captions come after the keywords.

    Parameters
    ----------
    image : Image
        With the ``info`` that Pillow found.
    windows : bytes, optional
        The value of the EXIF tag XPKeywords; anything else is ignored.
    """
    iptc = _iptc_block(image)
    described = _from_xmp(image.info.get("xmp") or image.info.get("XML:com.adobe.xmp"))
    words: dict[str, None] = {}
    for source in (
        map(clean_word, _from_iptc(iptc, _IPTC_KEYWORD)),
        described.words,
        map(clean_word, _from_exif(windows)),
        (word for text in _from_iptc(iptc, _IPTC_CAPTION) for word in caption_words(text)),
        caption_words(described.caption),
    ):
        for word in source:
            if word:
                words[word] = None
            if len(words) == MAX_KEYWORDS:
                return tuple(words)
    return tuple(words)


def read_caption_text(image: Image.Image) -> str:
    """Return the owner's sentence in an opened image; "" where there is none."""
    described = _from_xmp(image.info.get("xmp") or image.info.get("XML:com.adobe.xmp"))
    texts = (*_from_iptc(_iptc_block(image), _IPTC_CAPTION), described.caption)
    return next(filter(None, map(clean_caption, texts)), "")


def _iptc_block(image: Image.Image) -> object:
    if hasattr(image, "tag_v2"):
        # As stored: Photoshop declares these bytes as 4-byte integers.
        return getattr(image.tag_v2, "_tagdata", {}).get(33723)
    resources = image.info.get("photoshop")
    return resources.get(0x0404) if isinstance(resources, dict) else None


def _from_iptc(block: object, wanted: tuple[int, int]) -> Iterator[str]:
    """Yield the texts of the data sets of one number in an IPTC-NAA block."""
    if not isinstance(block, bytes):
        return
    block, start = block[:MAX_BYTES], 0
    with suppress(struct.error):  # the block ends within a header
        while True:
            marker, record, number, size = struct.unpack_from(">BBBH", block, start)
            if marker != 0x1C:
                return
            start += 5
            if size > 0x8000:  # the length of the length, in bytes
                if size > 0x8004:
                    return
                n_bytes = size - 0x8000
                size = int.from_bytes(block[start : start + n_bytes], "big")
                start += n_bytes
            if (record, number) == wanted:
                yield block[start : start + size].decode("utf-8", "replace")
            start += size


def _from_exif(block: object) -> Iterable[str]:
    if not isinstance(block, bytes):
        return ()
    return block[:MAX_BYTES].decode("utf-16-le", "replace").rstrip("\0").split(";")


def _from_xmp(block: object) -> "_XmpReader":
    """Return what an XMP packet says in dc:subject and dc:description."""
    text = _decode_xmp(block)
    reader = _XmpReader()
    # A declared entity can stand for more text than any limit; only a document type declares them.
    if text and "<!DOCTYPE" not in text:
        reader.read(text)
    return reader


def _decode_xmp(block: object) -> str:
    """Return XMP as text, without the marks and the padding around it."""
    if isinstance(block, bytes):
        encoding = next((name for mark, name in _ENCODINGS if block.startswith(mark)), "utf-8")
        block = block[:MAX_BYTES].decode(encoding, "replace")
    return block[:MAX_BYTES].strip("\ufeff\0 \t\r\n") if isinstance(block, str) else ""


class _Enough(Exception):
    pass


class _XmpReader:
    """Collects the text of dc:subject, or dc:description, / rdf:Bag, Seq or Alt / rdf:li.

    Namespaces are resolved here, not by expat: expat would hand over the whole address with every
    name, so that an address of 500 KB times 80,000 elements takes minutes. Prefixes that are bound
    to nothing have their usual meaning.
    """

    def __init__(self) -> None:
        self.words: dict[str, None] = {}
        self.caption = ""  # the first entry of the first description
        self._bound: dict[str, str] = {"dc": _DC, "rdf": _RDF}
        self._hidden: list[tuple[int, str, str]] = []  # depth, prefix, what it meant outside
        self._depth = 0
        self._n_matched = 0  # 1 within a subject, 2 within its list, 3 within an entry
        self._matched_depth = 0  # of the innermost of these
        self._is_caption = False  # within a description
        self._text: list[str] = []

    def read(self, text: str) -> None:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text
        with suppress(expat.ExpatError, _Enough):  # what was found before the damage stays
            parser.Parse(text.encode("utf-8", "replace"), True)

    def _start(self, name: str, attributes: list[str]) -> None:
        self._depth += 1
        for i in range(0, len(attributes), 2):
            if attributes[i].startswith("xmlns"):
                self._bind(attributes[i][6:], attributes[i + 1])
        prefix, _, local = name.rpartition(":")
        element = (self._bound.get(prefix, ""), local)
        if self._n_matched == 0:
            is_next = element in (_SUBJECT, _DESCRIPTION)
            self._is_caption = element == _DESCRIPTION
        else:
            is_child = self._depth == self._matched_depth + 1
            is_next = is_child and (
                (self._n_matched == 1 and element in _LISTS)
                or (self._n_matched == 2 and element == _ENTRY)
            )
        if is_next:
            self._n_matched += 1
            self._matched_depth = self._depth

    def _bind(self, prefix: str, address: str) -> None:
        self._hidden.append((self._depth, prefix, self._bound.get(prefix, "")))
        self._bound[prefix] = address if address in (_DC, _RDF) else ""

    def _end(self, name: str) -> None:
        if self._n_matched and self._depth == self._matched_depth:
            if self._n_matched == 3:
                self._add_word()
            self._n_matched -= 1
            self._matched_depth -= 1
        while self._hidden and self._hidden[-1][0] == self._depth:
            _, prefix, address = self._hidden.pop()
            self._bound[prefix] = address
        self._depth -= 1

    def _add_text(self, text: str) -> None:
        if self._n_matched == 3:
            self._text.append(text)

    def _add_word(self) -> None:
        text = "".join(self._text)
        self._text.clear()
        if self._is_caption:
            self.caption = self.caption or text.strip()
            return
        word = clean_word(text)
        if word:
            self.words[word] = None
        if len(self.words) == MAX_KEYWORDS:
            raise _Enough

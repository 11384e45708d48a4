"""The owner's words in a caption: a text inside a picture, or in a file beside it.

Beside ``name.jpg`` these are ``name.txt``, ``name.json``, ``name.jpg.txt`` and ``name.jpg.json``.
A text is a caption or a list of words. Of JSON the fields "keywords" and "tags" (a list, or words
parted by commas or semicolons) and "caption" and "description" (a text) are read.

A caption gives its content words: those that are no articles, pronouns and the like. A text of
short pieces between commas, semicolons or line ends is a list, and gives its entries as they are.

These files are a courtesy like all metadata: one that is damaged, too long or something else (boxes
in YOLO's form, say, are numbers alone) gives no words, and costs no picture.
"""

import codecs
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from fieldguide._files import open_without_waiting

MAX_KEYWORDS = 40
MAX_BYTES = 2**20  # of each source; what lies behind is not read
SUFFIXES = (".txt", ".json")
_MAX_LETTERS = 64  # of a word
_MAX_CAPTION = 1000  # letters; what comes after is no longer a caption
_MAX_ENTRY = 3  # words in an entry of a list
_JOINERS = "\u200c\u200d"  # of scripts and emoji: not printable by themselves
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_PIECES = re.compile(r"[,;|\r\n]+")
_LISTS = ("keywords", "tags")
_TEXTS = ("caption", "description")
_EMPTY = frozenset(
    """
    a about above after again against all along also although am among an and another any are around
    as at away back be because been before being below beside between both but by can could did do
    does doing done down during each either else ever every few for from further had has have having
    he her here hers him his how i if in inside into is it its just like made make many may me more
    most much my near next no nor not now of off on once one only onto or other our out over own per
    quite rather same see seen several she should shown shows since so some such taken than that the
    their them then there these they this those through to together too toward towards two under
    until up upon us very was we well were what when where which while who whole whose why will with
    within without would yet you your
    image img jpeg jpg photo photograph photographs photos pic picture pictures png
    """.split()  # noqa: SIM905 - words are easier to read and extend without quotes
)


class Caption(NamedTuple):
    """What a file beside a picture says."""

    words: tuple[str, ...] = ()
    text: str = ""  # the sentence itself; "" where the file is a list of words


def clean_word(text: str) -> str:
    """Return a word in lower case without control characters; empty where only they remain."""
    start = " ".join(text.split())[:_MAX_LETTERS].lower()
    shown = "".join(c if c.isprintable() or c in _JOINERS else " " for c in start)
    return " ".join(shown.split()) if shown.strip(" \ufffd") else ""


def clean_caption(text: str) -> str:
    """Return a caption on one line without control characters; "" where it is a list of words."""
    shown = "".join(c if c.isprintable() or c in _JOINERS else " " for c in text[:_MAX_CAPTION])
    shown = " ".join(shown.split())
    return shown if _WORD.search(shown) and _list_entries(text[:_MAX_CAPTION]) is None else ""


def caption_words(text: str) -> tuple[str, ...]:
    """Return the entries of a list, or the content words of a caption, each once.

    Examples
    --------
    >>> caption_words("A grey heron standing in the reeds.")
    ('grey', 'heron', 'standing', 'reeds')
    >>> caption_words("Grey heron, reeds; Lake Constance")
    ('grey heron', 'reeds', 'lake constance')
    """
    text = text[:_MAX_CAPTION]
    entries = _list_entries(text)
    found = _content_words(text) if entries is None else entries
    return tuple(dict.fromkeys(found))[:MAX_KEYWORDS]


def _list_entries(text: str) -> list[str] | None:
    """Return the entries of a text that is a list; None for a sentence."""
    entries = [clean_word(piece).strip(" .") for piece in _PIECES.split(text)]
    entries = [entry for entry in entries if _WORD.search(entry)]
    words = (entry.split() for entry in entries)
    is_list = len(entries) > 1 and all(len(w) <= _MAX_ENTRY and _EMPTY.isdisjoint(w) for w in words)
    return entries if is_list else None


def _content_words(text: str) -> Iterator[str]:
    for found in _WORD.finditer(text.lower()):
        word = re.sub("['’]s$", "", found[0])
        if word not in _EMPTY and (len(word) > 2 or not word.isascii()):
            yield clean_word(word)


def find_captions(paths: Iterable[str], others: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of ``others`` that lie beside each of ``paths`` under its name."""
    beside: dict[str, list[str]] = {}
    for other in sorted(others):
        stem, suffix = os.path.splitext(other)
        if suffix.lower() in SUFFIXES:
            beside.setdefault(stem, []).append(other)
    if not beside:
        return {}
    named = {path: (path, os.path.splitext(path)[0]) for path in paths}
    found = {
        path: [file for name in dict.fromkeys(names) for file in beside.get(name, ())]
        for path, names in named.items()
    }
    return {path: files for path, files in found.items() if files}


def join_captions(
    beside: Mapping[str, Iterable[str]], said: Mapping[str, Caption]
) -> tuple[dict[str, Caption], set[str]]:
    """Return what the files beside each picture say together, and the files that gave words."""
    joined = {
        path: Caption(
            tuple(dict.fromkeys(word for file in files for word in said[file].words)),
            next(filter(None, (said[file].text for file in files)), ""),
        )
        for path, files in beside.items()
    }
    return joined, {file for file, found in said.items() if found.words}


def read_caption(path: Path) -> Caption:
    """Return what a text or JSON file says; nothing where it is no caption."""
    try:
        with open(path, "rb", opener=open_without_waiting) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        return Caption()
    return parse_caption(data, is_json=path.suffix.lower() == ".json")


def parse_caption(data: bytes, *, is_json: bool) -> Caption:
    """Return what the bytes of a text or JSON file say; nothing where they are no caption."""
    text = _decode(data)
    if not is_json:
        words = caption_words(text)
        return Caption(words, clean_caption(text) if words else "")
    if len(data) > MAX_BYTES:
        return Caption()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return Caption()
    fields = _read_fields(value)
    words = tuple(dict.fromkeys(_read_record(fields)))[:MAX_KEYWORDS]
    texts = (text for name in _TEXTS for text in _texts(fields.get(name)))
    return Caption(words, next(filter(None, map(clean_caption, texts)), ""))


def _decode(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
    return "" if "\0" in text else text


def _read_fields(value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {}
    return {str(name).lower(): field for name, field in value.items()}


def _read_record(fields: Mapping[str, object]) -> Iterator[str]:
    for name in (*_LISTS, *_TEXTS):
        for text in _texts(fields.get(name)):
            if name in _TEXTS:
                yield from caption_words(text)
            else:
                words = map(clean_word, re.split("[,;]", text[:MAX_BYTES]))
                yield from (word for word in words if word)


def _texts(field: object) -> Iterator[str]:
    if isinstance(field, str):
        yield field
    elif isinstance(field, list):
        yield from (entry for entry in field[: 10 * MAX_KEYWORDS] if isinstance(entry, str))

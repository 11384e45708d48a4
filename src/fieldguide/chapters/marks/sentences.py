"""Marks as a person writes them: the one place that makes their sentences."""

from collections.abc import Iterable, Sequence

from fieldguide._languages import message, messages, say, say_count
from fieldguide.chapters.marks.pool import OWNER, PICTURE, SURROUNDINGS
from fieldguide.chapters.marks.records import (
    ImageMark,
    Mark,
    PairDifferences,
    PairMarks,
    PatternMark,
)
from fieldguide.chapters.marks.saying import repeats_colours
from fieldguide.guide.naming import listed

N_APART, N_PAIR = 2, 2  # look-alikes that the sentence of a kind names; marks between two kinds
NO_MARK = message("No mark was found that can be named and holds for most of its specimens.")
_NONE_SHOWS = messages(
    "the one specimen of this kind does not show %(word)s",
    "none of the %(n)s specimens of this kind shows %(word)s",
)
_NONE_IS = messages(
    "the one specimen of this kind is not %(word)s",
    "none of the %(n)s specimens of this kind is %(word)s",
)
# How words end that name something of a picture; the others say what it is like.
_PICTURES_HAVE = ("colours", "contrast", "lines", "background", "subject", "sky above")
NO_DIFFERENCE = message("No difference was found that can be named and holds for most specimens.")


def say_numbers(mark: Mark | ImageMark | PatternMark, other: str = "") -> str:
    """Say how often a mark holds: "in 21 of 24; in 3 of 24 robins", or "others"."""
    numbers = {
        "n_own": mark.n_own,
        "of_own": mark.of_own,
        "n_other": mark.n_other,
        "of_other": mark.of_other,
    }
    if not other:
        return say("in %(n_own)s of %(of_own)s; in %(n_other)s of %(of_other)s others", **numbers)
    return say(
        "in %(n_own)s of %(of_own)s; in %(n_other)s of %(of_other)s %(kind)s",
        kind=other,
        **numbers,
    )


def say_marks(marks: Sequence[Mark]) -> str:
    """Say marks in a row: "water bird, mostly white; often on blue"."""
    own = [m.words for m in marks if m.source not in (SURROUNDINGS, PICTURE)]
    around = [m.words for m in marks if m.source == SURROUNDINGS]
    parts = [
        ", ".join(own),
        say("often %(words)s", words=listed(around)) if around else "",
        _say_pictures([m.words for m in marks if m.source == PICTURE]),
    ]
    return "; ".join(part for part in parts if part)


def say_kind(said: Sequence[Mark], apart: Sequence[PairMarks]) -> str:
    """Say what tells a kind from others, and from its look-alikes; empty where nothing does."""
    parts = [_begin(say_marks(said))]
    known = {mark.text for mark in said}
    colours = {colour for mark in said for colour in mark.colours}
    for pair in apart:
        new = [
            mark
            for mark in pair.marks
            if mark.text not in known
            and (mark.negated or mark.part or not repeats_colours(mark.colours, colours))
        ][:N_PAIR]
        if new and len(parts) <= N_APART:
            parts.append(say("Unlike %(kind)s: %(marks)s", kind=pair.shown, marks=say_marks(new)))
    return " ".join(f"{part}." for part in parts if part)


def say_differences(found: PairDifferences, names: tuple[str, str]) -> str:
    """Say what sets two kinds apart."""
    sides = zip(names, (found.marks, found.other_marks), strict=True)
    said = [f"{_begin(name)}: {say_marks(marks[:N_PAIR])}." for name, marks in sides if marks]
    return " ".join(said) or say(NO_DIFFERENCE)


def say_shown(marks: Iterable[ImageMark]) -> str:
    """Say which marks an image shows."""
    return ", ".join(mark.text for mark in marks if mark.is_shown)


def say_unusual(text: str, source: str, n_specimens: int) -> str:
    """Say that an image shows what no specimen of its kind does."""
    if source == OWNER:
        return say_count(*_NONE_SHOWS, n_specimens, word=text)
    return say_count(*_NONE_IS, n_specimens, word=text)


def _say_pictures(words: Sequence[str]) -> str:
    """Say what the pictures of a kind are like: "in pictures that are dark, with upright lines"."""
    has = [word for word in words if _is_part(word)]
    are = [word for word in words if word not in has]
    has = [f"a {word}" if word.endswith(("background", "subject")) else word for word in has]
    if are and has:
        return say("in pictures that are %(are)s, with %(has)s", are=listed(are), has=listed(has))
    if are:
        return say("in pictures that are %(are)s", are=listed(are))
    return say("in pictures with %(has)s", has=listed(has)) if has else ""


def _is_part(word: str) -> bool:
    """Whether a picture has what a word says; else it is like that."""
    return word.endswith(_PICTURES_HAVE) or word.startswith("some ")


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:]

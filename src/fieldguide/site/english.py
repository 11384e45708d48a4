"""What is English on a page of another language, so that screen readers say it as English.

That are the words of the network and of the picture, the names of branches that are made of them,
and sentences that a build wrote down. What the owner wrote stays as it is: nobody knows in which
language.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from fieldguide._display import printable
from fieldguide._languages import ENGLISH, spoken
from fieldguide.features import WordModel
from fieldguide.guide.naming import LIKE

if TYPE_CHECKING:
    from fieldguide.guide import Guide


def mark_english(text: Any) -> Any:
    """Return an English text as an element that says so; as it is where pages are English.

    Examples
    --------
    >>> from fieldguide._languages import speaking
    >>> mark_english("winged")
    'winged'
    >>> with speaking("de"):
    ...     mark_english("winged")
    Markup('<span lang="en">winged</span>')
    """
    if spoken() == ENGLISH or not text:
        return text
    return Markup('<span lang="{}">{}</span>').format(ENGLISH, _write(text))


def mark_inside(text: str, words: Iterable[str]) -> str:
    """Return a sentence in which the English words are marked.

    Examples
    --------
    >>> from fieldguide._languages import speaking
    >>> with speaking("de"):
    ...     mark_inside("3 Bilder: winged (2)", ["winged"])
    Markup('3 Bilder: <span lang="en">winged</span> (2)')
    """
    known = sorted((re.escape(word) for word in words), key=len, reverse=True)
    if spoken() == ENGLISH or not known:
        return text
    parts = re.split(rf"(?<!\w)({'|'.join(known)})(?!\w)", text, flags=re.IGNORECASE)
    marked = (mark_english(part) if k % 2 else _write(part) for k, part in enumerate(parts))
    return Markup("").join(marked)


def mark_words(guide: "Guide", words: str | Iterable[str]) -> str:
    """Return a word, or words with commas between them; those that are English are marked."""
    words = [words] if isinstance(words, str) else list(words)
    if spoken() == ENGLISH:
        return ", ".join(words)
    found = (mark_english(w) if is_english(guide, w) else _write(w) for w in words)
    return Markup(", ").join(found)


def mark_sentence(guide: "Guide", text: str, words: Iterable[str] = ()) -> str:
    """Return a sentence in which words of the guide, and those given, are marked as English."""
    if spoken() == ENGLISH:
        return text
    names = {word for branch in guide.branches for word in branch.words}
    return mark_inside(
        text, {*words, *(w for w in {*names, *guide.sources} if is_english(guide, w))}
    )


def say_english(guide: "Guide", words: Iterable[str]) -> str:
    """Return the attribute of a picture whose text is made of English words, or nothing."""
    if spoken() == ENGLISH or not any(is_english(guide, word) for word in words):
        return ""
    return Markup(' lang="{}"').format(ENGLISH)


def is_english(guide: "Guide", word: str) -> bool:
    """Whether a word is of the network or the picture, or names a branch by what it is like."""
    return guide.sources.get(word) in WordModel.MEASURED or word.startswith(LIKE)


def _write(text: str) -> Markup:
    return escape(text if isinstance(text, Markup) else printable(text, kept="\t\n\r"))

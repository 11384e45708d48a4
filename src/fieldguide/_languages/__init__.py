"""The language that a page is written in: English, or one that has a catalogue beside this module.

Sentences stand in the code in English, whole, with names for what is put into them. ``say`` and
``say_count`` return them in the language of the block around::

    with speaking("de"):
        say("Nine times in ten it is %(kinds)s.", kinds="wren")

Where no language is asked for, they return what stands in the code. ``message`` marks a sentence
that is kept before it is said. Templates say ``{% trans %}`` and ``_()``, scripts ``say()``.
A language is a file, ``de.po``: see ``docs/languages.md``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import NullTranslations
from pathlib import Path

from fieldguide._languages.catalogue import read_catalogue
from fieldguide.errors import FieldguideError

ENGLISH = "en"
FOLDER = Path(__file__).parent

_spoken: ContextVar[tuple[str, NullTranslations]] = ContextVar(
    "language of a page", default=(ENGLISH, NullTranslations())
)


@cache
def list_languages() -> tuple[str, ...]:
    """Return the languages that pages can be written in, English first."""
    return (ENGLISH, *sorted(path.stem for path in FOLDER.glob("*.po")))


def check_language(language: str) -> None:
    """Refuse a language that pages cannot be written in."""
    if language not in list_languages():
        raise FieldguideError(
            f"Pages cannot be written in {language!r}; choose one of {', '.join(list_languages())}."
        )


def choose_language(accepted: str) -> str:
    """Return the language that the value of an Accept-Language header likes best.

    Examples
    --------
    >>> choose_language("da, fr-CH;q=0.8, en;q=0.7"), choose_language("tlh")
    ('fr', 'en')
    """
    best, most = ENGLISH, 0.0
    for part in accepted.split(",")[:32]:
        tag, _, weight = part.partition(";")
        language = tag.strip().lower().partition("-")[0]
        liking = _read_liking(weight)
        if language in list_languages() and liking > most:
            best, most = language, liking
    return best


def _read_liking(weight: str) -> float:
    name, _, value = weight.replace(" ", "").partition("=")
    if not name:
        return 1.0
    try:
        return min(float(value), 1.0) if name == "q" else 0.0
    except ValueError:
        return 0.0


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Say all sentences of the block in a language."""
    token = _spoken.set((language, _load(language)))
    try:
        yield
    finally:
        _spoken.reset(token)


def spoken() -> str:
    """Return the language that sentences are said in."""
    return _spoken.get()[0]


def say(message: str, /, **values: object) -> str:
    """Return a sentence in the language that is spoken, with the values in their places.

    Examples
    --------
    >>> say("%(share)s%% of %(n)s", share=7, n=1204)
    '7% of 1,204'
    """
    return translate(message) % _write_numbers(values)


def say_count(one: str, many: str, n: int, /, **values: object) -> str:
    """Return the sentence for one thing or for ``n``; ``%(n)s`` is the number.

    Examples
    --------
    >>> say_count("%(n)s branch", "%(n)s branches", 2000)
    '2,000 branches'
    """
    return translate_count(one, many, n) % _write_numbers({"n": n, **values})


def message(text: str) -> str:
    """Return a sentence as it stands, to be said later."""
    return text


def messages(one: str, many: str) -> tuple[str, str]:
    """Return the two forms of a sentence as they stand, to be said later."""
    return one, many


def translate(message: str) -> str:
    """Return a sentence without anything put into it."""
    return _spoken.get()[1].gettext(message)


def translate_count(one: str, many: str, n: int) -> str:
    """Return the sentence for one thing or for ``n`` without anything put into it."""
    return _spoken.get()[1].ngettext(one, many, n)


def grouped(number: float, n_digits: int = 0) -> str:
    """Write a number: ``"1,204"``, with digits after the point ``"1,204.5"``."""
    _, catalogue = _spoken.get()
    whole, point, digits = f"{number:,.{n_digits}f}".partition(".")
    thousands = catalogue.pgettext("between thousands", ",")
    return whole.replace(",", thousands) + (point and catalogue.pgettext("decimal", ".")) + digits


def _write_numbers(values: dict[str, object]) -> dict[str, object]:
    return {name: grouped(value) if type(value) is int else value for name, value in values.items()}


@cache
def _load(language: str) -> NullTranslations:
    if language == ENGLISH:
        return NullTranslations()
    return read_catalogue((FOLDER / f"{language}.po").read_text(encoding="utf-8"))

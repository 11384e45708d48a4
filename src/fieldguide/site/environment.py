"""The templates of the pages, with the turns of phrase that they use, in a language."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import (
    BytecodeCache,
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PrefixLoader,
    StrictUndefined,
)
from jinja2.bccache import Bucket
from markupsafe import Markup

from fieldguide._display import printable
from fieldguide._languages import grouped, say, spoken, translate, translate_count
from fieldguide.guide.edits.telling import tell_edit
from fieldguide.guide.naming import either, listed
from fieldguide.site import phrases, times
from fieldguide.site.addresses import href
from fieldguide.site.chapter_pages import chapter_folder, list_pages, list_styles
from fieldguide.site.english import mark_english, mark_sentence, mark_words, say_english
from fieldguide.site.pairs import NO_BORDER
from fieldguide.site.scripts import link_script

if TYPE_CHECKING:
    from fieldguide.guide import Guide

HERE = Path(__file__).parent


class _CompiledTemplates(BytecodeCache):
    """Templates as they were compiled first: every edition of a guide, and each edit, uses them."""

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give a template that is known its code."""
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template."""
        self._code[bucket.key, bucket.checksum] = bucket.code


_COMPILED = _CompiledTemplates()


def make_environment(guide: "Guide", *, alone: bool = False) -> Environment:
    """Return the templates of the pages of a guide, with the turns of phrase that they use.

    A page that stands alone has its pictures inside, and its addresses are those of data.
    """
    environment = Environment(
        loader=ChoiceLoader(
            [
                FileSystemLoader(HERE / "templates"),
                PrefixLoader({n: FileSystemLoader(chapter_folder(n)) for n in list_pages()}),
            ]
        ),
        autoescape=True,
        extensions=["jinja2.ext.i18n"],
        finalize=_show_controls,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=_COMPILED,
    )
    environment.policies["ext.i18n.trimmed"] = True
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    environment.filters.update(
        begun=phrases.begin,
        either=either,
        english=partial(mark_words, guide),
        grouped=grouped,
        href=str if alone else href,
        in_english=mark_english,
        say_english=partial(say_english, guide),
        with_english=partial(mark_sentence, guide),
        named=guide.shown_name,
        percent=phrases.percent,
        word_stability=phrases.word_stability,
        word_truth=phrases.word_truth,
        how_sure=phrases.how_sure,
        listed=listed,
        duration=times.duration,
        clip_time=times.clip_time,
        says_kinds=phrases.says_kinds,
        signed=phrases.signed,
        close_call=phrases.is_close_call,
        moment=times.moment,
        told=tell_edit,
        word_date=times.word_date,
    )
    environment.globals.update(
        gettext=_write,
        ngettext=_write_count,
        language=spoken(),
        script=link_script,
        counted=phrases.count,
        found_note=say(phrases.FOUND_NOTE),
        word_place=times.word_place,
        chapter_styles=list_styles(),
        alone=alone,
        editing=False,
        no_border=say(NO_BORDER),
    )
    return environment


def _write(message: str, /, **values: Any) -> Markup:
    """Return a sentence of a template, with what is put into it made safe."""
    return Markup(translate(message)) % _make_safe(values)


def _write_count(one: str, many: str, n: int, /, **values: Any) -> Markup:
    """Return the sentence of a template for one thing or for ``n``."""
    return Markup(translate_count(one, many, n)) % _make_safe({"n": n, **values})


def _make_safe(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: grouped(value) if type(value) is int else _show_controls(value)
        for name, value in values.items()
    }


def _show_controls(value: Any) -> Any:
    """Put signs in the place of what turns around the letters of a page, or is nothing in HTML.

    What a form sends back is written with ``| e``, which makes it markup: it stays as it is.
    """
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value, kept="\t\n\r")
    return value

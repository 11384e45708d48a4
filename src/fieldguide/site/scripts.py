"""The sentences of the pages' scripts: found in them, and said in the language that is spoken."""

import json
import re
from functools import cache

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from fieldguide._languages import ENGLISH, spoken, translate, translate_count
from fieldguide.site.chapter_pages import list_assets

_TEXT = r'"(?:[^"\\]|\\.)*"'
_SAID = re.compile(rf"\bsay\(\s*({_TEXT})|\bsayCount\(\s*({_TEXT}),\s*({_TEXT})")


def link_script(root: str, name: str) -> Markup:
    """Return what a page needs for a script: its sentences in the language of the page, and it."""
    table = ""
    if spoken() != ENGLISH:
        said = htmlsafe_json_dumps(_say_all(name), ensure_ascii=False, separators=(",", ":"))
        table = f'<script type="application/json" id="sentences">{said}</script>'
    links = (f'<script src="{escape(root)}assets/{each}.js" defer></script>'
             for each in ("language", name))  # fmt: skip
    return Markup(table + "".join(links))


@cache
def find_messages(name: str) -> tuple[tuple[str, str], ...]:
    """Return the sentences of a script: each as it stands, and for many, "" where it has none."""
    text = list_assets()[f"{name}.js"].read_text(encoding="utf-8")
    found = (
        (json.loads(alone or one), json.loads(many) if many else "")
        for alone, one, many in _SAID.findall(text)
    )
    return tuple(dict.fromkeys(found))


def _say_all(name: str) -> dict[str, list[str]]:
    return {
        one: [translate_count(one, many, n) for n in (1, 2)] if many else [translate(one)]
        for one, many in find_messages(name)
    }

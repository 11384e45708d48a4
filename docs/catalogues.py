"""Bring the catalogues of other languages up to date with the sentences of the code.

``python docs/catalogues.py`` puts each sentence that is new into every catalogue, without a
translation, and takes out those that are said no more; ``tests/site/test_languages.py`` refuses a
catalogue with a sentence that is missing, left over or not translated.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from jinja2 import Environment

import fieldguide
from fieldguide._languages import FOLDER
from fieldguide._languages.catalogue import read_entries, write_entries
from fieldguide.site.chapter_pages import list_assets
from fieldguide.site.scripts import find_messages

SOURCE = Path(fieldguide.__file__).parent
NOT_PAGES = ("exports/book.html",)  # in English alone

# The context of a sentence, the sentence, that for many.
Key = tuple[str, str, str]

_SINGLE = {"say": 1, "message": 1, "gettext": 1, "_": 1}
_PLURAL = {"say_count": 2, "messages": 2, "ngettext": 2}


def collect_messages() -> list[Key]:
    """Return every sentence that pages, scripts and the code behind them may say."""
    found: dict[Key, None] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        found |= dict.fromkeys(_read_module(ast.parse(path.read_text(encoding="utf-8"))))
    for path in sorted(SOURCE.rglob("*.html")):
        if in_catalogue(path):
            found |= dict.fromkeys(_read_template(path.read_text(encoding="utf-8")))
    for name in sorted(list_assets()):
        if name.endswith(".js"):
            messages = find_messages(name.removesuffix(".js"))
            found |= dict.fromkeys(("", one, many) for one, many in messages)
    plural = {one for _, one, many in found if many}
    return [key for key in found if key[2] or key[1] not in plural]


def in_catalogue(template: Path) -> bool:
    """Whether the sentences of a template are in the catalogues."""
    return template.relative_to(SOURCE).as_posix() not in NOT_PAGES


def update(path: Path) -> None:
    """Write a catalogue with exactly the sentences of the code."""
    known = read_entries(path.read_text(encoding="utf-8"))
    header = {key: said for key, said in known.items() if not key[1]}
    kept = {key: known.get(key, [""] * (2 if key[2] else 1)) for key in collect_messages()}
    path.write_text(write_entries(header | kept), encoding="utf-8")


def _read_module(tree: ast.Module) -> Iterator[Key]:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    named = {
        alias.name
        for node in imports
        if node.module == "fieldguide._languages"
        for alias in node.names
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "pgettext":
            context, text = _read_texts(node.args[:2])
            yield context, text, ""
        elif isinstance(node.func, ast.Name) and node.func.id in named:
            yield from _read_call(node.func.id, node.args)


def _read_call(name: str, arguments: list[ast.expr]) -> Iterator[Key]:
    n = _SINGLE.get(name) or _PLURAL.get(name, 0)
    texts = _read_texts(arguments[:n])
    if n and len(texts) == n:
        yield "", texts[0], texts[1] if n == 2 else ""


def _read_texts(arguments: Iterable[ast.expr]) -> list[str]:
    values = [node.value for node in arguments if isinstance(node, ast.Constant)]
    return [value for value in values if isinstance(value, str)]


def _read_template(text: str) -> Iterator[Key]:
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    environment.policies["ext.i18n.trimmed"] = True
    for _, name, said in environment.extract_translations(text):  # type: ignore[attr-defined]
        texts = [said] if isinstance(said, str) else [each for each in said if each]
        yield "", texts[0], texts[1] if name in _PLURAL else ""


if __name__ == "__main__":
    for catalogue in sorted(FOLDER.glob("*.po")):
        update(catalogue)

"""Navigation by words: what a query is taken for, and where each word or kind added leads."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from fieldguide._languages import say
from fieldguide.guide.finding import rewrite_term
from fieldguide.guide.views import Facet, QueryResult, Term
from fieldguide.site.addresses import AddressBook, href
from fieldguide.site.phrases import name_source, rank_source

if TYPE_CHECKING:
    from fieldguide.guide import Guide


@dataclass(frozen=True)
class Choice:
    """A word or a kind that some of the specimens at hand have."""

    name: str
    count: int  # how many of them
    link: str  # from the root of the site, as it stands in a link


@dataclass(frozen=True)
class Group:
    """Choices of one source, the most frequent first."""

    title: str
    choices: list[Choice]


@dataclass(frozen=True)
class Choices:
    """What the specimens at hand have besides."""

    shared: list[Choice]  # all of them have it
    groups: list[Group]  # some of them have it


@dataclass(frozen=True)
class ShownTerm:
    """A term of a query, with its page and the query without it."""

    term: Term
    link: str  # page of the word or kind; "" where there is not one alone
    without: str  # link to the other terms; "" where there are none
    n_without: int | None  # specimens that fit those; None where some fit all terms


def search_link(query: str, number: int = 1) -> str:
    """Return the link to a page of what fits a query; the server answers it."""
    asked = {"q": query} if number == 1 else {"q": query, "page": str(number)}
    return f"search.html?{urlencode(asked)}"


def show_choices(
    guide: "Guide", book: AddressBook, facets: Sequence[Facet], total: int, *, live: bool
) -> Choices:
    """Return where each facet leads: to the narrower query, or in an export to its own page."""

    def choose(facet: Facet) -> Choice:
        is_narrower = live and facet.count < total
        page = book.word if facet.form == "word" else book.kind
        link = search_link(facet.query) if is_narrower else href(page(facet.name))
        name = facet.name if facet.form == "word" else guide.shown_name(facet.name)
        return Choice(name, facet.count, link)

    def source(facet: Facet) -> str:
        return guide.sources.get(facet.name, "") if facet.form == "word" else _KINDS

    shared = [choose(facet) for facet in facets if facet.count == total]
    rest = [facet for facet in facets if facet.count < total]
    rest.sort(key=lambda f: (f.form != "kind", rank_source(source(f)), source(f), -f.count, f.name))
    groups = [
        Group(_title(key), [choose(facet) for facet in group])
        for key, group in groupby(rest, source)
    ]
    return Choices(shared, groups)


def show_terms(guide: "Guide", book: AddressBook, found: QueryResult) -> list[ShownTerm]:
    """Return the terms of a query, each with where it leads."""
    written = [rewrite_term(term) for term in found.terms]
    shown = []
    for k, term in enumerate(found.terms):
        others = ", ".join(written[:k] + written[k + 1 :])
        without = search_link(others) if others else ""
        n_without = guide.find(others, limit=1).total if others and not found.total else None
        link = ""
        if len(term.words) == 1 and not term.kinds:
            link = href(book.word(term.words[0]))
        elif len(term.kinds) == 1 and not term.words:
            link = href(book.kind(term.kinds[0]))
        shown.append(ShownTerm(term, link, without, n_without))
    return shown


_KINDS = "\0kinds"  # no source is called so


def _title(source: str) -> str:
    if source == _KINDS:
        return say("Kinds")
    return name_source(source) if source else say("Words")

"""Which pages a guide has, and at which addresses.

Addresses are relative to the root of the site, with forward slashes, and the same on the live
server and in a static export::

    index.html  kinds.html  search.html  identify.html  about.html  404.html
    key.html                                in a guide whose key has a graph
    words.html                              in a guide with visual words
    compare.html                            in a guide with two kinds or more
    walk.html …                             pages of optional chapters, each with a name of its own
    branch/12.html  branch/12-2.html        the second page of its specimens
    kind/robin.html  kind/robin-2.html
    word/spotted.html  word/spotted-2.html
    pair/robin--wren.html                   two look-alikes, in the order of the kinds
    specimen/7.html

A kind or a word may itself be called *robin-2*: first pages take their addresses before any second
page does, and a second page whose address is taken gets one more hyphen (``kind/robin--2.html``).
So does a pair whose address is taken.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from fieldguide.guide.summaries import make_slugs
from fieldguide.site.chapter_pages import list_sheets

if TYPE_CHECKING:
    from fieldguide.guide import Guide

PAGE_SIZE = 60  # specimens on one page: ten rows of six

_SINGLE = ("index", "kinds", "search", "identify", "about", "404")
_NUMBERED = re.compile(r"(branch|specimen)/([0-9]{1,12})(?:-([0-9]{1,9}))?\.html")
_SAFE_SLUG = re.compile(r"\w[\w.\-]{0,120}")


@dataclass(frozen=True)
class Page:
    """What an address shows."""

    form: str  # a template's name: "index", "branch", "kind", "word", "pair", "specimen", …
    key: int = 0  # the branch, specimen, or position of the kind, word or pair
    number: int = 1  # which page of its specimens, from 1
    chapter: str = ""  # the optional chapter whose page it is


class AddressBook:
    """Every address of one guide.

    Parameters
    ----------
    guide : Guide
        Only its branches, kinds, words, couplets, visual words, number of specimens and overlay are
        read. What its owner excluded or hid keeps its address, and is not listed.

    Attributes
    ----------
    pairs : list of (str, str)
        Names of look-alikes that have a page together, each pair once.
    sections : list of (str, str)
        Name and title of the pages of optional chapters that the list of sections leads to.
    summaries : list of (str, str)
        Name and summary of those that home and *About* lead to.
    """

    def __init__(self, guide: "Guide") -> None:
        self._single = _SINGLE + (("key",) if guide.couplets else ())
        self._single += ("words",) if guide.visual_words else ()
        self._single += ("compare",) if len(guide.kinds) > 1 else ()
        sheets = list_sheets(guide)
        self._chapters = {name: chapter for name, (chapter, _) in sheets.items()}
        self._single += tuple(sheets)
        self.sections = [(name, sheet.title) for name, (_, sheet) in sheets.items() if sheet.title]
        self.summaries = [
            (name, sheet.summary) for name, (_, sheet) in sheets.items() if sheet.summary
        ]
        self._branch_counts = [branch.count for branch in guide.branches]
        self._n_specimens = guide.n_specimens
        self._overlay = guide.overlay
        self._kind_positions = {kind.name: k for k, kind in enumerate(guide.kinds)}
        self._kind_addresses = _name_pages("kind", [(k.slug, k.count) for k in guide.kinds])
        self._word_positions = {word: k for k, (word, _, _) in enumerate(guide.words)}
        slugs = make_slugs([word for word, _, _ in guide.words])
        counts = [count for _, count, _ in guide.words]
        self._word_addresses = _name_pages("word", list(zip(slugs, counts, strict=True)))
        self.pairs = _pair_up(guide)
        self._pair_addresses = self._name_pairs()
        named = (
            ("kind", self._kind_addresses),
            ("word", self._word_addresses),
            ("pair", [[address] for address in self._pair_addresses.values()]),
        )
        self._named_pages = {
            address: Page(form, k, number)
            for form, pages in named
            for k, addresses in enumerate(pages)
            for number, address in enumerate(addresses, start=1)
        }

    def __iter__(self) -> Iterator[str]:
        """Every address once, in the order of a reader who turns the pages."""
        for name in self._single:
            yield f"{name}.html"
        for branch, specimens in enumerate(self._branch_counts):
            if branch in self._overlay.hidden:
                continue
            for number in range(1, n_pages(specimens) + 1):
                yield self.branch(branch, number)
        yield from self._named_pages
        for i in range(self._n_specimens):
            if i not in self._overlay.excluded:
                yield self.specimen(i)

    def __len__(self) -> int:
        hidden, excluded = self._overlay.hidden, self._overlay.excluded
        counts = [n for branch, n in enumerate(self._branch_counts) if branch not in hidden]
        n_specimens = self._n_specimens - len(excluded)
        return len(self._single) + sum(map(n_pages, counts)) + len(self._named_pages) + n_specimens

    def branch(self, branch: int, number: int = 1) -> str:
        """Address of a page of a branch."""
        return f"branch/{branch}.html" if number == 1 else f"branch/{branch}-{number}.html"

    def kind(self, name: str, number: int = 1) -> str:
        """Address of a page of a kind."""
        return self._kind_addresses[self._kind_positions[self._overlay.kind(name)]][number - 1]

    def has_page(self, name: str) -> bool:
        """Whether the guide has a page of that name in the root of the site."""
        return name in self._single

    def has_kind(self, name: str | None) -> bool:
        """Whether the guide has a plate of that kind."""
        return name is not None and self._overlay.kind(name) in self._kind_positions

    def word(self, name: str, number: int = 1) -> str:
        """Address of a page of a word."""
        return self._word_addresses[self._word_positions[name]][number - 1]

    def has_word(self, name: str) -> bool:
        """Whether the guide has a page of that word."""
        return name in self._word_positions

    def pair(self, kind: str, other: str) -> str:
        """Address of the page of two look-alikes, whichever is named first."""
        return self._pair_addresses[frozenset(map(self._overlay.kind, (kind, other)))]

    def specimen(self, i: int) -> str:
        """Address of the page of a specimen."""
        return f"specimen/{i}.html"

    def find(self, address: str) -> Page:
        """Say what an address shows; KeyError for one that the guide does not have."""
        if address in self._named_pages:
            return self._named_pages[address]
        name = address.removesuffix(".html")
        if name in self._single and address != name:
            return Page(name, chapter=self._chapters.get(name, ""))
        match = _NUMBERED.fullmatch(address)
        if match:
            page = Page(match[1], int(match[2]), int(match[3] or 1))
            if self._holds(page) and self._write(page) == address:
                return page
        raise KeyError(address)

    def _name_pairs(self) -> dict[frozenset[str], str]:
        """Addresses of all pairs, no two alike even where case does not count."""
        taken: set[str] = set()
        addresses = {}
        for pair in self.pairs:
            stems = [self.kind(name)[len("kind/") : -len(".html")] for name in pair]
            addresses[frozenset(pair)] = f"pair/{_claim('--'.join(stems), '', taken)}.html"
        return addresses

    def _holds(self, page: Page) -> bool:
        if page.form == "specimen":
            return page.key < self._n_specimens and page.number == 1
        counts = self._branch_counts
        return page.key < len(counts) and 1 <= page.number <= n_pages(counts[page.key])

    def _write(self, page: Page) -> str:
        if page.form == "specimen":
            return self.specimen(page.key)
        return self.branch(page.key, page.number)


def n_pages(n_specimens: int) -> int:
    """Pages that a list of specimens fills; an empty list fills one."""
    return max(1, -(-n_specimens // PAGE_SIZE))


def href(address: str) -> str:
    """Write an address as it stands in a link."""
    return quote(address, safe="/~")


def _pair_up(guide: "Guide") -> list[tuple[str, str]]:
    """Pairs of look-alikes, each once, in the order of the kinds."""
    places = {kind.name: k for k, kind in enumerate(guide.kinds)}
    alike = {
        tuple(sorted((places[kind.name], places[other])))
        for kind in guide.kinds
        for other, _ in kind.look_alikes
    }
    return [(guide.kinds[a].name, guide.kinds[b].name) for a, b in sorted(alike)]


def _name_pages(form: str, named: Sequence[tuple[str, int]]) -> list[list[str]]:
    """Addresses of every page of (slug, specimens), no two alike even where case does not count."""
    taken: set[str] = set()
    stems = []
    for k, (slug, _) in enumerate(named):
        stem = slug if _SAFE_SLUG.fullmatch(slug) else f"{form}-{k}"
        stems.append(_claim(stem, "", taken))
    addresses = [[f"{form}/{stem}.html"] for stem in stems]
    for stem, (_, count), own in zip(stems, named, addresses, strict=True):
        for number in range(2, n_pages(count) + 1):
            own.append(f"{form}/{_claim(stem, f'-{number}', taken)}.html")
    return addresses


def _claim(stem: str, suffix: str, taken: set[str]) -> str:
    while f"{stem}{suffix}".casefold() in taken:
        stem += "-"
    taken.add(f"{stem}{suffix}".casefold())
    return f"{stem}{suffix}"

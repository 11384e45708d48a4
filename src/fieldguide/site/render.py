"""From a guide to pages: one renderer for the live server and for the static export.

``Renderer.page(address)`` gives the HTML of one page, ``Renderer.pages()`` all of them in turn.
What a page shows is gathered here in plain records; how it looks is in ``templates/`` and
``assets/``. Every link is relative, so that a page reads the same from a server and from a file.
"""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fieldguide.guide.views import Branch, Exemplar
from fieldguide.guide.visual_words import GAP_PX, PATCH_PX
from fieldguide.site import phrases
from fieldguide.site.addresses import PAGE_SIZE, AddressBook, Page, href, n_pages
from fieldguide.site.couplets import MOST_COUPLETS, draw_for_page, list_couplets, list_way
from fieldguide.site.index import letters
from fieldguide.site.key_drawing import WORDS
from fieldguide.site.marks import show_marks
from fieldguide.site.pictures import Picture, PictureBook, find_specimen
from fieldguide.site.places import draw_outlines
from fieldguide.site.tree import STRIP, branch_row, home_rows

if TYPE_CHECKING:
    from fieldguide.guide import Guide

HERE = Path(__file__).parent
ASSETS = HERE / "assets"

N_NEIGHBOURS = 8
_BLOCK = 512  # specimens whose neighbours are found together in an export


class Renderer:
    """Render the pages of a guide.

    Parameters
    ----------
    guide : Guide
    live : bool
        True behind the server; False for a static export, whose *identify* page says that it
        needs the live guide.
    max_upload_mb : float
        What the *identify* page says of the largest picture that it takes.
    """

    def __init__(self, guide: "Guide", live: bool, *, max_upload_mb: float = 32) -> None:
        self.guide = guide
        self.live = live
        self.book = AddressBook(guide)
        self.pictures = PictureBook(guide, self.book)
        self.max_upload_mb = max_upload_mb
        self._kinds = {kind.name: kind for kind in guide.kinds}
        self._branch_of_word = {word: branch for word, _, branch in guide.words}
        self._neighbours: dict[int, list[int]] = {}
        self._templates = make_environment()
        self._templates.globals.update(
            guide=guide,
            book=self.book,
            live=live,
            version=version("fieldguide"),
            branch_of_word=self._branch_of_word,
        )

    def addresses(self) -> Iterator[str]:
        """Every page address."""
        return iter(self.book)

    def page(self, address: str) -> str:
        """Render one page; KeyError for an address that the guide does not have."""
        found = self.book.find(address)
        return self._render(found, root="../" if "/" in address else "")

    def pages(self) -> Iterator[tuple[str, str]]:
        """Render every page in turn, with the neighbours of many specimens found at once."""
        for address in self.addresses():
            found = self.book.find(address)
            if found.form == "specimen" and found.key not in self._neighbours:
                block = range(found.key, min(found.key + _BLOCK, self.guide.n_specimens))
                nearest = self.guide.neighbours(list(block), n=N_NEIGHBOURS)
                self._neighbours = dict(zip(block, nearest.tolist(), strict=True))
            yield address, self._render(found, root="../" if "/" in address else "")

    def missing(self, root: str) -> str:
        """Render the page for an address that does not exist; ``root`` leads to the site."""
        return self._render(Page("404"), root=root)

    def _render(self, page: Page, root: str) -> str:
        gather = getattr(self, f"_show_{page.form}", None)
        context = gather(page) if gather else {}
        template = self._templates.get_template(f"{page.form}.html")
        return template.render(root=root, form=page.form, **context)

    # What each page shows.

    def _show_index(self, page: Page) -> dict[str, Any]:
        whole = self.guide.branches[0]
        return {
            "frontispiece": self.pictures(whole.exemplars[:STRIP]),
            "rows": home_rows(self.guide.branches, self.pictures),
            "n_branches": len(self.guide.branches) - 1,
            "n_elsewhere": whole.here,
        }

    def _show_branch(self, page: Page) -> dict[str, Any]:
        branches = self.guide.branches
        branch = branches[page.key]
        siblings: Sequence[int] = ()
        if branch.parent is not None:
            siblings = [b for b in branches[branch.parent].children if b != branch.id]
        return {
            "branch": branch,
            "path": self._path(branch),
            "siblings": [branches[b] for b in siblings],
            "plate": self.pictures(branch.exemplars[:7]) if page.number == 1 else [],
            "rows": [branch_row(branches[b], self.pictures) for b in branch.children],
            "kinds_inside": [
                (self._kinds[name], n, self.pictures(self._kinds[name].exemplars[:1]))
                for name, n in (branch.kinds if page.number == 1 else ())
            ],
            **self._listing(self.guide.members(branch=branch.id), page.number),
            "page_address": lambda number: self.book.branch(branch.id, number),
        }

    def _show_kinds(self, page: Page) -> dict[str, Any]:
        return {"plates": [(kind, self.pictures(kind.exemplars[:4])) for kind in self.guide.kinds]}

    def _show_kind(self, page: Page) -> dict[str, Any]:
        kind = self.guide.kinds[page.key]
        first = page.number == 1
        return {
            "kind": kind,
            "plate": self.pictures(kind.exemplars[:7]) if first else [],
            "outlines": draw_outlines(self.guide, kind.exemplars[:7]) if first else {},
            "look_alikes": [
                (self._kinds[name], share, self.pictures(self._kinds[name].exemplars[:2]))
                for name, share in (kind.look_alikes if first else ())
            ],
            "places": [
                (self.guide.branches[b], self._path(self.guide.branches[b]), n)
                for b, n in sorted(kind.branches, key=lambda place: -place[1])
            ],
            "marks": show_marks(self.guide.marks(kind.name), self.pictures) if first else None,
            "way": list_way(self.guide.couplets, kind.name, self.portray) if first else [],
            "most_couplets": MOST_COUPLETS,
            **self._listing(self.guide.members(kind=kind.name), page.number),
            "page_address": lambda number: self.book.kind(kind.name, number),
        }

    def _show_specimen(self, page: Page) -> dict[str, Any]:
        i = page.key
        nearest = self._neighbours.get(i)
        if nearest is None:
            nearest = self.guide.neighbours([i], n=N_NEIGHBOURS)[0].tolist()
        shown = self.pictures([i])[0]
        branch = self.guide.branches[shown.specimen.branch]
        return {
            "shown": shown,
            "specimen": shown.specimen,
            "words": self.guide.words_of(i)[:12],
            "branch": branch,
            "path": self._path(branch),
            "neighbours": self.pictures(j for j in nearest if 0 <= j != i),
            "before": i - 1 if i > 0 else None,
            "after": i + 1 if i + 1 < self.guide.n_specimens else None,
        }

    def _show_key(self, page: Page) -> dict[str, Any]:
        couplets = self.guide.couplets
        return {
            **draw_for_page(self.guide, self.portray, root=""),
            "couplets": list_couplets(couplets, self.portray),
            "n_couplets": len(couplets),
            "has_examples": any(couplets[0].examples),
            "most_couplets": MOST_COUPLETS,
            "side_words": WORDS,
        }

    def _show_search(self, page: Page) -> dict[str, Any]:
        return {"letters": letters(self.guide)}

    def _show_identify(self, page: Page) -> dict[str, Any]:
        return {"max_upload_mb": self.max_upload_mb}

    def _show_words(self, page: Page) -> dict[str, Any]:
        return {
            "visual_words": self.guide.visual_words,
            "patch_px": PATCH_PX,
            "gap_px": GAP_PX,
        }

    def _show_about(self, page: Page) -> dict[str, Any]:
        about = self.guide.about
        confusions = about.get("confusions") or []
        return {
            "about": about,
            "confusions": [tuple(row) for row in confusions],
            "tree_facts": phrases.word_tree(about),
        }

    # The parts they share.

    def portray(self, exemplar: Exemplar) -> Picture:
        """Return the picture of a specimen, or the one that stands for a kind."""
        return self.pictures([find_specimen(self.guide, exemplar)])[0]

    def _path(self, branch: Branch) -> list[Branch]:
        """Branches above this one, the whole collection first."""
        path: list[Branch] = []
        while branch.parent is not None:
            branch = self.guide.branches[branch.parent]
            path.append(branch)
        return path[::-1]

    def _listing(self, members: Any, number: int) -> dict[str, Any]:
        """One page of a list of specimens."""
        start = (number - 1) * PAGE_SIZE
        return {
            "number": number,
            "n_listed": len(members),
            "first": start + 1,
            "page_count": n_pages(len(members)),
            "listing": self.pictures(members[start : start + PAGE_SIZE]),
        }


def make_environment() -> Environment:
    """Return the templates, with the turns of phrase that they use."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        href=href,
        named=phrases.display_name,
        percent=phrases.percent,
        how_sure=phrases.how_sure,
        listed=phrases.listed,
        duration=phrases.duration,
        moment=phrases.moment,
    )
    environment.globals.update(counted=phrases.count)
    return environment

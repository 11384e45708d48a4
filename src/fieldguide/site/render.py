"""From a guide to pages: one renderer for the live server and for the static export.

``Renderer.page(address)`` gives the HTML of one page, ``Renderer.pages()`` all of them in turn.
What a page shows is gathered here in plain records; how it looks is in ``templates/`` and
``assets/``. Every link is relative, so that a page reads the same from a server and from a file.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fieldguide.guide.views import Answer, Branch, Specimen
from fieldguide.site import phrases
from fieldguide.site.addresses import PAGE_SIZE, AddressBook, Page, href, n_pages
from fieldguide.site.index import letters

if TYPE_CHECKING:
    from fieldguide.guide import Guide

HERE = Path(__file__).parent
ASSETS = HERE / "assets"

N_NEIGHBOURS = 8
_BLOCK = 512  # specimens whose neighbours are found together in an export
_CACHED = 50_000  # picture records kept in memory
_OPEN_ROWS = 24  # branches of the home page that show before a reader opens one
_MOST_ROWS = 400  # branches on the home page; deeper ones are reached through their parents
_DEEPEST = 12  # levels of the tree on the home page


@dataclass(frozen=True)
class Picture:
    """A specimen as a picture on a page: sources are relative to the root of the site."""

    specimen: Specimen
    address: str
    thumbnail: str
    thumbnail_size: tuple[int, int]
    picture: str
    picture_size: tuple[int, int]
    alt: str
    words: tuple[str, ...]
    kind: str | None


@dataclass(frozen=True)
class Row:
    """One branch in a tree of branches."""

    branch: Branch
    pictures: list[Picture]
    children: list["Row"]
    is_open: bool
    n_deeper: int  # branches below it that this tree does not show


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
        self.max_upload_mb = max_upload_mb
        self._kinds = {kind.name: kind for kind in guide.kinds}
        self._branch_of_word = {word: branch for word, _, branch in guide.words}
        self._pictures: dict[int, Picture] = {}
        self._neighbours: dict[int, list[int]] = {}
        self._templates = _environment()
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

    def pictures(self, ids: Iterable[int]) -> list[Picture]:
        """Gather what pages need to show some specimens."""
        ids = [int(i) for i in ids]
        found = {i: self._pictures[i] for i in ids if i in self._pictures}
        absent = [i for i in dict.fromkeys(ids) if i not in found]
        for specimen in self.guide.specimens(absent) if absent else ():
            found[specimen.id] = self._picture(specimen)
        if len(self._pictures) > _CACHED:
            self._pictures = {}
        self._pictures.update(found)
        return [found[i] for i in ids]

    def answer(self, answer: Answer) -> dict[str, Any]:
        """Word an answer of the key for the identify page: names, addresses, pictures."""
        kinds = [
            {
                "name": phrases.display_name(name),
                "probability": round(float(probability), 4),
                "percent": phrases.percent(probability),
                "address": href(self.book.kind(name)),
                **self._thumbnail(self._kinds[name].exemplars[:1]),
            }
            for name, probability in answer.kinds
        ]
        branch = self.guide.branches[answer.branch]
        return {
            "kinds": kinds,
            "sure": phrases.how_sure(answer.kinds[0][1]) if answer.kinds else None,
            "branch": {
                "sentence": self.guide.sentence(answer.branch),
                "address": href(self.book.branch(answer.branch)),
                "count": branch.count,
                "path": [
                    {"words": ", ".join(step.words), "address": href(self.book.branch(step.id))}
                    for step in (*self._path(branch), branch)
                    if step.words
                ],
            },
            "words": [
                {"word": word, "probability": round(float(p), 4)} for word, p in answer.words
            ],
            "neighbours": [
                {
                    "address": href(shown.address),
                    "kind": shown.kind and phrases.display_name(shown.kind),
                    **_as_json(shown),
                }
                for shown in self.pictures(answer.neighbours)
            ],
        }

    def _render(self, page: Page, root: str) -> str:
        gather = getattr(self, f"_show_{page.form}", None)
        context = gather(page) if gather else {}
        template = self._templates.get_template(f"{page.form}.html")
        return template.render(root=root, form=page.form, **context)

    # What each page shows.

    def _show_index(self, page: Page) -> dict[str, Any]:
        whole = self.guide.branches[0]
        return {
            "frontispiece": self.pictures(whole.exemplars[:8]),
            "rows": self._tree(),
            "n_branches": len(self.guide.branches) - 1,
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
            "rows": [self._row(branches[b], 6) for b in branch.children],
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
            "look_alikes": [
                (self._kinds[name], share, self.pictures(self._kinds[name].exemplars[:2]))
                for name, share in (kind.look_alikes if first else ())
            ],
            "places": [
                (self.guide.branches[b], self._path(self.guide.branches[b]), n)
                for b, n in sorted(kind.branches, key=lambda place: -place[1])
            ],
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

    def _show_search(self, page: Page) -> dict[str, Any]:
        return {"letters": letters(self.guide)}

    def _show_identify(self, page: Page) -> dict[str, Any]:
        return {"max_upload_mb": self.max_upload_mb}

    def _show_about(self, page: Page) -> dict[str, Any]:
        about = self.guide.about
        confusions = about.get("confusions") or []
        return {"about": about, "confusions": [tuple(row) for row in confusions]}

    # The parts they share.

    def _path(self, branch: Branch) -> list[Branch]:
        """Branches above this one, the whole collection first."""
        path: list[Branch] = []
        while branch.parent is not None:
            branch = self.guide.branches[branch.parent]
            path.append(branch)
        return path[::-1]

    def _tree(self) -> list[Row]:
        """Rows of the home page: nested, the first ones open, the deepest left to their pages."""
        branches = self.guide.branches
        deepest = _deepest_level(branches)
        opened: set[int] = set()
        n_visible = 0
        queue = deque([0])
        while queue:
            branch = branches[queue.popleft()]
            if n_visible + len(branch.children) > _OPEN_ROWS and branch.id != 0:
                continue
            opened.add(branch.id)
            n_visible += len(branch.children)
            queue.extend(branch.children)

        below = _count_below(branches)

        def grow(b: int) -> Row:
            row = self._row(branches[b], 6 if branches[b].depth > 1 else 8)
            if branches[b].depth >= deepest:
                return Row(row.branch, row.pictures, [], False, below[b])
            children = [grow(c) for c in branches[b].children]
            return Row(row.branch, row.pictures, children, b in opened, 0)

        return [grow(b) for b in branches[0].children]

    def _row(self, branch: Branch, n_pictures: int) -> Row:
        return Row(branch, self.pictures(branch.exemplars[:n_pictures]), [], False, 0)

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

    def _picture(self, specimen: Specimen) -> Picture:
        words = tuple(word for word, _ in self.guide.words_of(specimen.id)[:3])
        place = self.guide.sentence(specimen.branch) if specimen.branch else specimen.path
        kind = specimen.kind if self.book.has_kind(specimen.kind) else None
        return Picture(
            specimen=specimen,
            address=self.book.specimen(specimen.id),
            thumbnail=specimen.thumbnail,
            thumbnail_size=_fit(specimen.width, specimen.height, 256),
            picture=specimen.picture,
            picture_size=_fit(
                specimen.width,
                specimen.height,
                256 if specimen.picture == specimen.thumbnail else 1024,
            ),
            alt=phrases.alternative_text(specimen.kind, words, place),
            words=words,
            kind=kind,
        )

    def _thumbnail(self, ids: Sequence[int]) -> dict[str, Any]:
        shown = self.pictures(ids)
        return _as_json(shown[0]) if shown else {"thumbnail": None, "alt": ""}


def _environment() -> Environment:
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


def _as_json(shown: Picture) -> dict[str, Any]:
    width, height = shown.thumbnail_size
    return {
        "thumbnail": href(shown.thumbnail),
        "width": width,
        "height": height,
        "alt": shown.alt,
    }


def _fit(width: int, height: int, most_px: int) -> tuple[int, int]:
    """Size of a picture that was reduced, never enlarged, to ``most_px`` on its longer side."""
    scale = min(1.0, most_px / max(width, height, 1))
    return max(1, round(width * scale)), max(1, round(height * scale))


def _deepest_level(branches: Sequence[Branch]) -> int:
    """How many levels of the tree fit on the home page; at least one."""
    level = 1
    while level < _DEEPEST and sum(branch.depth <= level + 1 for branch in branches) <= _MOST_ROWS:
        level += 1
    return level


def _count_below(branches: Sequence[Branch]) -> list[int]:
    below = [0] * len(branches)
    for branch in reversed(branches):
        if branch.parent is not None:
            below[branch.parent] += 1 + below[branch.id]
    return below

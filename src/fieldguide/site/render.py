"""From a guide to pages: one renderer for the live server and for the static export.

``Renderer.page(address)`` gives the HTML of one page, ``Renderer.pages()`` all of them in turn.
What a page shows is gathered here into a record of ``contexts.py``; how it looks is in
``templates/`` and ``assets/``. Every link is relative, so that a page reads the same from a server
and from a file.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, wraps
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from PIL import Image

from fieldguide._languages import ENGLISH, check_language, say, speaking
from fieldguide.errors import FieldguideError
from fieldguide.guide.answer import Answer
from fieldguide.guide.measure import KEEP_SMALL_PX
from fieldguide.guide.views import Branch, Exemplar, Kind
from fieldguide.guide.visual_words import GAP_PX, PATCH_PX
from fieldguide.site import making, phrases
from fieldguide.site.addresses import PAGE_SIZE, AddressBook, Page, href, n_pages
from fieldguide.site.answers import ShortAnswer, ShownAnswer, show_answer
from fieldguide.site.chapter_pages import list_pages, outline_specimens
from fieldguide.site.contexts import (
    AboutPage,
    BranchPage,
    ComparePage,
    EditsPage,
    HomePage,
    IdentifyPage,
    KeyPage,
    KindPage,
    KindsPage,
    Listing,
    PairPage,
    ResultsPage,
    SearchPage,
    SpecimenPage,
    TeachPage,
    WordPage,
    WordsPage,
)
from fieldguide.site.couplets import MOST_COUPLETS, draw_for_page, list_couplets, list_way
from fieldguide.site.environment import make_environment
from fieldguide.site.index import sections
from fieldguide.site.key_charts import Chart, draw_costs, draw_reliability
from fieldguide.site.key_drawing import WORDS
from fieldguide.site.lessons import choose_pictures
from fieldguide.site.movement import STRIP_SIZE, show_kind_movement, show_movement
from fieldguide.site.navigation import search_link, show_choices, show_terms
from fieldguide.site.pairs import list_pairs, make_chooser, show_pair
from fieldguide.site.pictures import Picture, PictureBook, find_specimen, fit
from fieldguide.site.seasons import draw_months, draw_places
from fieldguide.site.tree import STRIP, branch_row, home_rows

if TYPE_CHECKING:
    from fieldguide.guide import Guide

N_NEIGHBOURS = 8
_MOST_UNREADABLE = 200  # files listed on the page about the guide
_MOST_EDITS = 500  # listed on the page of edits
_BLOCK = 512  # specimens whose neighbours are found together in an export


P = ParamSpec("P")
T = TypeVar("T")


@cache
def _find_version() -> str:
    return version("fieldguide")


def _in_its_language(
    write: Callable[Concatenate["Renderer", P], T],
) -> Callable[Concatenate["Renderer", P], T]:
    """Let a method of a renderer say all that it says in the language of the renderer."""

    @wraps(write)
    def write_in_it(renderer: "Renderer", /, *args: P.args, **kwargs: P.kwargs) -> T:
        with speaking(renderer.language):
            return write(renderer, *args, **kwargs)

    return write_in_it


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
    editing : bool
        Whether its reader may edit: pages then have forms, and say so.
    language : str
        The language of the pages: ``"en"``, or that of a catalogue.
    """

    def __init__(
        self,
        guide: "Guide",
        live: bool,
        *,
        max_upload_mb: float = 32,
        editing: bool = False,
        language: str = ENGLISH,
    ) -> None:
        check_language(language)
        self.guide = guide
        self.live = live
        self.language = language
        with speaking(language):
            self.book = AddressBook(guide)
            self._templates = make_environment(guide)
        self.pictures = PictureBook(guide, self.book)
        self.max_upload_mb = max_upload_mb
        self._kinds = {kind.name: kind for kind in guide.kinds}
        self._neighbours: dict[int, list[int]] = {}
        self._templates.globals.update(
            guide=guide,
            book=self.book,
            live=live,
            editing=editing,
            version=_find_version(),
            most_couplets=MOST_COUPLETS,
        )

    def addresses(self) -> Iterator[str]:
        """Every page address."""
        return iter(self.book)

    @_in_its_language
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
            yield address, self.page(address)

    @_in_its_language
    def missing(self, root: str) -> str:
        """Render the page for an address that does not exist; ``root`` leads to the site."""
        return self._render(Page("404"), root=root)

    @_in_its_language
    def results(self, query: str, number: int = 1) -> str:
        """Render a page of what fits a query; KeyError for a page that there is not."""
        if number < 1:
            raise KeyError(number)
        start = (number - 1) * PAGE_SIZE
        try:
            found = self.guide.find(query, limit=PAGE_SIZE, start=start)
            facets = self.guide.narrow(query) if found.total else ()
        except FieldguideError as error:
            return self._fill("results", ResultsPage(query, None, str(error), [], [], None, None))
        if number > n_pages(found.total):
            raise KeyError(number)
        listing = Listing(
            number=number,
            page_count=n_pages(found.total),
            n_listed=found.total,
            first=start + 1,
            pictures=self.pictures(find.specimen.id for find in found.finds),
            page_address=lambda n: search_link(query, n),
            order=say("best first"),
        )
        choices = show_choices(self.guide, self.book, facets, found.total, live=self.live)
        terms, notes = (
            show_terms(self.guide, self.book, found),
            phrases.list_notes(found, self.guide.shown_name),
        )
        return self._fill("results", ResultsPage(query, found, "", terms, notes, choices, listing))

    @_in_its_language
    def compare(self, kind: str, other: str) -> str:
        """Render two kinds side by side, or the form to choose them with the reason why not;
        KeyError in a guide that has no two kinds."""
        self.book.find("compare.html")
        refusal = ""
        if kind and other:
            try:
                return self._fill("pair", self._gather_pair(kind, other))
            except FieldguideError as error:
                refusal = str(error)
        return self._fill(
            "compare", ComparePage(make_chooser(self.guide, kind, other), refusal, [])
        )

    @_in_its_language
    def identify(
        self,
        asked: ShownAnswer | None = None,
        refusal: str = "",
        entries: Sequence[ShortAnswer] = (),
    ) -> str:
        """Render the *identify* page with an answer or several, or with the reason why there is
        none."""
        return self._fill("identify", IdentifyPage(self.max_upload_mb, asked, refusal, entries))

    @_in_its_language
    def edits(self, refusal: str = "") -> str:
        """Render the history of the owner's edits, with the reason why one was not made."""
        edits = self.guide.edits
        last = edits.history[-_MOST_EDITS:][::-1]
        return self._fill(
            "edits",
            EditsPage(
                history=list(last),
                n_more=len(edits.history) - len(last),
                n_holding=len(edits),
                n_waiting=len(edits.waiting),
                undone=edits.undone,
                faults=edits.faults,
                refusal=refusal,
            ),
        )

    @_in_its_language
    def teach(self, word: str = "", query: str = "") -> str:
        """Render the page where a word is taught by pictures of the guide."""
        refusal, ids = "", []
        try:
            ids = choose_pictures(self.guide, word, query)
        except FieldguideError as error:
            refusal = str(error)
        ids = ids or choose_pictures(self.guide, word)
        pictures = self.pictures(ids)
        return self._fill(
            "teach", TeachPage(word, query, self.guide.taught.get(word), pictures, refusal)
        )

    @_in_its_language
    def answer(self, asked: ShownAnswer) -> str:
        """Render an answer alone, as the *identify* page has it."""
        return self._templates.get_template("fragment.html").render(root="", asked=asked)

    @_in_its_language
    def entry(self, entry: ShortAnswer) -> str:
        """Render the answer about one of several pictures, as the *identify* page lists it."""
        return self._templates.get_template("entry.html").render(root="", entry=entry)

    @_in_its_language
    def show(self, answer: Answer, image: Image.Image, seconds: float) -> ShownAnswer:
        """Gather what the *identify* page shows of an answer."""
        return show_answer(self.guide, self.pictures, self.portray, answer, image, seconds)

    def _render(self, page: Page, root: str) -> str:
        if page.chapter:
            own = list_pages()[page.chapter]
            shown = own.show_sheet(self.guide, page.form, self.pictures, self.book)
            return self._fill(page.form, shown, root, folder=f"{page.chapter}/")
        gather = getattr(self, f"_show_{page.form}", None)
        return self._fill(page.form, gather(page) if gather else None, root)

    def _fill(self, form: str, context: object | None, root: str = "", folder: str = "") -> str:
        names = {} if context is None else vars(context)
        template = self._templates.get_template(f"{folder}{form}.html")
        return template.render(root=root, form=form, **names)

    # What each page shows.

    def _show_index(self, page: Page) -> HomePage:
        whole = self.guide.branches[0]
        return HomePage(
            frontispiece=self.pictures(whole.exemplars[:STRIP]),
            rows=home_rows(self.guide.branches, self.pictures),
            n_branches=len(self.guide.branches) - 1,
            n_elsewhere=whole.n_direct,
        )

    def _show_branch(self, page: Page) -> BranchPage:
        branches = self.guide.branches
        branch = branches[page.key]
        siblings: Sequence[int] = ()
        if branch.parent is not None:
            siblings = [b for b in branches[branch.parent].children if b != branch.id]
        first = page.number == 1
        return BranchPage(
            branch=branch,
            path=self._path(branch),
            siblings=[branches[b] for b in siblings],
            plate=self.pictures(branch.exemplars[:7]) if first else [],
            rows=[branch_row(branches[b], self.pictures) for b in branch.children],
            kinds_inside=[
                (self._kinds[name], n, self.pictures(self._kinds[name].exemplars[:1]))
                for name, n in (branch.kinds if first else ())
            ],
            listing=self._listing(
                self.guide.members(branch=branch.id),
                page.number,
                lambda number: self.book.branch(branch.id, number),
            ),
        )

    def _show_kinds(self, page: Page) -> KindsPage:
        return KindsPage([(kind, self.pictures(kind.exemplars[:4])) for kind in self.guide.kinds])

    def _show_kind(self, page: Page) -> KindPage:
        kind = self.guide.kinds[page.key]
        first = page.number == 1
        return KindPage(
            kind=kind,
            plate=self.pictures(kind.exemplars[:7]) if first else [],
            outlines=outline_specimens(self.guide, kind.exemplars[:7]) if first else {},
            look_alikes=[
                (self._kinds[name], share, self.pictures(self._kinds[name].exemplars[:2]))
                for name, share in (kind.look_alikes if first else ())
            ],
            places=[
                (self.guide.branches[b], self._path(self.guide.branches[b]), n)
                for b, n in sorted(kind.branches, key=lambda place: -place[1])
            ],
            chapters=self._list_chapters(kind) if first else [],
            movement=show_kind_movement(self.guide, kind.name, self.pictures) if first else None,
            strip_size=STRIP_SIZE,
            way=list_way(self.guide, kind.name, self.portray) if first else [],
            season=self._draw_season(kind) if first else [],
            listing=self._listing(
                self.guide.members(kind=kind.name),
                page.number,
                lambda number: self.book.kind(kind.name, number),
            ),
        )

    def _show_compare(self, page: Page) -> ComparePage:
        if self.live:
            return ComparePage(make_chooser(self.guide), "", [])
        return ComparePage(None, "", list_pairs(self.guide, self.book))

    def _show_pair(self, page: Page) -> PairPage:
        return self._gather_pair(*self.book.pairs[page.key])

    def _show_specimen(self, page: Page) -> SpecimenPage:
        i = page.key
        nearest = self._neighbours.get(i)
        if nearest is None:
            nearest = self.guide.neighbours([i], n=N_NEIGHBOURS)[0].tolist()
        shown = self.pictures([i])[0]
        branch = self.guide.branches[shown.specimen.branch]
        return SpecimenPage(
            shown=shown,
            specimen=shown.specimen,
            words=self.guide.words_of(i)[:12],
            original=self._find_original(i),
            frame_size=fit(shown.specimen, KEEP_SMALL_PX),
            movement=show_movement(self.guide, i, shown.specimen),
            strip_size=STRIP_SIZE,
            branch=branch,
            path=self._path(branch),
            neighbours=self.pictures(j for j in nearest if 0 <= j != i),
            before=self._find_shown(range(i - 1, -1, -1)),
            after=self._find_shown(range(i + 1, self.guide.n_specimens)),
        )

    def _find_shown(self, ids: range) -> int | None:
        """Return the first specimen that is not excluded."""
        return next((i for i in ids if i not in self.guide.overlay.excluded), None)

    def _show_key(self, page: Page) -> KeyPage:
        couplets = self.guide.couplets
        listed = list_couplets(self.guide, self.portray)
        return KeyPage(
            drawing=draw_for_page(self.guide, self.portray, root=""),
            couplets=listed,
            n_couplets=len(couplets),
            n_worded=sum(entry.is_worded for entry in listed),
            has_examples=any(couplets[0].examples),
            side_words={sign: say(word) for sign, word in WORDS.items()},
        )

    def _show_search(self, page: Page) -> SearchPage:
        return SearchPage(sections(self.guide))

    def _show_word(self, page: Page) -> WordPage:
        word, n_showing, named = self.guide.words[page.key]
        branch = None if named is None else self.guide.branches[named]
        choices = None
        if page.number == 1:
            facets = self.guide.narrow(word=word)
            choices = show_choices(self.guide, self.book, facets, n_showing, live=self.live)
        return WordPage(
            word=word,
            n_showing=n_showing,
            source=phrases.name_source(self.guide.sources.get(word, "")),
            branch=branch,
            path=[] if branch is None else self._path(branch),
            choices=choices,
            listing=self._listing(
                self.guide.members(word=word),
                page.number,
                lambda number: self.book.word(word, number),
                order=say("surest first"),
            ),
        )

    def _show_identify(self, page: Page) -> IdentifyPage:
        return IdentifyPage(self.max_upload_mb)

    def _show_words(self, page: Page) -> WordsPage:
        return WordsPage(self.guide.visual_words, PATCH_PX, GAP_PX)

    def _show_about(self, page: Page) -> AboutPage:
        about = self.guide.about
        return AboutPage(
            about=about,
            confusions=[(kind, said, n) for kind, said, n in about.get("confusions") or []],
            tree_facts=making.word_tree(about),
            update=making.word_update(about),
            step_times=making.word_steps(about),
            charts=[chart for chart in _draw_charts(about.get("key") or {}) if chart is not None],
            other_files=making.word_others(about.get("other_files") or {}),
            most_unreadable=_MOST_UNREADABLE,
        )

    # The parts they share.

    def _gather_pair(self, kind: str, other: str) -> PairPage:
        """Return what is shown of two kinds."""
        pair = self.guide.compare(kind, other)
        chooser = make_chooser(self.guide, pair.kind, pair.other) if self.live else None
        return show_pair(self.guide, pair, self.pictures, self.book.kind, chooser)

    def _list_chapters(self, kind: Kind) -> list[tuple[str, Any]]:
        """Return what each chapter shows of a kind."""
        pages = list_pages().items()
        shown = ((name, page.show_kind(self.guide, kind, self.pictures)) for name, page in pages)
        return [(name, part) for name, part in shown if part is not None]

    def _draw_season(self, kind: Kind) -> list[Chart]:
        """Return when and where the specimens of a kind were taken."""
        specimens = self.guide.specimens(self.guide.members(kind=kind.name).tolist())
        drawn = (draw(specimens) for draw in (draw_months, draw_places))
        return [chart for chart in drawn if chart is not None]

    def _find_original(self, i: int) -> str:
        """Return the address of a specimen's image on a live guide; "" where it is not there."""
        if not self.live or self.guide.original(i) is None:
            return ""
        return f"originals/{self.guide.digests[i]}"

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

    def _listing(
        self,
        members: np.ndarray,
        number: int,
        page_address: Callable[[int], str],
        order: str = "",
    ) -> Listing:
        start = (number - 1) * PAGE_SIZE
        return Listing(
            number=number,
            page_count=n_pages(len(members)),
            n_listed=len(members),
            first=start + 1,
            pictures=self.pictures(members[start : start + PAGE_SIZE]),
            page_address=lambda n: href(page_address(n)),
            order=order or say("most typical first"),
        )


def _draw_charts(key: dict[str, Any]) -> list[Chart | None]:
    return [draw_costs(key), draw_reliability(key)]

"""A guide to print: cover, key, a plate for each kind on a page of its own, index.

One HTML file with its pictures inside; a browser prints it, to paper or to PDF. Plates have the
numbers by which the key and the index name them.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader

from fieldguide._files import write_text
from fieldguide.errors import FieldguideError
from fieldguide.exports.order import Order
from fieldguide.guide import Guide, Kind
from fieldguide.site.addresses import AddressBook
from fieldguide.site.chapter_pages import list_pages, list_sheets
from fieldguide.site.comparison import join_sheets
from fieldguide.site.environment import make_environment
from fieldguide.site.pictures import EmbeddedPictures, Picture, embed_picture

_KEY = "printed-key"  # the sheet of a chapter that has a key to print
_MAIN_PX = 720  # longer side of the first picture of a plate: 9 cm at 200 dots to the inch
_N_FRONT, _N_SMALL, _N_MARKS, _N_WORDS, _N_ALIKE = 6, 4, 7, 8, 4


@dataclass(frozen=True)
class LookAlike:
    """A kind that may be taken for another, and what tells them apart."""

    name: str
    number: int  # of its plate
    share: float  # of confusions either way
    picture: Picture | None
    marks: tuple[str, ...]  # of the kind, that the look-alike has not


@dataclass(frozen=True)
class Plate:
    """What the page of a kind shows."""

    number: int
    kind: Kind
    pictures: list[Picture]
    sentence: str  # its marks in words; "" where there are none
    marks: list[tuple[str, str, str]]  # the mark, in how many of its specimens, of the others
    alike: list[LookAlike]
    branches: list[str]  # where it sits in the tree


def write(order: Order) -> Path:
    """Write the book."""
    guide = order.guide
    if not guide.kinds:
        raise FieldguideError(
            "A printed guide has a plate for each kind, and this one has no kinds; build it from "
            "labelled images, or print its pages."
        )
    pictures = EmbeddedPictures(guide, AddressBook(guide))
    environment = make_environment(guide, alone=True)
    own = FileSystemLoader(Path(__file__).parent)
    assert environment.loader is not None
    environment.loader = ChoiceLoader([own, environment.loader])
    plates = []
    for number, kind in enumerate(guide.kinds, start=1):
        plates.append(_show_plate(guide, number, kind, pictures))
        order.progress("setting plates", number, len(guide.kinds))
    page = environment.get_template("book.html").render(
        form="book",
        root="",
        guide=guide,
        sheet=join_sheets(),
        front=pictures(guide.branches[0].exemplars[:_N_FRONT]),
        key=_render_key(guide, environment, pictures),
        plates=plates,
        index=_make_index(plates),
    )
    write_text(order.target, page)
    return order.target


def _show_plate(guide: Guide, number: int, kind: Kind, pictures: EmbeddedPictures) -> Plate:
    known = guide.marks(kind.name)
    apart = {} if known is None else {pair.other: pair.marks for pair in known.apart}
    numbers = {each.name: place for place, each in enumerate(guide.kinds, start=1)}
    places = sorted(kind.branches, key=lambda place: -place[1])[:2]
    return Plate(
        number,
        kind,
        [
            _enlarge(guide, shown) if place == 0 else shown
            for place, shown in enumerate(pictures(kind.exemplars[: 1 + _N_SMALL]))
        ],
        "" if known is None else known.sentence,
        [
            (m.words, f"{m.n_own:,} of {m.of_own:,}", f"{m.n_other:,} of {m.of_other:,}")
            for m in (() if known is None else known.marks[:_N_MARKS])
        ],
        [
            LookAlike(
                name,
                numbers[name],
                share,
                next(iter(pictures(guide.kind(name).exemplars[:1])), None),
                tuple(mark.words for mark in apart.get(name, ())[:3]),
            )
            for name, share in kind.look_alikes[:_N_ALIKE]
        ],
        [guide.sentence(branch) for branch, _ in places],
    )


def _enlarge(guide: Guide, shown: Picture) -> Picture:
    """Return the picture as large as a page shows it."""
    width, height = shown.specimen.width, shown.specimen.height
    scale = min(1.0, _MAIN_PX / max(width, height))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    view = replace(shown.specimen, thumbnail=shown.specimen.picture)
    return replace(shown, picture=embed_picture(guide.folder, view, size), picture_size=size)


def _render_key(guide: Guide, environment: Environment, pictures: EmbeddedPictures) -> str:
    """Return the key as the chapter prints it that has one, or nothing."""
    chapter, _ = list_sheets(guide).get(_KEY, ("", None))
    if not chapter:
        return ""
    shown: Any = list_pages()[chapter].show_sheet(guide, _KEY, pictures, AddressBook(guide))
    template = environment.get_template(f"{chapter}/{_KEY}.html")
    page = template.render(form=_KEY, root="", guide=guide, sheet="", **vars(shown))
    return page.partition('<main id="main">')[2].rpartition("</main>")[0]


def _make_index(plates: list[Plate]) -> list[tuple[str, list[int]]]:
    """Return kinds and words by the alphabet, with the numbers of the plates that name them."""
    found: dict[str, list[int]] = {}
    for plate in plates:
        words = [word.name for word in plate.kind.words[:_N_WORDS]]
        for name in dict.fromkeys([plate.kind.shown, *words, *(m for m, _, _ in plate.marks)]):
            found.setdefault(name, []).append(plate.number)
    return sorted(found.items(), key=lambda entry: entry[0].casefold())

"""An answer for the identify page: the record itself, with the pictures that go with it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image

from fieldguide._languages import say
from fieldguide.guide.answer import Answer, NamedKind
from fieldguide.guide.views import Branch, PathStep
from fieldguide.site.chapter_pages import Outline, list_pages
from fieldguide.site.couplets import Portray, Side, describe_sides
from fieldguide.site.phrases import word_group, word_path, word_unknown
from fieldguide.site.pictures import InlinePicture, Picture, PictureBook, inline_picture

if TYPE_CHECKING:
    from fieldguide.guide import Guide

_N_KINDS = 5
_N_NEIGHBOURS = 8
_LIKELY = 0.01  # kinds less probable than this are not shown, but for the runner-up
_SHOWN_PX = 960  # longer side of the picture asked about
_SHORT_PX = 240  # of one of several


@dataclass(frozen=True)
class Candidate:
    """A kind that the picture may be."""

    kind: NamedKind
    picture: Picture | None


@dataclass(frozen=True)
class WayStep:
    """A couplet on the way through the key."""

    step: PathStep
    sides: tuple[Side, Side]  # minus, plus
    both: Side | None


@dataclass(frozen=True)
class Way:
    """The way through the key."""

    steps: list[WayStep]
    largest_margin: float  # at least 1
    end: str  # where it ended and what it cost, as a sentence


@dataclass(frozen=True)
class ShownAnswer:
    """All that the identify page shows of one picture."""

    answer: Answer
    picture: InlinePicture  # the one asked about
    outlines: list[Outline]  # of what speaks for the first kind
    candidates: list[Candidate]
    branch: Branch
    path: list[Branch]  # to the branch, without the whole collection
    chapters: list[tuple[str, Any]]  # the chapter, and what its answer.html shows
    way: Way | None
    unknown: tuple[str, str]  # that it may be of no kind, and why; empty texts where it is not so
    group: str  # the kinds among which the picture is, as a sentence; "" where that is one kind
    neighbours: list[Picture]
    seconds: float
    file: str = ""  # name and digest of the file, where the answer may be judged
    digest: str = ""


@dataclass(frozen=True)
class ShortAnswer:
    """What is said of one of several pictures that were sent together."""

    name: str  # of its file, as the sender calls it
    answer: Answer | None
    picture: InlinePicture | None
    unknown: str = ""  # that it may be of no kind
    refusal: str = ""  # why it was not looked at


def shorten_answer(name: str, answer: Answer, image: Image.Image) -> ShortAnswer:
    """Gather what a list shows of an answer about ``image``."""
    picture = inline_picture(image, name, _SHORT_PX)
    return ShortAnswer(name, answer, picture, word_unknown(answer)[0])


def show_answer(
    guide: "Guide",
    pictures: PictureBook,
    portray: Portray,
    answer: Answer,
    image: Image.Image,
    seconds: float,
) -> ShownAnswer:
    """Gather what the identify page shows of an answer about ``image``."""
    path = []
    branch = guide.branches[answer.branch.id]
    above = branch.parent
    while above is not None and guide.branches[above].parent is not None:
        path.append(guide.branches[above])
        above = guide.branches[above].parent
    likely = [
        kind
        for rank, kind in enumerate(answer.kinds[:_N_KINDS])
        if rank < 2 or kind.probability >= _LIKELY
    ]
    unknown = word_unknown(answer)
    pages = list_pages()
    outlines = (
        pages[n].outline_answer(guide, said, image.size) for n, said in answer.parts.items()
    )
    parts = ((n, pages[n].show_answer(guide, said, image)) for n, said in answer.parts.items())
    return ShownAnswer(
        answer=answer,
        picture=inline_picture(image, say("The picture you chose"), _SHOWN_PX),
        outlines=[outline for outline in outlines if outline is not None],
        candidates=[
            Candidate(kind, next(iter(pictures(guide.kind(kind.name).exemplars[:1])), None))
            for kind in likely
        ],
        branch=branch,
        path=path[::-1],
        chapters=[(name, shown) for name, shown in parts if shown is not None],
        way=_show_way(guide, portray, answer),
        unknown=unknown,
        group="" if any(unknown) else word_group(answer.group, len(guide.kinds), guide.shown_name),
        neighbours=pictures(near.id for near in answer.neighbours[:_N_NEIGHBOURS]),
        seconds=seconds,
    )


def _show_way(guide: "Guide", portray: Portray, answer: Answer) -> Way | None:
    if answer.path is None:
        return None
    steps = []
    for step in answer.path.steps:
        couplet = guide.couplets[step.couplet - 1]
        sides = describe_sides(guide, couplet, portray, n_pictures=4, n_names=5)
        steps.append(WayStep(step, *sides))
    return Way(
        steps,
        max([1.0, *(abs(step.margin) for step in answer.path.steps)]),
        word_path(answer.path, answer.kinds[0].name, guide.shown_name),
    )

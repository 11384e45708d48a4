"""An answer of the key as JSON for the identify page: names, addresses, pictures."""

from typing import TYPE_CHECKING, Any

from fieldguide.guide.views import Answer, KeyPath, PathStep
from fieldguide.site.addresses import AddressBook, href
from fieldguide.site.couplets import MOST_COUPLETS, Side, describe_sides
from fieldguide.site.phrases import (
    display_name,
    how_sure,
    is_close_call,
    percent,
    word_group,
    word_path,
)
from fieldguide.site.pictures import PictureBook, find_specimen
from fieldguide.site.places import outline_record

if TYPE_CHECKING:
    from fieldguide.guide import Guide


def word_answer(
    guide: "Guide", book: AddressBook, pictures: PictureBook, answer: Answer
) -> dict[str, Any]:
    """Word an answer: its kinds, how sure, its branch, words, neighbours and way through the key.

    Addresses and thumbnails are relative to the root of the site.
    """
    return {
        "kinds": [_kind(guide, book, pictures, name, p) for name, p in answer.kinds],
        "sure": how_sure(answer.kinds[0][1]) if answer.kinds else None,
        "branch": _branch(guide, book, answer.branch),
        "words": [{"word": word, "probability": round(float(p), 4)} for word, p in answer.words],
        "neighbours": [
            {
                "id": shown.specimen.id,
                "address": href(shown.address),
                "kind": shown.kind,
                "caption": display_name(shown.kind) if shown.kind else shown.alt,
                **shown.as_json(),
            }
            for shown in pictures(answer.neighbours)
        ],
        "path": _path(guide, book, pictures, answer.path, answer) if answer.path else None,
        "located": None if answer.located is None else outline_record(answer.located),
    }


def _kind(
    guide: "Guide", book: AddressBook, pictures: PictureBook, name: str, probability: float
) -> dict[str, Any]:
    best = pictures(guide.kind(name).exemplars[:1])
    return {
        "name": name,
        "caption": display_name(name),
        "probability": round(float(probability), 4),
        "percent": percent(probability),
        "address": href(book.kind(name)),
        **(best[0].as_json() if best else {"thumbnail": None}),
    }


def _path(
    guide: "Guide", book: AddressBook, pictures: PictureBook, path: KeyPath, answer: Answer
) -> dict[str, Any]:
    """The way through the key: at each couplet both sides, the margin, and how close it was."""
    return {
        "steps": [_step(guide, book, pictures, step) for step in path.steps],
        "end": list(path.end),
        "evaluations": path.evaluations,
        "one_vs_all": path.one_vs_all,
        "sentence": word_path(path, answer.kinds[0][0]),
        "group": word_group(path.group, len(guide.kinds)),
    }


def _step(
    guide: "Guide", book: AddressBook, pictures: PictureBook, step: PathStep
) -> dict[str, Any]:
    couplet = guide.couplets[step.couplet - 1]
    sides, both = describe_sides(
        couplet,
        guide.couplets,
        lambda exemplar: pictures([find_specimen(guide, exemplar)])[0],
        n_pictures=4,
        n_names=5,
    )
    taken = sides[step.margin > 0]
    return {
        "couplet": step.couplet,
        "address": f"key.html#couplet-{step.couplet}" if step.couplet <= MOST_COUPLETS else None,
        "margin": round(step.margin, 4),
        "probability": round(step.probability, 4),
        "percent": percent(step.probability),
        "sure": how_sure(step.probability),
        "close_call": is_close_call(step.probability),
        "sides": [{**_side(book, side), "taken": side is taken} for side in sides],
        "both": None if both is None else _side(book, both),
    }


def _side(book: AddressBook, side: Side) -> dict[str, Any]:
    return {
        "sign": side.sign,
        "kinds": [
            {
                "name": kind.name,
                "caption": display_name(kind.name),
                "address": href(book.kind(kind.name)),
                **kind.picture.as_json(),
            }
            for kind in side.shown
        ],
        "names": [display_name(name) for name in side.names],
        "more": side.n_more,
    }


def _branch(guide: "Guide", book: AddressBook, b: int) -> dict[str, Any]:
    steps = []
    step = guide.branches[b]
    while step.parent is not None:
        steps.append({"words": ", ".join(step.words), "address": href(book.branch(step.id))})
        step = guide.branches[step.parent]
    return {
        "sentence": guide.sentence(b),
        "address": href(book.branch(b)),
        "count": guide.branches[b].count,
        "path": steps[::-1],
    }

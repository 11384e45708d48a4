"""The page *What needs a look*, the lines of a terminal, and a copy among the answers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image

from fieldguide._languages import grouped, message, messages, say, say_count
from fieldguide.chapters.check.alignment import SAME_DETAIL
from fieldguide.chapters.check.judging import (
    ALIKE_ERROR,
    ALIKE_SURE,
    FEWEST,
    LEAST_BRIGHTEST,
    LEAST_PX,
    LEAST_SHARPNESS,
)
from fieldguide.chapters.check.records import PROBLEMS, Finding, ImageCopies, Report
from fieldguide.errors import GuideError
from fieldguide.guide.naming import listed
from fieldguide.site.chapter_pages import ChapterPage, Sheet
from fieldguide.site.phrases import percent
from fieldguide.site.pictures import Picture

if TYPE_CHECKING:
    from fieldguide.guide import Guide
    from fieldguide.site.addresses import AddressBook
    from fieldguide.site.pictures import PictureBook

SHEET = "check"
MOST = 200  # lines of one problem on the page
_MOST_COPIES = 6  # pictures beside a copy

# Of each problem: its heading, its noun for a count, and what is said below the heading.
_TITLES = {
    "label": (
        message("Labels that may be wrong"),
        messages("%(n)s doubtful label", "%(n)s doubtful labels"),
        message(
            "The key, asked about a picture that it has not seen, and the pictures most like it "
            "speak against the label. Listed where it is more likely wrong than right; the most "
            "certain first."
        ),
    ),
    "copy": (
        message("Copies"),
        messages("%(n)s copy", "%(n)s copies"),
        message(
            "The same image, or nearly: resized, cut at the margin, mirrored or compressed again. "
            "Small forms of the two are laid over each other, and their detail correlates by "
            "%(same_detail)s or more."
        ),
    ),
    "unreadable": (
        message("Files that could not be read"),
        messages("%(n)s unreadable file", "%(n)s unreadable files"),
        message("They are in no other part of the guide."),
    ),
    "no subject": (
        message("Perhaps empty"),
        messages("%(n)s picture that may be empty", "%(n)s pictures that may be empty"),
        message(
            "Pictures in which nothing stands out from what is around it, or far less than in "
            "others: look whether something is there."
        ),
    ),
    "blurred": (
        message("Blurred"),
        messages("%(n)s blurred picture", "%(n)s blurred pictures"),
        message(
            "Seen at 512 pixels, their finest detail has less than %(sharpness)s of the strength "
            "of coarser detail."
        ),
    ),
    "dark": (
        message("Dark"),
        messages("%(n)s dark picture", "%(n)s dark pictures"),
        message("99 of 100 pixels are darker than %(brightest)s of 255."),
    ),
    "tiny": (
        message("Tiny"),
        messages("%(n)s tiny picture", "%(n)s tiny pictures"),
        message("Less than %(size)s pixels high or wide."),
    ),
    "few": (
        message("Kinds with few specimens"),
        messages("%(n)s kind with few specimens", "%(n)s kinds with few specimens"),
        message("Fewer than %(fewest)s: what the key says of them rests on little."),
    ),
    "alike": (
        message("Kinds that are hard to tell apart"),
        messages("%(n)s pair of kinds that are alike", "%(n)s pairs of kinds that are alike"),
        message(
            "Between the two, the held-out key errs in more than %(error)s of cases, with a "
            "probability of %(sure)s or more. They may be one kind, or need better pictures."
        ),
    ),
}

# How sure a finding is, of the problems that say so.
_SURE = {
    "label": message("%(share)s likely wrong"),
    "copy": message("%(share)s alike"),
    "alike": message("%(share)s sure"),
}


@dataclass(frozen=True)
class Line:
    """A finding with its pictures."""

    finding: Finding
    picture: Picture | None
    others: list[Picture]  # that it is a copy of, or of the kinds that it is about
    confidence: str  # in words; "" where it is certain


@dataclass(frozen=True)
class Section:
    """The findings of one problem."""

    problem: str
    anchor: str
    title: str
    note: str
    lines: list[Line]
    n_more: int  # findings that are not shown


@dataclass(frozen=True)
class CheckPage:
    """check.html."""

    sections: list[Section]
    summary: str


@dataclass(frozen=True)
class ShownCopies:
    """Specimens that a new image is a copy of."""

    addresses: list[tuple[str, str]]  # page and file of each


class CheckPages(ChapterPage):
    """What needs a look."""

    def list_sheets(self, guide: "Guide") -> Sequence[Sheet]:
        """Return the page, in a guide that knows of it."""
        report = guide.check()
        if report is None:
            return []
        return [Sheet(SHEET, summary=say("What needs a look: %(what)s", what=sum_up(report)))]

    def show_sheet(
        self, guide: "Guide", name: str, pictures: "PictureBook", book: "AddressBook"
    ) -> CheckPage:
        """Return the record of the page."""
        report = guide.check()
        if report is None:
            raise GuideError("This guide does not know what needs a look; build it again.")
        sections = []
        for problem in PROBLEMS:
            found = report.of(problem)
            if found:
                title, _, note = _TITLES[problem]
                lines = [_show(guide, finding, pictures) for finding in found[:MOST]]
                anchor = problem.replace(" ", "-")
                sections.append(
                    Section(
                        problem,
                        anchor,
                        say(title),
                        _say_note(note),
                        lines,
                        len(found) - len(lines),
                    )
                )
        return CheckPage(sections, sum_up(report))

    def show_answer(self, guide: "Guide", record: ImageCopies, image: Image.Image) -> ShownCopies:
        """Return the specimens that a new image is a copy of."""
        found = guide.specimens([copy.id for copy in record.copies])
        return ShownCopies([(f"specimen/{each.id}.html", each.path) for each in found])

    def describe_answer(self, guide: "Guide", record: ImageCopies) -> list[str]:
        """Return the line of a terminal for a copy."""
        files = [each.path for each in guide.specimens([copy.id for copy in record.copies])]
        return [f"in the guide already: {listed(files)}"]


def sum_up(report: Report) -> str:
    """Return how much needs a look, in words."""
    counts = Counter(finding.problem for finding in report)
    if not counts:
        return say("nothing")
    return listed([say_count(*_TITLES[p][1], counts[p]) for p in PROBLEMS if counts[p]])


def check_lines(report: Report) -> Iterator[str]:
    """Yield the lines of a terminal."""
    if not len(report):
        yield "Nothing needs a look."
    for problem in PROBLEMS:
        found = report.of(problem)
        if found:
            yield f"{say(_TITLES[problem][0])} ({len(found):,})"
        for finding in found:
            yield f"  {percent(finding.confidence):>4}  {finding.path}: {finding.detail}"


def _show(guide: "Guide", finding: Finding, pictures: "PictureBook") -> Line:
    own = None if finding.specimen is None else pictures([finding.specimen])[0]
    others: list[int] = [*finding.others[:_MOST_COPIES]]
    if finding.problem in ("label", "alike"):
        others = [i for kind in finding.kinds[1:] for i in guide.kind(kind).exemplars[:1]]
    share = percent(finding.confidence)
    sure = say(_SURE[finding.problem], share=share) if finding.problem in _SURE else ""
    return Line(finding, own, pictures(others), sure)


def _say_note(note: str) -> str:
    return say(
        note,
        same_detail=grouped(SAME_DETAIL, 1),
        sharpness=percent(LEAST_SHARPNESS),
        brightest=grouped(LEAST_BRIGHTEST),
        size=LEAST_PX,
        fewest=FEWEST,
        error=percent(ALIKE_ERROR),
        sure=percent(ALIKE_SURE),
    )


PAGE: Any = CheckPages()

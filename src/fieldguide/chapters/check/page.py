"""The page *What needs a look*, the lines of a terminal, and a copy among the answers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image

from fieldguide.chapters.check.alignment import SAME_DETAIL
from fieldguide.chapters.check.judging import (
    ALIKE_ERROR,
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
        "Labels that may be wrong",
        ("doubtful label", "doubtful labels"),
        "The key, asked about a picture that it has not seen, and the pictures most like it speak "
        "against the label. Listed where it is more likely wrong than right; the most certain "
        "first.",
    ),
    "copy": (
        "Copies",
        ("copy", "copies"),
        "The same image, or nearly: resized, cut at the margin, mirrored or compressed again. "
        "Small forms of the two are laid over each other, and their detail correlates by "
        f"{SAME_DETAIL:g} or more.",
    ),
    "unreadable": (
        "Files that could not be read",
        ("unreadable file", "unreadable files"),
        "They are in no other part of the guide.",
    ),
    "no subject": (
        "Perhaps empty",
        ("picture that may be empty", "pictures that may be empty"),
        "Pictures in which nothing stands out from what is around it, or far less than in others: "
        "look whether something is there.",
    ),
    "blurred": (
        "Blurred",
        ("blurred picture", "blurred pictures"),
        "Seen at 512 pixels, their finest detail has less than "
        f"{LEAST_SHARPNESS:.0%} of the strength of coarser detail.",
    ),
    "dark": (
        "Dark",
        ("dark picture", "dark pictures"),
        f"99 of 100 pixels are darker than {LEAST_BRIGHTEST:.0f} of 255.",
    ),
    "tiny": (
        "Tiny",
        ("tiny picture", "tiny pictures"),
        f"Less than {LEAST_PX} pixels high or wide.",
    ),
    "few": (
        "Kinds with few specimens",
        ("kind with few specimens", "kinds with few specimens"),
        f"Fewer than {FEWEST}: what the key says of them rests on little.",
    ),
    "alike": (
        "Kinds that are hard to tell apart",
        ("pair of kinds that are alike", "pairs of kinds that are alike"),
        f"Between the two, the held-out key errs in more than {ALIKE_ERROR:.0%} of cases, with a "
        "probability of 90% or more. They may be one kind, or need better pictures.",
    ),
}


@dataclass(frozen=True)
class Line:
    """A finding with its pictures."""

    finding: Finding
    picture: Picture | None
    others: list[Picture]  # that it is a copy of, or of the kinds that it is about


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
        return [Sheet(SHEET, summary=f"What needs a look: {sum_up(report)}")]

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
                    Section(problem, anchor, title, note, lines, len(found) - len(lines))
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
        return "nothing"
    nouns = ((counts[p], *_TITLES[p][1]) for p in PROBLEMS if counts[p])
    return listed([f"{n:,} {one if n == 1 else many}" for n, one, many in nouns])


def check_lines(report: Report) -> Iterator[str]:
    """Yield the lines of a terminal."""
    if not len(report):
        yield "Nothing needs a look."
    for problem in PROBLEMS:
        found = report.of(problem)
        if found:
            yield f"{_TITLES[problem][0]} ({len(found):,})"
        for finding in found:
            yield f"  {percent(finding.confidence):>4}  {finding.path}: {finding.detail}"


def _show(guide: "Guide", finding: Finding, pictures: "PictureBook") -> Line:
    own = None if finding.specimen is None else pictures([finding.specimen])[0]
    others: list[int] = [*finding.others[:_MOST_COPIES]]
    if finding.problem in ("label", "alike"):
        others = [i for kind in finding.kinds[1:] for i in guide.kind(kind).exemplars[:1]]
    return Line(finding, own, pictures(others))


PAGE: Any = CheckPages()

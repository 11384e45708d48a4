"""Pictures of a guide as files of their own: SVG with everything inside, to open or to print."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import escape

from fieldguide._check import check_choice, check_number
from fieldguide.errors import GuideError
from fieldguide.guide.couplets import Agreement, compare_keys
from fieldguide.guide.naming import display_name
from fieldguide.guide.views import Exemplar
from fieldguide.site.chapter_pages import ASSETS
from fieldguide.site.key_drawing import describe_drawing, draw_key, fit, shorten, wrap
from fieldguide.site.key_layout import PICTURE_PX, Layout, lay_out
from fieldguide.site.phrases import count
from fieldguide.site.pictures import embed_picture, find_specimen

if TYPE_CHECKING:
    from fieldguide.guide import Guide

PLOTS = ("key",)
LEGEND = (
    "The kinds beside − go on one way only, those beside + the other way only, those beside 0 both "
    "ways. A line leads to the next couplet, → 7 to couplet 7; ● is the end of a way."
)
EXAMPLES_LEGEND = (
    "The pictures are specimens: beside − and + such as the key was sure of when it was trained, "
    "beside 0 the hard ones, which went both ways."
)
_MARGIN_PX = 36
_BETWEEN_PX = 72  # two keys beside each other
_SHARPNESS = 4  # pixels of a picture for each unit of the drawing: sharp in print
_LEAST_WIDTH_PX = 560
_PAPER = {
    "--paper": "#f8f3e8",
    "--ink": "#2a251e",
    "--ink-soft": "#5f5648",
    "--rule": "#d9cfbb",
    "--rule-strong": "#8d8068",
    "--accent": "#8f3a1c",
    "--serif": 'Palatino, "Palatino Linotype", "URW Palladio L", Georgia, serif',
    "--sans": '"Segoe UI", "Helvetica Neue", Roboto, "Liberation Sans", Arial, sans-serif',
}
_OWN_STYLE = """
.paper { fill: var(--paper); }
.title { font: italic 24px var(--serif); fill: var(--ink); }
.line { font: 13px var(--serif); fill: var(--ink-soft); }
.statement { font: 15px var(--serif); fill: var(--ink); }
.key-picture { mix-blend-mode: multiply; }
a { cursor: pointer; }
@media print { .paper { fill: none; } }
"""


class Drawing(NamedTuple):
    """A picture, and what it says in words beside its pictures."""

    text: str  # of the SVG file
    statement: str  # how far two keys agree; "" for one


def plot_key(guide: "Guide", levels: int = 5, *, beside: "Guide | None" = None) -> Drawing:
    """Draw the first levels of a guide's key.

    Parameters
    ----------
    guide : Guide
        Built with a key that has a graph.
    levels : int
        How many couplets deep.
    beside : Guide, optional
        Another guide of the same kinds, to draw its key beside the first and to say how far the
        two agree.
    """
    check_number("plot_key", "levels", levels, 1, 100, integer=True)
    guides = [guide] if beside is None else [guide, beside]
    for each in guides:
        check_has_graph(each)
    statement = ""
    if beside is not None:
        agreement = compare_keys(guide.couplets, beside.couplets)
        if agreement is None:
            raise GuideError(
                f"The guides {guide.title!r} and {beside.title!r} share fewer than two kinds, so "
                "their keys cannot be compared; give two guides of one collection."
            )
        statement = word_agreement(agreement)
    plates = [_Plate(each, levels, f"g{k}-") for k, each in enumerate(guides)]
    return Drawing(_compose(plates, statement), statement)


def check_has_graph(guide: "Guide") -> None:
    """Refuse a guide whose key cannot be drawn."""
    if guide.couplets:
        return
    if not guide.kinds:
        raise GuideError(
            f"The guide {guide.title!r} has no kinds, so it has no key to draw; build it from a "
            "folder with a sub-folder for each kind."
        )
    raise GuideError(
        f"The key of the guide {guide.title!r} is flat: it asks about every kind at once and has "
        "no tree to draw; build the guide again with 'fieldguide build … --key relaxed'."
    )


def check_plot_name(name: str) -> None:
    """Refuse the name of a plot that there is not."""
    check_choice("fieldguide plot", "NAME", name, PLOTS)


def word_agreement(agreement: Agreement) -> str:
    """Say in one sentence how far two keys agree."""
    return (
        f"Of {count(agreement.n_pairs, 'pair')} of kinds, the first couplets of the two keys treat "
        f"{agreement.same_first:.0%} alike (parted by both or by neither; "
        f"{agreement.by_chance:.0%} is chance), and one key parts a pair {agreement.apart:.1f} "
        "levels earlier or later than the other on average."
    )


def name_key(guide: "Guide") -> str:
    """Spell the name of a guide's key: ``"RelaxedHierarchyClassifier"`` is a relaxed hierarchy."""
    name = str(guide.about["settings"].get("key", "")).removesuffix("Classifier")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).split(" ")
    return " ".join(word if word.isupper() else word.lower() for word in words)


class _Plate:
    """One key, with the pictures that it needs."""

    def __init__(self, guide: "Guide", levels: int, prefix: str) -> None:
        self.guide = guide
        self.layout: Layout = lay_out(guide.couplets, levels, guide.shown_name)
        self.prefix = prefix
        self.pictures: dict[int, str] = {}  # by specimen, as data addresses
        self.body = draw_key(self.layout, self._place, self._address, prefix=prefix)

    def _address(self, number: int) -> str | None:
        return f"#{self.prefix}{number}" if number in self.layout.cards else None

    def _place(self, exemplar: Exemplar, x: float, y: float) -> str:
        # Each picture is held once, however often it is drawn.
        specimen = find_specimen(self.guide, exemplar)
        if specimen not in self.pictures:
            self.pictures[specimen] = _embed(self.guide, specimen)
        place = list(self.pictures).index(specimen)
        return (
            f'<use href="#{self.prefix}p{place}" x="{x:.1f}" y="{y:.1f}">'
            f"<title>{escape(fit(self.guide.shown_name(exemplar.kind)))}</title></use>"
        )

    def definitions(self) -> list[str]:
        """Return the pictures, for the drawing to refer to."""
        width, height = PICTURE_PX
        return [
            f'<image id="{self.prefix}p{place}" class="key-picture" width="{width}" '
            f'height="{height}" href="{data}"/>'
            for place, data in enumerate(self.pictures.values())
        ]

    def heading(self) -> tuple[str, str]:
        """Return the title and the line under it."""
        guide, n_drawn = self.guide, len(self.layout.cards)
        n_all = len(guide.couplets)
        drawn = (
            f"all {count(n_all, 'couplet')}"
            if n_drawn == n_all
            else f"the first {n_drawn:,} of {count(n_all, 'couplet')}"
        )
        by = guide.about["settings"].get("features")
        line = f"{count(len(guide.kinds), 'kind')}, {name_key(guide)}, {drawn}"
        return (
            f"A key to {fit(display_name(guide.title))}",
            f"{line}; by {by} features." if by else f"{line}.",
        )


def _embed(guide: "Guide", i: int) -> str:
    """Return the picture of a specimen, cut to the size of the drawing, as a data address."""
    size_px = (PICTURE_PX[0] * _SHARPNESS, PICTURE_PX[1] * _SHARPNESS)
    return embed_picture(guide.folder, guide.specimen(i), size_px)


def _compose(plates: Sequence[_Plate], statement: str) -> str:
    """Set titles, statement, keys and legend one below the other."""
    inner = sum(plate.layout.width for plate in plates) + _BETWEEN_PX * (len(plates) - 1)
    inner = max(inner, _LEAST_WIDTH_PX)
    parts, x, y = [], float(_MARGIN_PX), _MARGIN_PX + 20.0
    below_heads = y
    for plate in plates:
        title, line = plate.heading()
        room = inner if len(plates) == 1 else plate.layout.width
        parts.append(_text("title", x, y, shorten(title, room, 24)))
        lines, end = _paragraph("line", x, y + 24, line, room, 13)
        parts += lines
        below_heads = max(below_heads, end)
        x += plate.layout.width + _BETWEEN_PX
    y = below_heads + 4
    if statement:
        lines, y = _paragraph("statement", _MARGIN_PX, y + 4, statement, inner, 15)
        parts += lines
    y += 10
    x = _MARGIN_PX
    for plate in plates:
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">\n{plate.body}\n</g>')
        x += plate.layout.width + _BETWEEN_PX
    y += max(plate.layout.height for plate in plates) + 30
    has_examples = any(any(p.guide.couplets[0].examples) for p in plates)
    legend = f"{LEGEND} {EXAMPLES_LEGEND}" if has_examples else LEGEND
    lines, y = _paragraph("line", _MARGIN_PX, y, legend, inner, 13)
    parts += lines
    width, height = inner + 2 * _MARGIN_PX, y + _MARGIN_PX - 14
    spoken = " ".join(describe_drawing(p.guide.couplets, p.layout) for p in plates)
    title = " and ".join(dict.fromkeys(plate.heading()[0] for plate in plates))
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="t d" '
            f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
            f'<title id="t">{escape(fit(title))}</title>',
            f'<desc id="d">{escape(fit(f"{statement} {spoken}".strip()))}</desc>',
            f"<style>{escape(_style(width, height))}</style>",
            "<defs>",
            *(image for plate in plates for image in plate.definitions()),
            "</defs>",
            '<rect class="paper" width="100%" height="100%"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _paragraph(
    css: str, x: float, y: float, text: str, width_px: float, size_px: float
) -> tuple[list[str], float]:
    """Set a sentence in lines from a first baseline on; return them and the next baseline."""
    lines = wrap(text.split(), width_px, size_px)
    leading = 1.35 * size_px
    set_lines = [_text(css, x, y + leading * k, line) for k, line in enumerate(lines)]
    return set_lines, y + leading * len(lines)


def _text(css: str, x: float, y: float, text: str) -> str:
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}">{escape(fit(text))}</text>'


def _style(width: float, height: float) -> str:
    """Return the style of the drawing with its colours written out: not all viewers know names."""
    sheet = (ASSETS / "key.css").read_text(encoding="utf-8") + _OWN_STYLE
    # One page of paper holds the whole drawing, and a printer fits that to its own.
    sheet += f"@page {{ size: {width:.0f}px {height:.0f}px; margin: 0; }}\n"
    return re.sub(r"var\((--[\w-]+)\)", lambda m: _PAPER[m[1]], sheet)

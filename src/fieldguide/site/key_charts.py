"""Two charts about a key, as SVG for *About*: what accuracy costs, and how sure answers may be."""

from collections.abc import Sequence
from math import log
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from fieldguide._languages import grouped, message, say
from fieldguide.guide.telling import COUNTED
from fieldguide.site.phrases import begin, percent

_WIDTH, _HEIGHT = 440, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 14, 42
_NAMES = {
    "OneVsAllClassifier": message("one-vs-all"),
    "RelaxedHierarchyClassifier": message("relaxed hierarchy"),
    "AttentionTreeClassifier": message("attention tree"),
    "NormalizedCutTreeClassifier": message("normalized cuts"),
    "ConfusionTreeClassifier": message("confusion tree"),
    "DAGSVMClassifier": "DAGSVM",
}


class Chart(NamedTuple):
    """A drawing and what it shows, in words."""

    markup: Markup  # to stand inside an <svg>
    width: int
    height: int
    alt: str
    sentence: str


class _Axes(NamedTuple):
    x: tuple[float, float]
    y: tuple[float, float]

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point stands on the drawing."""
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return round(_LEFT + across * wide, 1), round(_TOP + (1 - up) * high, 1)

    def frame(
        self, across: Sequence[tuple[float, str]], up: Sequence[tuple[float, str]], name: str
    ) -> list[str]:
        """Return lines and numbers of the axes; ``name`` is that of the x axis."""
        left, bottom = self.place(self.x[0], self.y[0])
        right, top = self.place(self.x[1], self.y[1])
        lines = [f'<path class="chart-axis" d="M{left} {top}V{bottom}H{right}"/>']
        for value, text in up:
            y = self.place(self.x[0], value)[1]
            lines.append(f'<line class="chart-rule" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>')
            lines.append(chart_text(left - 6, y + 4, text, "end"))
        for value, text in across:
            x = self.place(value, self.y[0])[0]
            lines.append(chart_text(x, bottom + 16, text, "middle"))
        lines.append(chart_text((left + right) / 2, bottom + 34, name, "middle"))
        return lines


def draw_costs(key: dict[str, Any]) -> Chart | None:
    """Return accuracy against evaluations for every key that was tried; None where none was."""
    curves = {each["name"]: each["points"] for each in key.get("tried", ()) if each["points"]}
    chosen = key.get("point")
    if not curves or chosen is None:
        return None
    points = [point for curve in curves.values() for point in curve]
    costs, rights = ([p[name] for p in points] for name in ("evaluations", "accuracy"))
    room = max(0.01, 0.1 * (max(rights) - min(rights)))
    axes = _Axes(
        (log(min(costs) * 0.9), log(max(costs) * 1.1)), (min(rights) - room, max(rights) + room)
    )
    ticks = [c for c in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if _is_in(c, axes.x)]
    lines = axes.frame(
        [(log(c), grouped(c)) for c in ticks],
        [(value, percent(value)) for value in _levels(*axes.y)],
        say("%(what)s evaluated for a picture, on average", what=_name_counted(key)),
    )
    for name, curve in curves.items():
        placed = [axes.place(log(p["evaluations"]), p["accuracy"]) for p in curve]
        if len(placed) > 1:
            path = "L".join(f"{x} {y}" for x, y in placed)
            lines.append(f'<path class="chart-line" d="M{path}"/>')
        lines += [f'<circle class="chart-dot" cx="{x}" cy="{y}" r="2.6"/>' for x, y in placed]
        x, y = placed[-1]
        anchor = "end" if x > _WIDTH / 2 else "start"
        lines.append(chart_text(x, y - 8, _name_key(name), anchor))
    x, y = axes.place(log(chosen["evaluations"]), chosen["accuracy"])
    lines.append(f'<circle class="chart-chosen" cx="{x}" cy="{y}" r="7"/>')
    return Chart(Markup("\n".join(lines)), _WIDTH, _HEIGHT, _tell_costs(key), _tell_costs(key))


def draw_reliability(key: dict[str, Any]) -> Chart | None:
    """Return how often answers of each probability are right; None where it is not known."""
    bins = key.get("reliability")
    if not bins:
        return None
    axes = _Axes((0.0, 1.0), (0.0, 1.0))
    ticks = [(v, percent(v)) for v in (0.0, 0.25, 0.5, 0.75, 1.0)]
    lines = axes.frame(ticks, ticks, say("how sure the key said it was"))
    (x0, y0), (x1, y1) = axes.place(0, 0), axes.place(1, 1)
    lines.append(f'<path class="chart-rule" d="M{x0} {y0}L{x1} {y1}"/>')
    most = max(n for _, _, n in bins)
    for sure, right, n in bins:
        x, y = axes.place(sure, right)
        title = say(
            "said %(sure)s, right %(right)s of %(n)s",
            sure=percent(sure),
            right=percent(right),
            n=round(n),
        )
        lines.append(
            f'<g class="chart-bin"><title>{escape(title)}</title>'
            f'<circle cx="{x}" cy="{y}" r="{2.5 + 6.5 * (n / most) ** 0.5:.1f}"/></g>'
        )
    said = say(
        "How often held-out answers are right, by how sure they were; larger dots are more "
        "specimens. They are %(share)s apart on average.",
        share=percent(key["calibration_error"]),
    )
    return Chart(Markup("\n".join(lines)), _WIDTH, _HEIGHT, said, said)


def _tell_costs(key: dict[str, Any]) -> str:
    point, tried = key["point"], key["tried"]
    taken = next((each["name"] for each in tried if point in each["points"]), "OneVsAllClassifier")
    said = say(
        "Each dot is a setting of a key, judged on held-out specimens; the ringed one was taken: "
        "%(key)s, %(right)s right with %(n)s %(what)s, %(share)s of one-vs-all's.",
        key=_name_key(taken),
        right=percent(point["accuracy"]),
        n=grouped(point["evaluations"], 1),
        what=_name_counted(key),
        share=percent(point["share"]),
    )
    left = [each for each in tried if not each["points"]]
    for each in left:
        said += " " + say(
            "%(key)s: %(n)s functions from its root to a leaf, more than the other tree, so it was "
            "not tried further.",
            key=begin(_name_key(each["name"])),
            n=grouped(each["way"], 1),
        )
    return said


def _name_key(name: str) -> str:
    return say(_NAMES[name]) if name in _NAMES else name


def _name_counted(key: dict[str, Any]) -> str:
    """Return what the key evaluates for a picture."""
    counted = str(key.get("counted", "functions"))
    return say(COUNTED[counted]) if counted in COUNTED else counted


def _levels(low: float, high: float) -> list[float]:
    step = next(s for s in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / s <= 6)
    first = int(low / step) + 1
    return [round(k * step, 4) for k in range(first, int(high / step) + 1)]


def _is_in(cost: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= log(cost) <= ends[1]


def chart_text(x: float, y: float, text: str, anchor: str) -> str:
    """Return a text on a drawing."""
    return (
        f'<text class="chart-text" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )

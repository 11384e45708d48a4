"""When and where the specimens of a kind were taken, as two small drawings without a map.

The calendar has a bar for each month, over all years. The scatter has a dot for each place, north
up, a degree of longitude as wide as it is at that latitude, and round degrees as lines.
"""

from collections import Counter
from collections.abc import Sequence
from math import cos, floor, log10, radians

from markupsafe import Markup, escape

from fieldguide._display import printable
from fieldguide._languages import grouped, say, say_count
from fieldguide.guide.views import Specimen
from fieldguide.site.key_charts import Chart, chart_text
from fieldguide.site.phrases import count
from fieldguide.site.times import name_month, word_date, word_place

_WIDTH = 440
_CALENDAR_HEIGHT, _BAR_TOP, _BAR_BOTTOM = 120, 22, 96
_LEFT, _RIGHT, _TOP, _BOTTOM = 12, 12, 12, 36  # the scale stands below
_MOST_HEIGHT, _LEAST_HEIGHT = 420, 120
_LEAST_DEGREES = 0.01  # that a drawing spans: a kilometre
_KM_PER_DEGREE = 111.2
_MOST_DOTS = 2000


def draw_months(specimens: Sequence[Specimen]) -> Chart | None:
    """Return in which months specimens were taken; None where no date is known."""
    dates = sorted(specimen.date for specimen in specimens if specimen.date)
    if not dates:
        return None
    counts = Counter(int(date[5:7]) for date in dates)
    most = max(counts.values())
    step = (_WIDTH - _LEFT - _RIGHT) / 12
    lines = [
        f'<path class="chart-axis" d="M{_LEFT} {_BAR_BOTTOM + 0.5}H{_WIDTH - _RIGHT}"/>',
    ]
    for month in range(1, 13):
        name = name_month(month)
        x, n = _LEFT + (month - 1) * step, counts[month]
        lines.append(
            chart_text(x + step / 2, _BAR_BOTTOM + 16, name_month(month, is_short=True), "middle")
        )
        if n:
            height = (_BAR_BOTTOM - _BAR_TOP) * n / most
            lines.append(
                f'<g class="chart-bin"><title>{escape(name)}: {count(n, "specimen")}</title>'
                f'<rect x="{x + 3:.1f}" y="{_BAR_BOTTOM - height:.1f}" width="{step - 6:.1f}" '
                f'height="{height:.1f}"/></g>'
            )
            lines.append(chart_text(x + step / 2, _BAR_BOTTOM - height - 5, grouped(n), "middle"))
    said = _tell_dates(dates, len(specimens), counts)
    return Chart(Markup("\n".join(lines)), _WIDTH, _CALENDAR_HEIGHT, said, said)


def draw_places(specimens: Sequence[Specimen]) -> Chart | None:
    """Return where specimens were taken; None where no place is known."""
    placed = [s for s in specimens if s.latitude is not None and s.longitude is not None]
    if not placed:
        return None
    cut = _find_cut([s.longitude or 0.0 for s in placed])
    points = [(((s.longitude or 0.0) - cut) % 360, s.latitude or 0.0) for s in placed]
    frame = _Frame(points)
    lines = frame.draw_lines(cut)
    for (x, y), specimen in list(zip(points, placed, strict=True))[:_MOST_DOTS]:
        across, down = frame.place(x, y)
        day = f", {word_date(specimen.date[:10])}" if specimen.date else ""
        lines.append(
            f'<g class="chart-bin"><title>{escape(printable(specimen.path) + day)}</title>'
            f'<circle cx="{across}" cy="{down}" r="4"/></g>'
        )
    said = _tell_places(placed, len(specimens))
    return Chart(Markup("\n".join(lines)), _WIDTH, frame.height, said, said)


class _Frame:
    """Places on a drawing: x runs from 0 eastward from the cut, y is the latitude."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        xs, ys = ([point[k] for point in points] for k in (0, 1))
        middle = (min(ys) + max(ys)) / 2
        self._wide = max(cos(radians(middle)), 0.05)  # of a degree of longitude, in latitudes
        room_x = max((max(xs) - min(xs)) * 0.56, _LEAST_DEGREES / self._wide)
        room_y = max((max(ys) - min(ys)) * 0.56, _LEAST_DEGREES / 2)
        inner = _WIDTH - _LEFT - _RIGHT
        # A drawing that would be too high or too low is widened the other way.
        most, least = (h - _TOP - _BOTTOM for h in (_MOST_HEIGHT, _LEAST_HEIGHT))
        room_x = max(room_x, room_y / self._wide * inner / most)
        room_y = max(room_y, room_x * self._wide * least / inner)
        center = (min(xs) + max(xs)) / 2
        self.x = (center - room_x, center + room_x)
        south = max(min(middle - room_y, 90.0 - 2 * room_y), -90.0)  # a pole is at the edge
        self.y = (south, min(south + 2 * room_y, 90.0))
        self._scale = inner / (2 * room_x)  # pixels for a degree of longitude
        self.height = round((self.y[1] - self.y[0]) * self._scale / self._wide) + _TOP + _BOTTOM

    def place(self, x: float, y: float) -> tuple[float, float]:
        down = (self.y[1] - y) * self._scale / self._wide
        return round(_LEFT + (x - self.x[0]) * self._scale, 1), round(_TOP + down, 1)

    def draw_lines(self, cut: float) -> list[str]:
        """Return the frame, lines at round degrees, and a bar of so many kilometres."""
        right, bottom = _WIDTH - _RIGHT, self.height - _BOTTOM
        lines = [
            f'<rect class="chart-axis" x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" '
            f'height="{bottom - _TOP}"/>'
        ]
        step = _round_step(min(self.x[1] - self.x[0], 4 * (self.y[1] - self.y[0])) / 3)
        digits = max(0, -floor(log10(step)))
        for k in range(int(-180 / step), int(540 / step) + 1):
            degrees = k * step
            x = degrees - cut
            if self.x[0] < x < self.x[1]:
                across = self.place(x, self.y[0])[0]
                lines.append(
                    f'<path class="chart-rule" d="M{across} {_TOP}V{bottom}"/>'
                    + chart_text(
                        across + 3,
                        bottom - 4,
                        _name_longitude(degrees, digits),
                        "start",
                    )
                )
        for k in range(int(self.y[0] / step) - 1, int(self.y[1] / step) + 2):
            if self.y[0] < k * step < self.y[1]:
                down = self.place(self.x[0], k * step)[1]
                lines.append(
                    f'<path class="chart-rule" d="M{_LEFT} {down}H{right}"/>'
                    + chart_text(
                        _LEFT + 3,
                        down - 3,
                        _name_latitude(k * step, digits),
                        "start",
                    )
                )
        km_per_px = _KM_PER_DEGREE * self._wide / self._scale
        length = _round_step(90 * km_per_px)
        start = right - 10 - length / km_per_px
        named = f"{grouped(length)} km" if length >= 1 else f"{grouped(length * 1000)} m"
        lines.append(
            f'<path class="chart-scale" d="M{start:.1f} {bottom + 7}v5H{right - 10}v-5"/>'
            + chart_text((start + right - 10) / 2, bottom + 26, named, "middle")
        )
        return lines


def _find_cut(longitudes: Sequence[float]) -> float:
    """Return where to cut the globe open: at the widest gap between places."""
    around = sorted(longitude % 360 for longitude in longitudes)
    nexts = [*around[1:], around[0] + 360]
    gap, start = max((after - at, at) for at, after in zip(around, nexts, strict=True))
    return start + gap / 2


def _round_step(most: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is no more than ``most``."""
    power = 10.0 ** floor(log10(most))
    return next(k * power for k in (5, 2, 1) if k * power <= most * (1 + 1e-9))


def _name_longitude(degrees: float, digits: int) -> str:
    degrees = (degrees + 180) % 360 - 180
    return _name_degrees(degrees, digits, say("E") if degrees > 0 else say("W"))


def _name_latitude(degrees: float, digits: int) -> str:
    return _name_degrees(degrees, digits, say("N") if degrees > 0 else say("S"))


def _name_degrees(value: float, digits: int, side: str) -> str:
    side = "" if abs(value) < 1e-9 else f" {side}"
    return f"{grouped(abs(value), digits)}°{side}"


def _tell_dates(dates: Sequence[str], n: int, counts: Counter[int]) -> str:
    first, last = (f"{name_month(int(date[5:7]))} {date[:4]}" for date in (dates[0], dates[-1]))
    span = (
        say("in %(month)s", month=first)
        if first == last
        else say("from %(first)s to %(last)s", first=first, last=last)
    )
    month, n_most = min(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return say_count(
        "Of %(n)s specimen, %(dated)s have a date, %(span)s; most were taken in %(month)s "
        "(%(most)s).",
        "Of %(n)s specimens, %(dated)s have a date, %(span)s; most were taken in %(month)s "
        "(%(most)s).",
        n,
        dated=len(dates),
        span=span,
        month=name_month(month),
        most=n_most,
    )


def _tell_places(placed: Sequence[Specimen], n: int) -> str:
    latitudes, longitudes = ([getattr(s, name) for s in placed] for name in _SIDES)
    middle = word_place(sorted(latitudes)[len(placed) // 2], sorted(longitudes)[len(placed) // 2])
    told = say_count(
        "Of %(n)s specimen, %(placed)s have a place, around %(middle)s.",
        "Of %(n)s specimens, %(placed)s have a place, around %(middle)s.",
        n,
        placed=len(placed),
        middle=middle,
    )
    if len(placed) <= _MOST_DOTS:
        return told
    return f"{told} " + say("The drawing has the first %(n)s.", n=_MOST_DOTS)


_SIDES = ("latitude", "longitude")

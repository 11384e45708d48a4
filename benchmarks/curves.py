"""Curves of measured figures, as SVG; they need matplotlib (the extra ``plot``)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fieldguide.metrics import LocalizationCurve

MARKERS = "osD^vPX*<>"
LEVELS = np.linspace(0, 1, 21)  # of recall, where curves are read
AXES = "recall", "precision"


def read_curve(curve: LocalizationCurve) -> np.ndarray:
    """Return the largest precision at each level of recall or beyond; 0 where none is reached."""
    reached = curve.recall >= LEVELS[:, None] - 1e-9
    return np.where(reached, curve.precision, 0).max(axis=1, initial=0)


def draw_curves(
    path: Path,
    curves: Mapping[str, Sequence[tuple[float, float]]],
    x: str,
    y: str,
    *,
    is_log: bool = False,
    level: tuple[str, float] | None = None,
) -> None:
    """Write curves that can be told apart without colour; nothing where matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"font.family": "serif", "svg.hashsalt": "fieldguide", "font.size": 10}
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for (name, points), marker in zip(curves.items(), MARKERS * 3, strict=False):
        xs, ys = zip(*sorted(points), strict=True)
        axes.plot(xs, ys, marker=marker, markersize=4, linewidth=1.2, label=name)
    if level is not None:
        axes.axhline(level[1], color="black", linewidth=0.8, linestyle=":", label=level[0])
    if is_log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(linewidth=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)

"""What is known of one table or figure of a document."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import t as student

Said = Literal["holds", "in part", "fails"]


class Verdict(NamedTuple):
    """Whether a claim holds here, and the figures that decide."""

    said: Said
    because: str


class Item(NamedTuple):
    """A numbered table or figure.

    Of one that is measured, ``judge`` returns the verdict from the results of ``problems``, by
    name; one without a judge shows figures or pictures, or says in ``instead`` why it has none.
    """

    name: str  # "attention/fig4"
    shows: str
    problems: tuple[str, ...] = ()
    judge: Callable[[Mapping[str, dict[str, Any]]], Verdict] | None = None
    instead: str = ""
    page: str = ""  # of benchmarks/results, where our figures stand


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean, and half of its 95 % interval by Student's t; NaN for a single value."""
    n = len(values)
    half = student.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5 if n > 1 else np.nan
    return float(np.mean(values)), float(half)


def word_interval(values: Sequence[float], digits: int = 3) -> str:
    """Return mean ± half of its 95 % interval."""
    mean, half = mean_interval(values)
    return f"{mean:.{digits}f}" + ("" if np.isnan(half) else f" ± {half:.{digits}f}")


def judge_parts(parts: Mapping[str, bool], because: str) -> Verdict:
    """Return the verdict on a claim that has parts: all hold, some do, or none."""
    missed = [name for name, holds in parts.items() if not holds]
    if not missed:
        return Verdict("holds", because)
    said: Said = "in part" if len(missed) < len(parts) else "fails"
    return Verdict(said, f"{because}; not so: {', '.join(missed)}")

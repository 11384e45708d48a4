"""The few-shot protocol on video: how many shots, and how many frames of each, a concert needs.

Specimen clips, a clip being a shot, told by the kind of animal in their frames: 1 to 8 shots of
each kind with 10 frames, or 8 with 1 to 10, drawn at random; the frames of all other shots are the
test, and a frame is right or wrong by itself. The rows are those of the clips in
``concert_accuracy`` (pool III, 2,000 outputs of ImageNet's classes), kept in the same cells; no
collection is needed. ``CONCERT_DRAWS`` (10) draws; the document has 30.

    python benchmarks/run.py --only concert_shots
"""

import os
from pathlib import Path

import numpy as np

from benchmarks.problems import concert_accuracy
from benchmarks.problems.concert_accuracy import judge, list_cells, measure
from benchmarks.problems.concert_pools import describe_clips, load_pool


def run(data: Path | None, *, tiny: bool) -> dict:
    if tiny:
        return {"rows": [measure_tiny(n_frames) for n_frames in (1, 2)]}
    load_pool(Path(), "clips")
    cells = list_cells(int(os.environ.get("CONCERT_DRAWS", "10")))
    return {"rows": [measure(cell, Path()) for cell in cells if cell.data == "clips"]}


def measure_tiny(n_frames: int) -> dict:
    """Return what some methods get from one shot of each kind, with so many frames of it."""
    y, _, shot, F = describe_clips(n_clips=4, n_frames=2, shots=(2, 2), size_px=64)
    is_first = np.isin(shot, [shot[y == kind].min() for kind in np.unique(y)])
    train = np.flatnonzero(is_first)[:: 2 // n_frames]
    found = judge(F[train], y[train], F[~is_first], y[~is_first])
    cell = concert_accuracy.Cell("clips", "III (2000)", 1, 0, n_frames)
    return {**cell._asdict(), "methods": found}


def table(result: dict) -> str:
    return concert_accuracy.table(result)

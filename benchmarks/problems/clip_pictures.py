"""Ten frames of new clips with the box of the action that is found in them, as in Figure 6.

Two new clips of each action, drawn at random from the first split of ``clip_regions``, on the
regular grid and with the movement alone. Yellow is the best tube of region selection (χ², cap 1/3),
white the box that was drawn; where the tube is not, there is none.

    python benchmarks/run.py --only clip_pictures
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from threadpoolctl import threadpool_limits

from benchmarks.problems import clip_regions
from benchmarks.problems.clip_regions import ACTIONS, CELLS, METHODS, OURS, PICTURES
from fieldguide.errors import FieldguideWarning
from fieldguide.metrics.localization import overlaps

CUT = "voxels"
N_SHOWN, N_COLUMNS, GAP_PX, SEED = 2, 10, 2, 6
FOUND, DRAWN = "#ffd500", "#ffffff"


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = clip_regions.TINY if tiny else clip_regions.SIZES
    cells = CELLS.with_name("clips-tiny") if tiny else CELLS
    clips = clip_regions.describe(cells, sizes, CUT)
    rng, rows, strips = np.random.default_rng(SEED), [], []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldguideWarning)
        for action in ACTIONS[: 1 if tiny else None]:
            tubes = find_tubes(clips, sizes, action)
            for i in rng.permutation(sorted(tubes))[: 1 if tiny else N_SHOWN]:
                truth = clips["boxes"][i]
                overlap = float(overlaps(tubes[i][None], truth[None])[0, 0])
                rows.append({"action": action, "overlap": overlap})
                strips.append(draw_strip(clips["frames"][i], tubes[i], truth))
    folder = cells / "pictures" if tiny else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    stack(strips).save(folder / "clip_tubes.jpg", quality=82, optimize=True)
    return {"rows": rows}


def find_tubes(clips: dict[str, Any], sizes: dict[str, int], action: str) -> dict[int, np.ndarray]:
    """Return the best tube of each new clip of an action, by the clip's number."""
    train, new = clip_regions.draw_split(clips["target"], 0, sizes["n_train"])
    is_action = clips["target"] == ACTIONS.index(action)
    bags = [clip_regions.keep_parts(bag, "movement", sizes["n_words"]) for bag in clips["bags"]]
    model = METHODS[OURS]().fit([bags[i] for i in train], is_action[train])
    own = new[is_action[new]]
    finds = model.locate([bags[i] for i in own], [clips["regions"][i] for i in own])
    return {int(i): found.tubes[0] for i, found in zip(own, finds, strict=True)}


def draw_strip(frames: np.ndarray, tube: np.ndarray, truth: np.ndarray) -> Image.Image:
    """Return frames of a clip side by side, with the boxes that were found and drawn."""
    shown = np.linspace(0, len(frames) - 1, N_COLUMNS).round().astype(int)
    side = frames.shape[1]
    strip = Image.new("RGB", (N_COLUMNS * (side + GAP_PX) - GAP_PX, side), "white")
    for column, t in enumerate(shown):
        frame = Image.fromarray(frames[t])
        pen = ImageDraw.Draw(frame)
        for box, colour, width in ((truth[t], DRAWN, 1), (tube[t], FOUND, 2)):
            x0, y0, x1, y1 = np.round(box).astype(int).tolist()
            if x1 > x0 and y1 > y0:
                pen.rectangle((x0, y0, x1 - 1, y1 - 1), outline=colour, width=width)
        strip.paste(frame, (column * (side + GAP_PX), 0))
    return strip


def stack(strips: list[Image.Image]) -> Image.Image:
    """Return strips below each other."""
    height = strips[0].height + GAP_PX
    sheet = Image.new("RGB", (strips[0].width, height * len(strips) - GAP_PX), "white")
    for k, strip in enumerate(strips):
        sheet.paste(strip, (0, k * height))
    return sheet


def table(result: dict) -> str:
    lines = ["| row | action | overlap of the tube with what was drawn |", "|---|---|---|"]
    lines += [
        f"| {k} | {row['action']} | {row['overlap']:.2f} |"
        for k, row in enumerate(result["rows"], 1)
    ]
    return "\n".join(lines)

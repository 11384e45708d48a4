"""What new pictures cost a guide: one in a hundred come, and then the whole folder moves.

Specimens drawn by code, in folders named after their kinds, 128 px; the network's first look, no
marks, one thread. A first build; a build after one picture in a hundred has come; a build after the
folder has got another name and all its files another time. Seconds by what they are spent on, and
how many pictures were decoded.

    python benchmarks/run.py --only new_pictures
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.guide import Guide
from fieldguide.site.making import MEASURING

N_PER_KIND, SIZE_PX, SHARE_NEW = 313, 128, 100
TINY = 2, 64, 50


class Counted(Collection):
    """A collection that counts the pictures that it decodes."""

    n_decoded = 0

    def picture(self, i: int, *, at_least_px: int = 0) -> Any:
        Counted.n_decoded += 1
        return super().picture(i, at_least_px=at_least_px)

    def part(self, indices: Sequence[int]) -> "Counted":
        return Counted(**vars(super().part(indices)))


def run(data: Path | None, *, tiny: bool) -> dict:
    n_per_kind, size_px, share = TINY if tiny else (N_PER_KIND, SIZE_PX, SHARE_NEW)
    drawn = load_specimens(n_per_kind, size_px)
    with tempfile.TemporaryDirectory() as place:
        folder, out = Path(place) / "images", Path(place) / "guide"
        new = []
        for i, (image, kind) in enumerate(zip(drawn.images, drawn.target, strict=True)):
            file = folder / drawn.target_names[kind] / f"{i:05d}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            if i % share == share - 1:
                new.append((file, image))
            else:
                Image.fromarray(image).save(file, quality=90)
        rows = [measure("first build", folder, out)]
        for file, image in new:
            Image.fromarray(image).save(file, quality=90)
        rows.append(measure("one in a hundred is new", folder, out))
        folder = folder.rename(folder.with_name("elsewhere"))
        for file in folder.rglob("*.jpg"):
            os.utime(file, (1, 1))
        rows.append(measure("all have moved", folder, out))
    return {"rows": rows}


def measure(name: str, folder: Path, out: Path) -> dict[str, Any]:
    """Build the guide; return what it cost."""
    Counted.n_decoded = 0
    collection = Counted.from_folder(folder)
    about = Guide.build(collection, out, features="deep", marks=False, places=False, n_jobs=1).about
    took = about["step_seconds"]
    measuring = sum(took.get(step, 0.0) for step in MEASURING)
    return {
        "name": name,
        "n": about["n_specimens"],
        "n_decoded": Counted.n_decoded,
        "measuring_s": measuring,
        "fitting_s": sum(took.values()) - measuring,
    }


def table(result: dict) -> str:
    lines = [
        "| build | pictures | decoded | measuring, s | fitting, s |",
        "|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['name']} | {row['n']:,} | {row['n_decoded']:,} | {row['measuring_s']:.1f} "
            f"| {row['fitting_s']:.1f} |"
        )
    return "\n".join(lines)

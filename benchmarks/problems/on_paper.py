"""What 100 million images would take, from what each of a few hundred takes.

A guide of photographs (CUB-200 with --data, else drawn specimens) is built in one thread. Counted
for each picture: bytes of the guide's files and of the journal at its largest, bytes that the
building machine holds in memory, seconds of processor time of the steps that read pictures. The
rest is multiplication: nothing here has been run at such sizes. Prices are assumptions, and stand
in the table.

    python benchmarks/run.py --only on_paper [--data DIR]
"""

import tempfile
import time
import tracemalloc
from collections import Counter
from pathlib import Path

from PIL import Image

from fieldguide.collection import Collection, Item
from fieldguide.datasets import load_specimens
from fieldguide.guide import Guide
from fieldguide.guide import folder as files
from fieldguide.guide.journal import FILE_NAME
from fieldguide.guide.measure import Measured
from fieldguide.site.making import MEASURING

N_IMAGES, N_ITEMS = 160, 20_000
SIZES = (10**6, 10**7, 10**8)
# Assumed: a core for an hour and a TB for a month in dollars, bytes of an image file, how many
# products and sums a core makes in a second, cores that measure.
CORE_HOUR, TB_MONTH, FILE_BYTES, FLOPS, N_CORES = 0.04, 20.0, 300_000, 5e10, 1000
# The nearest are looked for in 2 √n cells, of which 16 are searched: 2 √n middles and 8 √n others.
# Copies are, by 128 numbers and twice by 256; the support of words and doubtful labels, by 128.
FLOPS_OF_NEAR = 10 * 2 * (128 + 256 + 256 + 128 + 128)


def run(data: Path | None, *, tiny: bool) -> dict:
    with tempfile.TemporaryDirectory() as place:
        collection = list_images(data, Path(place) / "images", 12 if tiny else N_IMAGES)
        each = measure(collection, Path(place) / "guide")
    each["bytes in memory, lists"] = weigh_items(200 if tiny else N_ITEMS)
    return {"n_measured": len(collection), "each": each}


def list_images(data: Path | None, folder: Path, n: int) -> Collection:
    """Return some photographs as a collection; drawn specimens without data."""
    if data is not None:
        whole = Collection.from_folder(data / "cub200" / "images")
        step = len(whole) // n
        return whole.part(range(0, n * step, step))
    drawn = load_specimens(n_per_kind=-(-n // 32), size_px=256)
    for i, (image, kind) in enumerate(zip(drawn.images[:n], drawn.target, strict=False)):
        file = folder / drawn.target_names[kind] / f"{i:05d}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(file, quality=90)
    return Collection.from_folder(folder)


def measure(collection: Collection, out: Path) -> dict[str, float]:
    """Build the guide; return bytes and seconds for each picture."""
    seconds: Counter[str] = Counter()
    last = ["", time.process_time()]
    journal = [0]

    def watch(step: str, done: int, total: int) -> None:
        now = time.process_time()
        seconds[last[0]] += now - last[1]
        last[:] = step, now
        journal[0] = max(journal[0], sum(p.stat().st_size for p in out.glob(f"{FILE_NAME}*")))

    settings = {"features": "looks", "key": "ova", "tree": "agglomerative", "n_jobs": 1}
    guide = Guide.build(collection, out, marks=False, places=False, progress=watch, **settings)
    n = guide.n_specimens
    pictures = sum(p.stat().st_size for p in (out / "pictures").rglob("*") if p.is_file())
    features = sum(p.stat().st_size for p in (guide.edition / "features").iterdir())
    rows = files.read_features(guide.edition, "rows", n)
    return {
        "seconds of one core, looking": sum(seconds[step] for step in MEASURING) / n,
        "bytes on disk, thumbnails": pictures / n,
        "bytes on disk, features": features / n,
        "bytes on disk, catalogue": (guide.edition / files.CATALOGUE).stat().st_size / n,
        "bytes on disk, journal": journal[0] / n,
        "bytes in memory, rows of the key": rows.shape[1] * rows.itemsize,
    }


def weigh_items(n: int) -> float:
    """Return the bytes of memory that the lists of a build take for each picture."""
    tracemalloc.start()
    held: list[object] = []
    for i in range(n):
        path = f"kind {i // 100:06d}/photograph {i:09d}.jpg"
        item = Item(path, f"kind {i // 100:06d}", (), f"{FILE_BYTES + i}-{10**18 + i}", "")
        held += [item, Measured(path, item.stamp, digest=f"{i:024d}", width=1000 + i, height=800)]
    weighed = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return weighed / n


def table(result: dict) -> str:
    each = result["each"]
    columns = " | ".join(f"{n:,} images" for n in SIZES)
    lines = [
        f"Counted on {result['n_measured']} pictures, and multiplied.",
        "",
        f"| what | for each | {columns} |",
        "|---" * (2 + len(SIZES)) + "|",
        _row(
            "image files, TB (assumed)", f"{FILE_BYTES:,} B", [n * FILE_BYTES / 1e12 for n in SIZES]
        ),
    ]
    looking = each["seconds of one core, looking"]
    hours = [n * looking / 3600 for n in SIZES]
    lines += [
        _row("looking, core-hours", f"{looking:.3f} s", hours),
        _row(f"looking, hours of {N_CORES:,} cores", "", [h / N_CORES for h in hours]),
        _row(f"looking, $ at {CORE_HOUR} a core-hour", "", [h * CORE_HOUR for h in hours]),
    ]
    kept = 0.0
    for name, value in each.items():
        if name.startswith("bytes on disk"):
            short = name.rpartition(", ")[2]
            lines.append(_row(f"{short}, TB", f"{value:,.0f} B", [n * value / 1e12 for n in SIZES]))
            kept += value if short != "journal" else 0
    lines.append(
        _row(
            f"keeping the guide, $ a month at {TB_MONTH:.0f} a TB",
            "",
            [n * kept / 1e12 * TB_MONTH for n in SIZES],
        )
    )
    for name, value in each.items():
        if name.startswith("bytes in memory"):
            short = name.rpartition(", ")[2]
            gb = [n * value / 1e9 for n in SIZES]
            lines.append(_row(f"memory, {short}, GB", f"{value:,.0f} B", gb))
    near = [n**1.5 * FLOPS_OF_NEAR / FLOPS / 3600 for n in SIZES]
    lines.append(_row(f"finding the nearest, core-hours at {FLOPS:.0e} a second", "", near))
    return "\n".join(lines)


def _row(name: str, each: str, values: list[float]) -> str:
    shown = (f"{v:,.0f}" if v >= 10 else f"{v:.2g}" for v in values)
    return f"| {name} | {each} | {' | '.join(shown)} |"

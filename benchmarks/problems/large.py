"""A guide of 100,000 pictures: what each stage takes, and what a million would.

Photographs of CUB-200 and Caltech-101 (drawn specimens without --data) are cut, turned, mirrored,
scaled and lit at random until there are enough, a JPEG file each, in folders of their kinds. The
guide of a tenth of them and that of all are built, by the graphics processor where there is one and
by all cores; new pictures are then named by the guide, and its pages asked for. For ten times as
many, each further picture costs what it did between a tenth and all, also in stages that look at a
sample.

``FIELDGUIDE_LARGE`` is how many, for another number than 100,000. Pictures, guides and the seconds
of each stage are kept in ``out/bench/large``: a run that was stopped goes on.

    python benchmarks/run.py --only large --data DIR
"""

import http.client
import json
import os
import resource
import shutil
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from PIL import Image, ImageEnhance

from benchmarks.load import find_addresses, read_memory, serve_apart
from benchmarks.problems.graphics import find_graphics
from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.guide import Guide
from fieldguide.guide.nearest import Nearest, open_nearest
from fieldguide.guide.rows import open_rows
from fieldguide.guide.survey import list_shots, survey

N, N_TINY, N_NEW, N_ASKED = 100_000, 24, 10_000, 200
KEEP = Path("out/bench/large")
PAGES = ("index.html", "kinds.html", "key.html", "about.html", "search.html?q=black")


def run(data: Path | None, *, tiny: bool) -> dict:
    n = N_TINY if tiny else int(os.environ.get("FIELDGUIDE_LARGE", N))
    keep = KEEP / str(n)
    if tiny:
        shutil.rmtree(keep, ignore_errors=True)
    device = "cpu" if find_graphics() is None else "cuda"
    sources = list_sources(data, keep / "sources", tiny=tiny)
    builds = []
    for size in (n // 10, n):
        folder = vary(sources, keep / f"images {size}", size, seed=size)
        builds.append(measure_build(folder, keep / f"guide {size}", device))
    new = vary(sources, keep / "new", max(n // 10, 16) if n < 10 * N_NEW else N_NEW, seed=1)
    guide = Guide.open(keep / f"guide {n}")
    guide.use_device(device)
    return {
        "device": find_graphics(),
        "cores": len(os.sched_getaffinity(0)),
        "builds": builds,
        "naming": measure_naming(guide, new, keep / "new.csv"),
        "nearest": measure_nearest(guide),
        "pages": measure_pages(guide.folder),
    }


def list_sources(data: Path | None, drawn: Path, *, tiny: bool) -> list[tuple[Path, str]]:
    """Return pictures and their kinds."""
    if data is not None:
        found = []
        for folder in (data / "cub200" / "images", data / "caltech101"):
            if folder.is_dir():
                items = Collection.from_folder(folder).items
                found += [(folder / item.path, item.path.split("/")[0]) for item in items]
        order = np.random.default_rng(0).permutation(len(found))
        return [found[i] for i in order]  # a tenth of them has the same kinds
    made = []
    specimens = load_specimens(*((2, 64) if tiny else (40, 160)))
    for i, (image, kind) in enumerate(zip(specimens.images, specimens.target, strict=True)):
        if tiny and kind >= 8:
            continue
        file = drawn / f"{i:05d}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(file, quality=90)
        made.append((file, specimens.target_names[kind]))
    return made


def vary(sources: list[tuple[Path, str]], folder: Path, n: int, *, seed: int) -> Path:
    """Write ``n`` pictures, each a source seen a little differently; return their folder."""
    if not folder.is_dir():
        unready = folder.with_name(f"{folder.name} unready")
        parts = [range(first, min(first + 500, n)) for first in range(0, n, 500)]
        write = delayed(_vary_some)
        n_jobs = min(len(parts), len(os.sched_getaffinity(0)))
        Parallel(n_jobs=n_jobs)(write(sources, unready, part, seed) for part in parts)
        unready.rename(folder)
    return folder


def _vary_some(sources: list[tuple[Path, str]], folder: Path, part: range, seed: int) -> None:
    for i in part:
        rng = np.random.default_rng((seed, i))
        file, kind = sources[i % len(sources)]
        image = Image.open(file).convert("RGB")
        image = image.rotate(rng.uniform(-8, 8), Image.Resampling.BILINEAR, expand=False)
        (w, h), part_of = image.size, rng.uniform(0.72, 0.92)
        left, top = rng.uniform(0, 1 - part_of, 2)
        box = (left * w, top * h, (left + part_of) * w, (top + part_of) * h)
        size = (round(w * rng.uniform(0.8, 1.25)), round(h * rng.uniform(0.8, 1.25)))
        image = image.resize(size, Image.Resampling.BILINEAR, box)
        if rng.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        image = ImageEnhance.Brightness(image).enhance(rng.uniform(0.8, 1.2))
        target = folder / kind / f"{i:07d}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        image.save(target, quality=88)


def measure_build(folder: Path, out: Path, device: str) -> dict[str, Any]:
    """Build the guide; return the seconds of each stage, those of stopped runs with them."""
    kept = out.with_name(f"{out.name}.json")
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {"steps": {}}
    if "pictures" in found:
        return found
    steps = Counter(found["steps"])
    last: list[Any] = ["starting", time.monotonic(), time.monotonic()]

    def progress(step: str, done: int, of: int) -> None:
        now = time.monotonic()
        steps[last[0]] += now - last[1]
        last[:2] = step, now
        if now - last[2] > 2:
            last[2] = now
            kept.write_text(json.dumps({"steps": steps, "at": [step, done, of]}))

    guide = Guide.build(folder, out, device=device, progress=progress)
    files = [path for path in out.rglob("*") if path.is_file()]
    found = {
        "pictures": guide.n_specimens,
        "kinds": len(guide.kinds),
        "settings": guide.about["settings"],
        "steps": steps,
        "memory, GB": {
            "this process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
            "the largest other": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6,
        },
        "guide, GB": sum(path.stat().st_size for path in files) / 1e9,
    }
    kept.write_text(json.dumps(found))
    return found


def measure_naming(guide: Guide, folder: Path, target: Path) -> dict[str, float]:
    """Name new pictures as ``fieldguide identify --csv`` does; return how many a second."""
    shots = list_shots([folder])
    started = time.perf_counter()
    rows = survey(guide, shots, target, n_jobs=-1)
    seconds = time.perf_counter() - started
    right = [row.kind == Path(row.file).parent.name for row in rows]
    return {"pictures": len(rows), "seconds": seconds, "rightly named": float(np.mean(right))}


def measure_nearest(guide: Guide) -> dict[str, float]:
    """Look for the ten specimens nearest to some; return the seconds of one, and how many are the
    nearest by all rows."""
    ids = np.sort(np.random.default_rng(0).permutation(guide.n_specimens)[:N_ASKED])
    X, k = open_rows(guide.edition, guide.about), 10
    by_all, found = Nearest(X), open_nearest(guide.edition, X)
    exact, first = time_each(by_all, X, ids, k)
    near, second = time_each(found, X, ids, k)
    right = (near[:, :, None] == exact[:, None, :]).any(axis=2)
    return {"all rows, s": first, "candidates, s": second, "found": float(right.mean())}


def time_each(finder: Nearest, X: np.ndarray, ids: np.ndarray, k: int) -> tuple[Any, float]:
    """Return the nearest of each, and the seconds of one that is asked for by itself."""
    finder.find(X[ids[:1]], k, own=ids[:1])
    seconds = []
    for i in ids[:5]:
        started = time.perf_counter()
        finder.find(X[[i]], k, own=np.array([i]))
        seconds.append(time.perf_counter() - started)
    return finder.find(X[ids], k, own=ids), float(np.median(seconds))


def measure_pages(guide: Path) -> list[dict[str, Any]]:
    """Ask a server for pages and searches, each twice; return the seconds of the second time."""
    found = []
    with serve_apart(guide) as (host, port, process):
        pages, _ = find_addresses(host, port)
        of_kind = next((page for page in pages if page.startswith("kind")), "kinds.html")
        with closing(http.client.HTTPConnection(host, port, timeout=60)) as connection:
            there = [page for page in PAGES if page.split("?")[0] in pages]
            for page in dict.fromkeys((*there, of_kind)):
                for _ in range(2):
                    started = time.perf_counter()
                    connection.request("GET", f"/{page}")
                    answer = connection.getresponse()
                    body = answer.read()
                    seconds = time.perf_counter() - started
                assert answer.status == 200, page
                found.append({"page": page, "seconds": seconds, "KB": len(body) / 1e3})
        found.append({"page": "memory of the server, MB", "MB": read_memory(process)})
    return found


def extrapolate(small: float, large: float) -> float:
    """Return the seconds of ten times as many pictures as ``large`` took, by those of a tenth.

    What a picture costs is the slope between the two; a stage that grew by more than ten times
    goes on to grow as it did.
    """
    if small >= 1 and large > 10 * small:
        return large * large / small
    return large + 10 * max(large - small, 0.0)


def table(result: dict) -> str:
    """Return the stages of both builds, and what a million pictures would take."""
    small, large = result["builds"]
    n, names = large["pictures"], list(large["steps"])
    million = {
        name: extrapolate(small["steps"].get(name, 0.0), large["steps"][name]) for name in names
    }
    whole, of_million = sum(large["steps"].values()), sum(million.values())
    lines = [
        f"{result['cores']} cores; {result['device'] or 'no graphics processor'}; "
        f"{large['kinds']} kinds.",
        "",
        f"| stage | {small['pictures']:,} pictures, s | {n:,} pictures, s | share | "
        f"{10 * n:,} pictures, s (extrapolated) |",
        "|---|---|---|---|---|",
    ]
    for name in sorted(names, key=lambda name: -large["steps"][name]):
        seconds = large["steps"][name]
        if seconds >= 0.005 * whole:
            before = small["steps"].get(name, 0.0)
            lines.append(
                f"| {name} | {before:.1f} | {seconds:.1f} | {seconds / whole:.0%} "
                f"| {million[name]:.0f} |"
            )
    lines += [
        f"| all | {sum(small['steps'].values()):.0f} | {whole:.0f} | | {of_million:.0f} |",
        "",
        f"Memory of the building process: {large['memory, GB']['this process']:.1f} GB, of "
        f"others {large['memory, GB']['the largest other']:.1f} GB at most; the guide has "
        f"{large['guide, GB']:.1f} GB.",
    ]
    naming, near = result["naming"], result["nearest"]
    lines += [
        f"{naming['pictures']:,} new pictures are named in {naming['seconds']:.0f} s, "
        f"{naming['pictures'] / naming['seconds']:.0f} a second, "
        f"{naming['rightly named']:.1%} of them rightly.",
        "",
        f"The ten specimens nearest to one are found in {near['candidates, s'] * 1e3:.0f} ms, "
        f"{near['found']:.1%} of those that comparing all rows finds in "
        f"{near['all rows, s'] * 1e3:.0f}.",
        "",
        "| page | seconds | KB |",
        "|---|---|---|",
    ]
    *pages, server = result["pages"]
    lines += [f"| {page['page']} | {page['seconds']:.3f} | {page['KB']:.0f} |" for page in pages]
    return "\n".join([*lines, "", f"Memory of the server: {server['MB']:.0f} MB."])

"""Images per second of DeepFeatures from 160-px JPEG files, on all cores and on one."""

import tempfile
import time
from pathlib import Path

from benchmarks.measures import spread
from fieldguide.features import DeepFeatures


def jpeg_files(data: Path | None, folder: Path, n: int) -> list[Path]:
    """Return ``n`` JPEG files: of Caltech-101 where it is there, else drawn into ``folder``."""
    if data is not None and (data / "caltech101").is_dir():
        found = sorted((data / "caltech101").rglob("*.jpg"))
        return (found * (n // len(found) + 1))[:n]
    from PIL import Image

    from fieldguide.datasets import load_specimens

    drawn = load_specimens(n_per_kind=max(1, min(n, 320) // 32)).images
    paths = [folder / f"{i:04d}.jpg" for i in range(len(drawn))]
    for image, path in zip(drawn, paths, strict=True):
        Image.fromarray(image).save(path, quality=90)
    return (paths * (n // len(paths) + 1))[:n]


def run(data: Path | None, *, tiny: bool) -> dict:
    n, repeats = (16, 1) if tiny else (1000, 5)
    with tempfile.TemporaryDirectory() as folder:
        paths = jpeg_files(data, Path(folder), n)
        DeepFeatures().transform(paths[:16])  # builds and caches the graph
        rates: dict[str, list[float]] = {"all cores": [], "one core": []}
        for _ in range(repeats):
            for name, n_jobs, share in (("all cores", -1, 1), ("one core", 1, 2)):
                part = paths[: max(1, n // share)]
                started = time.perf_counter()
                DeepFeatures(n_jobs=n_jobs).transform(part)
                rates[name].append(len(part) / (time.perf_counter() - started))
    return {"n_images": n, "images_per_s": {name: spread(r) for name, r in rates.items()}}


def table(result: dict) -> str:
    lines = ["| threads | images/s (median) | least | largest |", "|---|---|---|---|"]
    for name, rate in result["images_per_s"].items():
        lines.append(
            f"| {name} | {rate['median']:.0f} | {rate['least']:.0f} | {rate['largest']:.0f} |"
        )
    return "\n".join(lines)

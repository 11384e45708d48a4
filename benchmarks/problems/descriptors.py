"""Images per second of the descriptors, from decoded 160-px pictures, on one thread.

Beside scikit-image where it has the descriptor: `hog` on the same 64-px grey window (8×8 cells of
8 px, 9 orientations, L2-Hys blocks of 2×2), and uniform patterns of 8 points at radius 1 with
their histogram. The bins differ in that ours are shared between neighbours and theirs are not.
"""

from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image
from skimage.feature import hog as skimage_hog
from skimage.feature import local_binary_pattern
from threadpoolctl import threadpool_limits

from benchmarks.measures import alternate, spread
from fieldguide.features.color_histogram import ColorHistogram
from fieldguide.features.gist import Gist
from fieldguide.features.hog import SpatialHOG, hog
from fieldguide.features.local_binary_patterns import LocalBinaryPatterns

DESCRIPTORS = (SpatialHOG, Gist, LocalBinaryPatterns, ColorHistogram)


def read_pictures(data: Path | None, n: int) -> list[np.ndarray]:
    """Return n pictures of at most 160 px: of Caltech-101 where it is there, else drawn."""
    if data is not None and (data / "caltech101").is_dir():
        found = sorted((data / "caltech101").rglob("*.jpg"))
        paths = found[:: max(1, len(found) // n)][:n]
        return [np.asarray(Image.open(path).convert("RGB")) for path in paths]
    from fieldguide.datasets import load_specimens

    return list(load_specimens(n_per_kind=max(1, n // 32), size_px=160).images[:n])


def skimage_pattern_histogram(grey: np.ndarray) -> np.ndarray:
    labels = local_binary_pattern(grey, 8, 1, "nri_uniform").astype(np.int64)
    return np.bincount(labels.ravel(), minlength=59) / labels.size


def run(data: Path | None, *, tiny: bool) -> dict:
    n, n_repeats = (4, 1) if tiny else (200, 5)
    pictures = read_pictures(data, n)
    greys = [np.asarray(Image.fromarray(image).convert("L")) for image in pictures]
    windows = [np.asarray(Image.fromarray(grey).resize((64, 64))) for grey in greys]
    ring = LocalBinaryPatterns(rings=((8, 1),), levels=(1,))
    alone = {kind.__name__: partial(kind().transform, pictures) for kind in DESCRIPTORS}
    pairs = {
        "hog": (
            lambda: [hog(window) for window in windows],
            lambda: [skimage_hog(window, 9, (8, 8), (2, 2)) for window in windows],
        ),
        "patterns (8, 1)": (
            lambda: ring.transform(greys),
            lambda: [skimage_pattern_histogram(grey) for grey in greys],
        ),
    }
    with threadpool_limits(1):
        seconds = alternate(alone, n_repeats)
        beside = {
            name: alternate({"fieldguide": ours, "scikit-image": theirs}, n_repeats)
            for name, (ours, theirs) in pairs.items()
        }
    return {
        "n_images": len(pictures),
        "images_per_s": {name: _rates(values, pictures) for name, values in seconds.items()},
        "beside scikit-image": {
            name: {
                **{who: _rates(values, pictures) for who, values in found.items()},
                "ratio": _ratio(found["scikit-image"], found["fieldguide"]),
            }
            for name, found in beside.items()
        },
    }


def _rates(seconds: list[float], pictures: list[np.ndarray]) -> dict[str, float]:
    return spread([len(pictures) / s for s in seconds])


def _ratio(theirs: list[float], ours: list[float]) -> dict[str, float]:
    return spread([slow / fast for slow, fast in zip(theirs, ours, strict=True)])


def table(result: dict) -> str:
    lines = ["| descriptor | images/s (median) | least | largest |", "|---|---|---|---|"]
    for name, rate in result["images_per_s"].items():
        lines.append(
            f"| {name} | {rate['median']:.0f} | {rate['least']:.0f} | {rate['largest']:.0f} |"
        )
    lines += ["", "| | fieldguide | scikit-image | ratio |", "|---|---|---|---|"]
    for name, found in result["beside scikit-image"].items():
        ratio = found["ratio"]
        lines.append(
            f"| {name} | {found['fieldguide']['median']:.0f} "
            f"| {found['scikit-image']['median']:.0f} "
            f"| {ratio['median']:.2f} ({ratio['least']:.2f}–{ratio['largest']:.2f}) |"
        )
    return "\n".join(lines)

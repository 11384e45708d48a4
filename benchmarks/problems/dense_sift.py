"""Dense SIFT beside OpenCV's, at the same windows of the same pictures; one thread each.

Windows lie every 4 px, in cells of 4, 6, 8 and 10 px. OpenCV's keypoints are made beforehand and
not counted. Correlation is Pearson's, of the two descriptors of a window, over the windows that
have contrast; once as each library does by default, once with OpenCV's blur for both.
"""

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.measures import alternate, spread
from benchmarks.problems.deep_features import jpeg_files
from fieldguide.features.dense_sift import dense_sift

BIN_SIZES_PX = (4, 6, 8, 10)


def run(data: Path | None, *, tiny: bool) -> dict:
    try:
        from benchmarks.peers import opencv_sift
    except ImportError:
        return {"skipped": "it needs opencv-python-headless"}
    opencv_sift.use_one_thread()
    n, n_repeats = (2, 1) if tiny else (20, 5)
    pictures = read_grey(data, n)
    rows = []
    for sizes in (BIN_SIZES_PX[:2],) if tiny else (BIN_SIZES_PX, *((b,) for b in BIN_SIZES_PX)):
        frames = [dense_sift(to_float(grey), bin_sizes_px=sizes)[1] for grey in pictures]
        keypoints = [opencv_sift.make_keypoints(of_picture) for of_picture in frames]
        contestants = {
            "fieldguide": lambda sizes=sizes: [
                dense_sift(to_float(grey), bin_sizes_px=sizes) for grey in pictures
            ],
            "opencv": lambda keypoints=keypoints: list(
                map(opencv_sift.describe, pictures, keypoints)
            ),
        }
        seconds = alternate(contestants, n_repeats)
        pairs = zip(seconds["opencv"], seconds["fieldguide"], strict=True)
        theirs = np.concatenate(contestants["opencv"]())
        n_windows = len(theirs)
        rows.append(
            {
                "bin_sizes_px": sizes,
                "n_windows": n_windows,
                **{
                    f"{name}, windows per s": spread([n_windows / s for s in values])
                    for name, values in seconds.items()
                },
                "ratio": spread([slow / fast for slow, fast in pairs]),
                "by default": compare(pictures, theirs, sizes),
                "same blur": compare(pictures, theirs, sizes, smoothing_px=opencv_sift.BLUR_PX),
            }
        )
    return {"n_pictures": len(pictures), "rows": rows}


def read_grey(data: Path | None, n: int) -> list[np.ndarray]:
    """Return n photographs of different kinds, 8-bit grey, no side longer than 160 px."""
    with tempfile.TemporaryDirectory() as folder:
        paths = jpeg_files(data, Path(folder), 9000 if data else n)
        chosen = [paths[i] for i in np.linspace(0, len(paths) - 1, n).astype(int)]
        return [np.asarray(Image.open(path).convert("L")) for path in chosen]


def to_float(grey: np.ndarray) -> np.ndarray:
    return grey / np.float32(255)


def compare(
    pictures: list[np.ndarray], theirs: np.ndarray, sizes: tuple[float, ...], **options: float
) -> dict[str, float]:
    """Return mean correlation, the share of windows above 0.9, and the share with contrast."""
    ours = np.concatenate(
        [dense_sift(to_float(grey), bin_sizes_px=sizes, **options)[0] for grey in pictures]
    )
    is_clear = ours.any(axis=1)
    a, b = ours[is_clear].astype(np.float64), theirs[is_clear].astype(np.float64)
    a -= a.mean(axis=1, keepdims=True)
    b -= b.mean(axis=1, keepdims=True)
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    correlation = (a * b).sum(axis=1) / np.maximum(scale, 1e-12)
    return {
        "mean correlation": float(correlation.mean()),
        "share above 0.9": float((correlation > 0.9).mean()),
        "share with contrast": float(is_clear.mean()),
    }


def table(result: dict) -> str:
    lines = [
        "| cells, px | fieldguide, windows/s | OpenCV, windows/s | ratio (least–largest) "
        "| correlation, > 0.9 | with the same blur |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        ratio, default, same = row["ratio"], row["by default"], row["same blur"]
        lines.append(
            f"| {', '.join(map(str, row['bin_sizes_px']))} "
            f"| {row['fieldguide, windows per s']['median']:,.0f} "
            f"| {row['opencv, windows per s']['median']:,.0f} "
            f"| {ratio['median']:.1f} ({ratio['least']:.1f}–{ratio['largest']:.1f}) "
            f"| {default['mean correlation']:.3f}, {default['share above 0.9']:.0%} "
            f"| {same['mean correlation']:.4f}, {same['share above 0.9']:.0%} |"
        )
    return "\n".join(lines)

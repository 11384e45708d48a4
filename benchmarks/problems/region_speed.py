"""How long region selection takes on a thousand pictures, and finding objects in a new one.

Fit: pictures of 35 to 45 regions, each a histogram of 1,000 words of which about 100 occur; half of
the pictures have 2 to 6 regions with more of some words. χ² through the explicit map, two threads,
a process of its own, which tells its largest memory. Locate: segmentation, words and scores of one
picture drawn by Fieldguide, one thread, after a first one that is not counted.

    python benchmarks/run.py --only region_speed
"""

import time
from pathlib import Path

import numpy as np

from benchmarks.measures import run_alone, spread

FIT = """
import sys, time
import numpy as np
from benchmarks.measures import peak_mb
from benchmarks.problems.region_speed import draw_bags
from fieldguide.locate import RegionSelector
n = int(sys.argv[1])
bags, y = draw_bags(n)
small, small_y = draw_bags(20)
RegionSelector("chi2", map_above=0, n_jobs=2).fit(small, small_y)  # compiles
started = time.perf_counter(), time.process_time()
model = RegionSelector("chi2", C=1.0, C_negative="balanced", map_above=0, n_jobs=2).fit(bags, y)
wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
new, new_y = draw_bags(200, seed=1)
right = (model.predict(new) == new_y).mean()
print(wall, cpu, peak_mb(), sum(map(len, bags)), right, model.gaps_[0])
"""


def draw_bags(n: int, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
    """Return n bags of word histograms, float32, and their labels, −1 and +1 by turns."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 1, 1, -1)
    bags = []
    for label in y:
        m = int(rng.integers(35, 46))
        bag = np.zeros((m, 1000), np.float32)
        for row in bag:
            words = rng.integers(0, 1000, 100)
            row[words] += rng.exponential(size=100)
        if label > 0:
            marked = rng.choice(m, int(rng.integers(2, 7)), replace=False)
            bag[np.ix_(marked, rng.integers(0, 30, 12))] += 2.0
        bags.append(bag / bag.sum(axis=1, keepdims=True))
    return bags, y


def run(data: Path | None, *, tiny: bool) -> dict:
    n = 40 if tiny else 1000
    wall, cpu, peak, n_regions, right, gap = map(float, run_alone(FIT, str(n)).split())
    fit = {"n": n, "n_regions": int(n_regions), "wall": wall, "cpu": cpu, "peak_mb": peak}
    sizes = (96,) if tiny else (160, 480)
    locate = {str(size): measure_locating(size, 3 if tiny else 20) for size in sizes}
    return {"fit": {**fit, "accuracy": right, "gap": gap}, "locate": locate}


def measure_locating(size_px: int, n_repeats: int) -> dict:
    from threadpoolctl import threadpool_limits

    from fieldguide.datasets import load_specimens
    from fieldguide.features import BagOfWords
    from fieldguide.locate import RegionSelector, region_words, superpixels

    images = load_specimens(n_per_kind=1, size_px=size_px).images[:16]
    bag = BagOfWords(n_words=200 if size_px < 100 else 1000, pyramid=((1, 1),), n_iter=3)
    with threadpool_limits(1):
        bag.fit(images)
        regions = [superpixels(image) for image in images]
        bags = [region_words(x, r, bag) for x, r in zip(images, regions, strict=True)]
        model = RegionSelector("chi2", tol=0.1).fit(bags, np.arange(len(images)) % 2)
        seconds = []
        for k in range(n_repeats + 1):
            image = images[k % len(images)]
            started = time.process_time()
            found = superpixels(image)
            model.locate([region_words(image, found, bag)], [found])
            if k:
                seconds.append(time.process_time() - started)
    return spread(seconds)


def table(result: dict) -> str:
    fit = result["fit"]
    lines = [
        "| pictures | regions | fit, s | CPU s | peak MB | accuracy on new bags | gap |",
        "|---|---|---|---|---|---|---|",
        f"| {fit['n']} | {fit['n_regions']} | {fit['wall']:.0f} | {fit['cpu']:.0f} "
        f"| {fit['peak_mb']:.0f} | {fit['accuracy']:.3f} | {fit['gap']:.3f} |",
        "",
        "| longest side, px | locating, CPU ms (least–largest) |",
        "|---|---|",
    ]
    lines += [
        f"| {size} | {1000 * s['median']:.0f} ({1000 * s['least']:.0f}–{1000 * s['largest']:.0f}) |"
        for size, s in result["locate"].items()
    ]
    return "\n".join(lines)

"""What it takes to open a page of a guide on a slow phone, and whether it moves while it loads.

The guide of photographs of CUB-200 (drawn specimens without --data) is served, and one page of each
sort is opened in chromium as a phone of 390 px: a processor four times as slow as this one, 150 ms
to the server, 1.6 Mbit/s (as Lighthouse has its phone). Counted are what is sent until the page is
still, the requests, the elements, when the largest part is painted, and how far the layout moves
(cumulative layout shift), also while one scrolls to the end and pictures come. A page over its
budget fails the run.

    python benchmarks/run.py --only page_loading --data DIR
"""

import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.load import serve_apart
from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.guide import Guide

N_KINDS, N_OF_KIND = 30, 20
BUDGETS = {"KB": 1600.0, "painted, s": 2.5, "shift": 0.1}  # what Lighthouse takes for good
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True}
NETWORK = {"offline": False, "latency": 150, "downloadThroughput": 2e5, "uploadThroughput": 9e4}
SLOWER = 4
WATCH = """
window.seen = {shift: 0, painted: 0};
new PerformanceObserver(list => {
  const moves = list.getEntries().filter(entry => !entry.hadRecentInput);
  for (const move of moves) window.seen.shift += move.value;
}).observe({type: "layout-shift", buffered: true});
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.seen.painted = entry.startTime / 1000;
}).observe({type: "largest-contentful-paint", buffered: true});
"""
SCROLL = """async () => {
  for (let y = 0; y < document.documentElement.scrollHeight; y += 500) {
    window.scrollTo(0, y);
    await new Promise(done => setTimeout(done, 60));
  }
}"""


def run(data: Path | None, *, tiny: bool) -> dict[str, Any]:
    chromium = shutil.which("chromium")
    if chromium is None:
        return {"skipped": "chromium is not installed"}
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {"skipped": "playwright is not installed"}
    with tempfile.TemporaryDirectory() as folder:
        guide = build_guide(data, Path(folder), tiny=tiny)

        def measure() -> list[dict[str, Any]]:
            with serve_apart(guide) as (host, port, _), sync_playwright() as started:
                browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                pages = measure_pages(browser, f"http://{host}:{port}/", tiny=tiny)
                browser.close()
            return pages

        with ThreadPoolExecutor(1) as thread:  # in this one another playwright may run
            return {"pages": thread.submit(measure).result()}


def build_guide(data: Path | None, folder: Path, *, tiny: bool) -> Path:
    """Return the folder of a guide of photographs or of drawings."""
    out, settings = folder / "guide", {}
    collection: Collection
    if tiny or data is None:
        drawn = load_specimens(2 if tiny else N_OF_KIND, 96 if tiny else 320)
        n = 8 if tiny else len(drawn.images)
        kinds = [drawn.target_names[k] for k in drawn.target[:n]]
        collection = Collection.from_arrays(drawn.images[:n], kinds)
        if tiny:
            settings = {"marks": False, "places": False, "tree": "agglomerative"}
    else:
        for kind in sorted((data / "cub200" / "images").iterdir())[:N_KINDS]:
            shutil.copytree(kind, folder / "images" / kind.name)
        collection = Collection.from_folder(folder / "images")
    Guide.build(collection, out, **settings)
    return out


def measure_pages(browser: Any, home: str, *, tiny: bool) -> list[dict[str, Any]]:
    """Open the first page and one of each sort that it leads to."""
    found, waiting, sorts = [], ["index.html"], set()
    while waiting and not (tiny and found):
        address = waiting.pop(0)
        sort = re.sub(r"/[^/]+\.html|[?].*", "/*", address)
        if sort in sorts:
            continue
        sorts.add(sort)
        measured, links = measure_page(browser, home + address, is_slow=not tiny)
        found.append({"page": address, **measured})
        waiting += [link.removeprefix(home) for link in links if link.startswith(home)]
    return found


def measure_page(
    browser: Any, address: str, *, is_slow: bool
) -> tuple[dict[str, float], list[str]]:
    """Return what it takes to open one page, with nothing kept of others, and where it leads."""
    context = browser.new_context(**PHONE)
    page, sent = context.new_page(), {"bytes": 0.0, "requests": 0}
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    if is_slow:
        session.send("Network.emulateNetworkConditions", NETWORK)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})

    def count(event: dict[str, Any]) -> None:
        sent["bytes"] += event["encodedDataLength"]
        sent["requests"] += 1

    session.on("Network.loadingFinished", count)
    page.add_init_script(WATCH)
    page.goto(address, wait_until="networkidle")
    before = dict(sent)
    painted = page.evaluate("window.seen.painted")
    page.evaluate(SCROLL)
    links = page.eval_on_selector_all(
        "main a[href*='.html'], header a[href*='.html']",
        "all => all.map(a => a.href.split('#')[0])",
    )
    measured = {
        "KB": before["bytes"] / 1e3,
        "requests": before["requests"],
        "elements": page.evaluate("document.querySelectorAll('*').length"),
        "painted, s": painted,
        "shift": page.evaluate("window.seen.shift"),
        "whole, KB": sent["bytes"] / 1e3,
    }
    context.close()
    return measured, links


def find_faults(result: dict[str, Any]) -> list[str]:
    """Return which pages are over their budget."""
    return [
        f"{page['page']}: {name} {page[name]:.3g}, at most {most:g}"
        for page in result["pages"]
        for name, most in BUDGETS.items()
        if page[name] > most
    ]


def table(result: dict[str, Any]) -> str:
    lines = [
        "| page | KB | requests | elements | painted, s | layout shift | KB, scrolled to the end |",
        "|---|---|---|---|---|---|---|",
    ]
    for page in result["pages"]:
        name = re.sub(r"/[^/]+[.]html|[?].*", "/…", page["page"])
        lines.append(
            f"| {name} | {page['KB']:.0f} | {page['requests']} | {page['elements']:,} "
            f"| {page['painted, s']:.1f} | {page['shift']:.3f} | {page['whole, KB']:.0f} |"
        )
    columns = ("KB", "requests", "elements", "painted, s", "shift")
    most = " | ".join(f"{BUDGETS[name]:,g}" if name in BUDGETS else "" for name in columns)
    return "\n".join([*lines, f"| *at most* | {most} | |"])

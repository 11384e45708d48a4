"""Run fuzzers for long: ``python -m tests.fuzz [NAME …] --cases N --seconds S``.

Prints how many cases there were, how many were accepted and refused, and every finding with the
seed that repeats it; ends with 1 where there is one.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from fieldguide.collection import Collection
from fieldguide.guide import Guide
from tests.conftest import draw_blobs
from tests.fuzz.listed import FUZZERS
from tests.fuzz.runner import run


def build_guides(folder: Path) -> dict[str, Path]:
    """Build the guides that are harmed, unless they are there."""
    settings = {"small": {}, "worded": {"features": "words+color", "key": "relaxed"}}
    for name, options in settings.items():
        if not (folder / name / "guide.json").exists():
            print(f"building the guide {name!r}", flush=True)
            collection = Collection.from_arrays(*draw_blobs(), name="shapes")
            Guide.build(collection, folder / name, n_jobs=1, **options)
    return {name: folder / name for name in settings}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*FUZZERS, []], help="all by default")
    parser.add_argument("--cases", type=int, default=1_000_000, help="of each, at most")
    parser.add_argument("--seconds", type=float, default=600.0, help="for each, at most")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--work", type=Path, help="keeps the guides that are harmed")
    asked = parser.parse_args()
    found = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = (asked.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        guides = build_guides(work)
        for name in asked.names or FUZZERS:
            limits = {"cases": asked.cases, "seconds": asked.seconds, "first": asked.first}
            report = run(FUZZERS[name], work, guides, **limits)
            print(report, flush=True)
            found += len(report.findings)
    sys.exit(found > 0)


if __name__ == "__main__":
    main()

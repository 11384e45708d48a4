"""Kill builds with every chapter, edits, exports and additions at random moments.

    python -m tests.guide.kill_moments WORK [--kills 100] [--seed 0] [--only build add …]

Each runs in a child that dies by SIGKILL just before an operation on files that is drawn by the
seed (see ``kill_sweep.py``). Whatever is left must open as it was before or as it is after; done
again, it must end in the same bytes as one that nobody killed. Prints a line for each kind of work.
"""

import argparse
import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from tests.conftest import draw_blobs
from tests.guide.contents import contents, everything
from tests.guide.kill_sweep import die_at, run_in_child

from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide import Guide
from fieldguide.site.export import export_site

SETTINGS = {"features": "deep+words", "key": "relaxed", "n_jobs": 1}


class Work(NamedTuple):
    """Something that is done to a guide, and may be killed."""

    name: str
    start: Callable[[Path], None]  # makes the folder as it is before
    act: Callable[[Path], None]
    look: Callable[[Path], object]  # what is compared; None where there is nothing yet


def list_works(home: Path) -> list[Work]:
    """Build what is needed, and return everything that is killed."""
    images, kinds = draw_blobs(n_per_kind=4, size_px=48)
    names = [f"{kind}/{i}.png" for i, kind in enumerate(kinds)]
    first = Collection.from_arrays(images[:10], kinds[:10], names=names[:10])
    base = home / "base"
    Guide.build(first, base, **SETTINGS)
    edited = home / "edited"
    shutil.copytree(base, edited)
    Guide.open(edited).edits.add("rename", "kind:disc", "moon")
    more = home / "more"
    for i in (10, 11):
        (more / "moon").mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[i]).save(more / "moon" / f"{i}.png")

    def nothing(out: Path) -> None:
        out.mkdir()

    def copy(out: Path) -> None:
        shutil.copytree(base, out)

    def build(out: Path) -> None:
        Guide.build(first, out, **SETTINGS)

    def rebuild(out: Path) -> None:
        others = Collection.from_arrays(images[1:12], kinds[1:12], names=names[1:12])
        Guide.build(others, out, **SETTINGS)

    def add(out: Path) -> None:
        Guide.open(out).add(more, n_jobs=1)

    def edit(out: Path) -> None:
        Guide.open(out).edits.add("rename", "kind:disc", "moon")

    def export(out: Path) -> None:
        export_site(Guide.open(base), out / "site")

    def export_edited(out: Path) -> None:
        export_site(Guide.open(edited), out / "site")

    def see(out: Path) -> object:
        try:
            Guide.open(out).neighbours([0])
        except GuideError as error:
            says_so = "was interrupted" in str(error) or not os.listdir(out)
            return None if says_so or "has no guide.json" in str(error) else str(error)
        return contents(out)

    def see_edits(out: Path) -> object:
        guide = Guide.open(out)
        plain = [edit.to_plain() | {"time": "", "number": 0} for edit in guide.edits]
        return contents(out), sorted({json.dumps(edit) for edit in plain})

    def see_site(out: Path) -> object:
        site = out / "site"
        return everything(site) if (site / "index.html").exists() else None

    return [
        Work("build", nothing, build, see),
        Work("rebuild", copy, rebuild, see),
        Work("add", copy, add, see),
        Work("edit", copy, edit, see_edits),
        Work("export", nothing, export, see_site),
        Work("export again", lambda out: (nothing(out), export(out))[0], export_edited, see_site),
    ]


def kill(work: Work, home: Path, kills: int, rng: random.Random) -> dict[str, int]:
    """Kill a work at random moments; return how often it was found as before and as after."""
    out, count = home / "out", home / "count"

    def start() -> None:
        shutil.rmtree(out, ignore_errors=True)
        work.start(out)

    def die(n: int, counting: Path | None = None) -> Callable[[], None]:
        def action() -> None:
            die_at(n, out, counting)
            work.act(out)

        return action

    start()
    before = work.look(out)
    assert run_in_child(die(0, count)) == 0, work.name
    after, total = work.look(out), int(count.read_text())
    found = {"operations": total, "before": 0, "after": 0}
    for _ in range(kills):
        n = rng.randint(1, total)
        start()
        assert run_in_child(die(n)) == -signal.SIGKILL, (work.name, n)
        left = work.look(out)
        is_known = left in (before, after)
        # A page may be missing or old while an export is brought up to date.
        assert is_known or work.name.startswith("export"), (work.name, n, left)
        found["after" if left == after else "before"] += 1
        if left != after or work.name.startswith("export"):
            assert run_in_child(lambda: work.act(out)) == 0, (work.name, n)
        assert work.look(out) == after, (work.name, n)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--kills", type=int, default=100, help="of each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=())
    asked = parser.parse_args()
    home = asked.home.resolve()
    for work in list_works(home):
        if not asked.only or work.name in asked.only:
            found = kill(work, home, asked.kills, random.Random(asked.seed))
            print(f"{work.name}: {asked.kills} kills, {found}", flush=True)


if __name__ == "__main__":
    main()

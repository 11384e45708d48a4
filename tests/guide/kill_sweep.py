"""Kill a build at each of its file operations, and see that nothing is lost.

Run as ``python kill_sweep.py WORK {quick,marks} EVERY``. A fresh build and an update are tried.
Each build runs in a child of this process, which dies by SIGKILL just before its n-th operation on
the folder of the guide: opening a file to write, a rename, a removal, a folder made or removed, and
every statement of SQLite (audit hooks see none of the writes inside it). After each death the
folder must open as the old guide or the new one, or say that the build was interrupted if there was
none before; the same build must then end in the same bytes as one that nobody killed. Prints the
number of operations of each form, and what was found after the deaths.
"""

import gc
import os
import shutil
import signal
import sqlite3
import sys
from pathlib import Path

from tests.conftest import draw_blobs
from tests.guide.contents import contents

from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide import Guide

ALLOWED = {"fresh": ("none", "new"), "update": ("old", "new")}
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "os.chmod")


def make_collections() -> dict[str, Collection]:
    images, kinds = draw_blobs(n_per_kind=3)
    names = [f"{kind}/{i}.png" for i, kind in enumerate(kinds)]
    return {
        "fresh": Collection.from_arrays(images[:8], kinds[:8], names=names[:8]),
        "update": Collection.from_arrays(images[1:], kinds[1:], names=names[1:]),
    }


def build(collection: Collection, out: Path, options: dict) -> None:
    Guide.build(collection, out, n_jobs=1, features="deep", **options)


def run_in_child(action) -> int:
    """Return the status of a child process that ran ``action``: 0, or minus a signal."""
    gc.freeze()  # a search for garbage in the child would copy all that it shares with us
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def die_at(n: int, root: Path, count: Path | None = None) -> None:
    """Make this process die just before its n-th operation on ``root``."""
    done = 0
    inside = os.fspath(root)

    def step() -> None:
        nonlocal done
        done += 1
        if done == n:
            os.kill(os.getpid(), signal.SIGKILL)
        if count is not None:
            count.write_text(str(done))

    def hook(event: str, args: tuple) -> None:
        if event == "open":
            path, mode, flags = args
            changes = isinstance(path, (str, bytes, os.PathLike)) and (
                flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
                or any(c in str(mode) for c in "wax+")
            )
        else:
            path, changes = args[0] if args else None, event in CHANGES
        if changes and os.fspath(path).startswith(inside):
            step()

    connect = sqlite3.connect

    def traced(database, *args, **kwargs):
        step()
        db = connect(database, *args, **kwargs)
        db.set_trace_callback(lambda _: step())
        return db

    sqlite3.connect = traced
    sys.addaudithook(hook)


def open_somehow(out: Path) -> str:
    """Return "whole", or "none" where there is no guide yet and the folder says so."""
    try:
        Guide.open(out).neighbours([0])
    except GuideError as error:
        says_so = "was interrupted" in str(error) or "There is no guide" in str(error)
        return "none" if says_so or not os.listdir(out) else str(error)
    return "whole"


def main(work: Path, marks: str, every: int) -> None:
    options = {"marks": marks == "marks", "places": marks == "marks"}
    collections = make_collections()
    whole = {name: work / f"whole-{name}" for name in collections}
    for name in collections:  # also compiles everything, before the first fork
        build(collections[name], whole[name], options)
    for form in collections:
        total, seen = sweep(form, collections[form], whole, options, every)
        print(form, total, ",".join(sorted(seen)))


def sweep(
    form: str, collection: Collection, whole: dict[str, Path], options: dict, every: int
) -> tuple[int, set[str]]:
    """Kill builds of one form; return the number of operations, and what was found."""
    work = whole[form].parent
    expected = {name: contents(folder) for name, folder in whole.items()}

    def start(out: Path) -> None:
        shutil.rmtree(out, ignore_errors=True)
        if form == "update":
            shutil.copytree(whole["fresh"], out)

    def killed_at(n: int, out: Path, count: Path | None = None):
        def action() -> None:
            die_at(n, out, count)
            build(collection, out, options)

        return action

    out, count = work / "out", work / "count"
    start(out)
    assert run_in_child(killed_at(0, out, count)) == 0
    assert contents(out) == expected[form]
    total = int(count.read_text())
    seen = set()
    for n in range(1, total + 1, every):
        start(out)
        assert run_in_child(killed_at(n, out)) == -signal.SIGKILL, n
        opened = open_somehow(out)
        if opened == "whole":
            opened = "new" if contents(out) == expected[form] else "old"
            assert opened == "new" or contents(out) == expected["fresh"], n
        assert opened in ALLOWED[form], (n, opened)
        seen.add(opened)
        assert run_in_child(lambda: build(collection, out, options)) == 0, n
        assert contents(out) == expected[form], n
        left = sorted(os.listdir(out))
        assert left == ["editions", "guide.json", "pictures"], (n, left)
    return total, seen


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3]))

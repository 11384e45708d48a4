"""Let the disk be full at a random byte of a build, an addition, an edit and an export.

    python -m tests.guide.full_disk WORK [--times 100] [--seed 0]

The folder of the guide lies on a small disk of its own (tmpfs, which root alone may mount) with so
many bytes free as a seed draws. Whatever runs out of room must say so in one sentence, and leave
what was there before as it was; with room again, the same must end in the same bytes.
"""

import argparse
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.guide.kill_moments import Work, list_works, run_in_child

from fieldguide._files import is_disk_full
from fieldguide.errors import FieldguideError

SIZE = 96 * 2**20


@contextmanager
def small_disk(place: Path, size: int = SIZE) -> Iterator[Path]:
    """Mount a small disk; OSError where that is not allowed."""
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise OSError("a small disk can be mounted by root alone")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)


def fill(work: Work, disk: Path, times: int, rng: random.Random) -> dict[str, int]:
    """Run a work with little room, some times; return how often it said so."""
    out, ballast, said = disk / "out", disk / "ballast", disk.parent / "said"

    def start() -> None:
        ballast.unlink(missing_ok=True)
        shutil.rmtree(out, ignore_errors=True)
        work.start(out)

    def act() -> None:
        said.unlink(missing_ok=True)
        try:
            work.act(out)
        except (FieldguideError, OSError) as error:
            # The command line puts an OSError into a sentence: see ``tests/cli/test_faults.py``.
            is_told = isinstance(error, FieldguideError) or is_disk_full(error)
            said.write_text(str(error) if is_told else f"not told: {error!r}")

    start()
    before = work.look(out)
    assert run_in_child(act) == 0
    assert not said.exists(), said.read_text()
    after, used = work.look(out), sum(p.stat().st_size for p in out.rglob("*") if p.is_file())
    found = {"bytes": used, "out of room": 0, "done": 0}
    for _ in range(times):
        start()
        left = rng.randint(0, rng.choice((8192, used * 3 // 2)))  # also for small works
        with open(ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(shutil.disk_usage(disk).free - left, 1))
        assert run_in_child(act) == 0, (work.name, left)
        if said.exists():
            sentence = said.read_text()
            assert "\n" not in sentence, sentence
            assert "o space left" in sentence or "no room left" in sentence, (left, sentence)
            seen = work.look(out)
            assert seen in (before, after), (work.name, left)
            found["out of room"] += 1
        else:
            found["done"] += 1
        ballast.unlink()
        if work.look(out) != after:
            assert run_in_child(act) == 0
            assert not said.exists(), said.read_text()
        assert work.look(out) == after, (work.name, left)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--times", type=int, default=100, help="of each")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    home = asked.home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    with small_disk(home / "disk") as disk:
        for work in list_works(home):
            found = fill(work, disk, asked.times, random.Random(asked.seed))
            print(f"{work.name}: {asked.times} times, {found}", flush=True)


if __name__ == "__main__":
    main()

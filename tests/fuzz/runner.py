"""Run the cases of a fuzzer in child processes, so that a crash is a finding and not the end.

A fuzzer makes a case of a seed, tries it, and says whether it was accepted. What it may say in
refusal are its ``refusals``; anything else that is raised is a finding, and so is a child that
dies, takes more memory than it may, or does not come to an end. A case is repeated by its seed::

    python -m tests.fuzz images --first 812 --cases 1
"""

import faulthandler
import mmap
import os
import resource
import signal
import struct
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

MEMORY = 2 * 2**30  # bytes that a child may take beyond what it has at its start
CPU_SECONDS = 10.0  # of one case
WALL_SECONDS = 60.0  # of one case: whoever waits for a pipe takes no time of the processor
_FIELDS = struct.Struct("<qqqq")  # case, accepted, refused, findings


class Fuzzer(NamedTuple):
    """What is tried, and how it may be refused."""

    name: str
    prepare: Callable[[Path, dict[str, Path]], object]  # (work, guides by name) -> state
    attempt: Callable[[object, int], bool]  # (state, seed) -> whether the case was accepted
    refusals: tuple[type[Exception], ...]


@dataclass
class Report:
    """What a run has seen."""

    name: str
    cases: int = 0
    accepted: int = 0
    refused: int = 0
    findings: Counter = field(default_factory=Counter)  # by what went wrong and where
    seeds: dict[str, int] = field(default_factory=dict)  # the first of each
    seconds: float = 0.0

    def add(self, what: str, seed: int) -> None:
        self.findings[what] += 1
        self.seeds.setdefault(what, seed)

    def __str__(self) -> str:
        head = (
            f"{self.name:<10} {self.cases:>9,} cases {self.accepted:>9,} accepted "
            f"{self.refused:>9,} refused {sum(self.findings.values()):>4} findings "
            f"{self.seconds:>6.0f} s"
        )
        told = (f"\n  {n} × {what} (seed {self.seeds[what]})" for what, n in self.findings.items())
        return head + "".join(told)


def run(
    fuzzer: Fuzzer,
    work: Path,
    guides: dict[str, Path],
    *,
    cases: int,
    seconds: float = float("inf"),
    first: int = 0,
    batch: int = 500,
) -> Report:
    """Try ``cases`` seeds from ``first`` on, or as many as there is time for."""
    report, started = Report(fuzzer.name), time.monotonic()
    state = fuzzer.prepare(work, guides)
    seed, end = first, first + cases
    while seed < end and time.monotonic() - started < seconds:
        seed = _run_batch(fuzzer, state, report, seed, min(seed + batch, end), started + seconds)
    report.seconds = time.monotonic() - started
    return report


def _run_batch(
    fuzzer: Fuzzer, state: object, report: Report, first: int, end: int, stop: float
) -> int:
    """Try the seeds of one child; return the first that it did not come to."""
    shared = mmap.mmap(-1, _FIELDS.size)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(fuzzer, state, shared, writing, first, end, stop)
    os.close(writing)
    ended, why = _watch(child, shared)
    with open(reading, "rb") as pipe:
        for line in pipe.read().decode("utf-8", "replace").splitlines():
            seed, _, what = line.partition(" ")
            report.add(what, int(seed))
    case, accepted, refused, found = _FIELDS.unpack(shared[:])
    report.accepted += accepted
    report.refused += refused
    report.cases += accepted + refused + found
    if ended and why is None:
        return case + 1
    report.cases += 1
    report.add(why or "the child ended by itself", case)
    return case + 1


def _watch(child: int, shared: mmap.mmap) -> tuple[bool, str | None]:
    """Wait for a child; kill it when one case takes too long. Return whether and why it ended."""
    case, since, used = None, time.monotonic(), 0.0
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if os.WIFSIGNALED(status):
                return False, f"died by {signal.Signals(os.WTERMSIG(status)).name}"
            return os.WEXITSTATUS(status) == 0, None
        now = _FIELDS.unpack(shared[:])[0]
        if now != case:
            case, since, used = now, time.monotonic(), _cpu_seconds(child)
        is_busy = _cpu_seconds(child) - used > CPU_SECONDS
        if is_busy or time.monotonic() - since > WALL_SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False, "did not come to an end"
        time.sleep(0.02)


def _cpu_seconds(process: int) -> float:
    try:
        parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def _work(
    fuzzer: Fuzzer, state: object, shared: mmap.mmap, pipe: int, first: int, end: int, stop: float
) -> None:
    """Try seeds, in the child."""
    status = 1
    try:
        faulthandler.disable()  # whose words on a crash nobody asked for
        limit_memory()
        counts = [first, 0, 0, 0]
        for seed in range(first, end):
            counts[0] = seed
            shared[:] = _FIELDS.pack(*counts)
            try:
                accepted = fuzzer.attempt(state, seed)
                counts[1 if accepted else 2] += 1
            except fuzzer.refusals as error:
                counts[2] += 1
                told = tell_bad_sentence(error)
                if told:
                    counts[2], counts[3] = counts[2] - 1, counts[3] + 1
                    os.write(pipe, f"{seed} {told}\n".encode())
            except BaseException as error:
                counts[3] += 1
                os.write(pipe, f"{seed} {place(error)}\n".encode())
            shared[:] = _FIELDS.pack(*counts)
            if time.monotonic() > stop:
                break
        status = 0
    finally:
        os._exit(status)


def limit_memory() -> None:
    """Let this process take only so much memory more."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def tell_bad_sentence(error: Exception) -> str:
    """A refusal is one sentence; return what is wrong with one that is none."""
    text = str(error)
    if not text or "\n" in text or len(text) > 1500:
        return f"{type(error).__name__} is no sentence: {text[:80]!r}"
    return ""


def place(error: BaseException) -> str:
    """Return what was raised and where in the package: the same for the same fault."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "fieldguide" in f.filename and "tests" not in f.filename] or frames
    where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
    text = " ".join(str(error).split())[:100]
    return f"{type(error).__name__} at {where}: {text}"

"""A short run of every fuzzer; ``make fuzz`` runs them for long."""

import os
import signal
import sys

import pytest

from fieldguide.errors import GuideError
from tests.fuzz import runner
from tests.fuzz.listed import FUZZERS
from tests.fuzz.runner import Fuzzer, run

# So that each takes about a second of the processor.
CASES = {
    **{
        "images": 1500,
        "clips": 200,
        "sidecar": 300,
        "npy": 400,
        "onnx": 150,
        "said": 100,
        "weights": 3000,
        "states": 60,
    },
    **{
        "info": 60,
        "catalogue": 40,
        "features": 20,
        "models": 25,
        "worded": 12,
        "edits": 25,
        "journal": 30,
    },
    **{"queries": 400, "uploads": 40},
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are watched by /proc")


@pytest.mark.parametrize("name", FUZZERS)
def test_nothing_that_is_harmed_ends_in_a_traceback(name, tmp_path, small_guide, worded_guide):
    guides = {"small": small_guide.folder, "worded": worded_guide.folder}
    report = run(FUZZERS[name], tmp_path, guides, cases=CASES[name])
    assert not report.findings, str(report)
    assert report.cases == CASES[name] == report.accepted + report.refused
    assert report.refused or name in ("edits", "journal")  # what is harmed there is passed over
    assert report.accepted


def try_once(attempt, tmp_path, refusals=(GuideError,), cases=3):
    return run(Fuzzer("x", lambda *_: None, attempt, refusals), tmp_path, {}, cases=cases)


def test_a_crash_a_hang_and_much_memory_are_findings(tmp_path, monkeypatch):
    """The runner sees what it is there to see."""
    monkeypatch.setattr(runner, "CPU_SECONDS", 0.3)
    monkeypatch.setattr(runner, "WALL_SECONDS", 1.0)

    def crash(state, seed):
        if seed == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        return True

    report = try_once(crash, tmp_path)
    assert dict(report.findings) == {"died by SIGSEGV": 1}
    assert (report.cases, report.accepted, report.seeds) == (3, 2, {"died by SIGSEGV": 1})

    def hang(state, seed):
        while seed == 1:
            pass
        return True

    assert dict(try_once(hang, tmp_path).findings) == {"did not come to an end": 1}

    def wait(state, seed):
        if seed == 1:
            signal.pause()
        return True

    assert dict(try_once(wait, tmp_path).findings) == {"did not come to an end": 1}

    def fill(state, seed):
        return len(bytes(3 * 2**30)) > 0 if seed == 1 else True

    (found,) = try_once(fill, tmp_path).findings
    assert found.startswith("MemoryError")

    def refuse(state, seed):
        raise GuideError("Two\nlines." if seed == 1 else "One line.")

    report = try_once(refuse, tmp_path)
    assert report.refused == 2
    (found,) = report.findings
    assert "is no sentence" in found

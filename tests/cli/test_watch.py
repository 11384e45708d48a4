"""``fieldguide watch`` as a process: it builds, notices, and ends at Ctrl-C."""

import signal
import subprocess
import time
from functools import partial

from PIL import Image

from fieldguide import Guide
from tests.cli.commands import FIELDGUIDE, check_refusal


def _start(folder, out, log):
    words = ["watch", folder, "--out", out, "--every", "0.2", "--settle", "0.4", "--jobs", "1"]
    with open(log, "wb") as file:
        return subprocess.Popen(
            [*FIELDGUIDE, *map(str, words)],
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # A job in the background of a shell ignores Ctrl-C, and so would what it starts.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )


def _wait_for(fact, seconds=90):
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)


def test_new_pictures_come_into_the_guide(blobs, tmp_path):
    folder, out = tmp_path / "images", tmp_path / "guide"
    folder.mkdir()
    for i, image in enumerate(blobs[0][:3]):
        Image.fromarray(image).save(folder / f"{i}.png")
    Guide.build(folder, out, features="deep", marks=False, places=False, n_jobs=1)
    log = tmp_path / "log"
    process = _start(folder, out, log)
    try:
        _wait_for(lambda: "up to date" in log.read_text())
        Image.fromarray(blobs[0][3]).save(folder / "3.png")
        _wait_for(lambda: "1 picture measured, 3 known already" in log.read_text())
        guide = Guide.open(out)
        assert guide.n_specimens == 4
        assert guide.about["settings"]["features_asked"] == "deep"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert log.read_text().rstrip().endswith("the next one goes on with.")
    finally:
        process.kill()
        process.wait()


def test_a_pace_that_is_none_is_refused(tmp_path):
    words = ["watch", tmp_path, "--out", tmp_path / "guide", "--every", "0"]
    check_refusal([str(word) for word in words], "--every must be more than 0")

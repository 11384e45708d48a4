"""A build that dies by SIGKILL at a step that it reports, and the one that goes on from there.

Run as ``python killed_build.py FOLDER OUT STEP AFTER SETTINGS``, the last in JSON.
``kill_sweep.py`` kills at file operations.
"""

import json
import os
import signal
import subprocess
import sys

import pytest
from tests.guide.contents import contents

from fieldguide.errors import GuideError
from fieldguide.guide import Guide


def check_killed_build(
    folder, whole: Guide, out, step: str, after: int, counted: str, **settings
) -> None:
    """Kill a build of a folder once ``after`` items of a step are done, and build again.

    The second build must end in the bytes of ``whole``, which was built with the same settings, and
    begin its step ``counted`` where the first one was killed.
    """
    module, last = ("-m", "tests.guide.killed_build"), json.dumps(settings)
    killed = subprocess.run(
        [sys.executable, *module, str(folder), str(out), step, str(after), last],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(GuideError, match="was interrupted; run the same 'fieldguide build' again"):
        Guide.open(out)
    steps = []
    Guide.build(folder, out, progress=lambda *now: steps.append(now), n_jobs=2, **settings)
    assert next(done for name, done, _ in steps if name == counted) >= after
    assert contents(out) == contents(whole.folder)


def build_and_die(folder: str, out: str, step: str, after: int, settings: str) -> None:
    def progress(name, done, total):
        if name == step and done >= after:
            os.kill(os.getpid(), signal.SIGKILL)

    Guide.build(folder, out, n_jobs=2, progress=progress, **json.loads(settings))


if __name__ == "__main__":
    build_and_die(*sys.argv[1:4], int(sys.argv[4]), sys.argv[5])

"""A build that dies by SIGKILL at a step that it reports, and the one that goes on from there.

``kill_sweep.py`` kills at file operations.
"""

import os
import signal

import pytest
from tests.children import run_in_child
from tests.guide.contents import contents

from fieldguide.errors import GuideError
from fieldguide.guide import Guide


def check_killed_build(
    folder, whole: Guide, out, step: str, after: int, counted: str, **settings
) -> list:
    """Kill a build of a folder once ``after`` items of a step are done, and build again.

    The second build must end in the bytes of ``whole``, which was built with the same settings, and
    begin its step ``counted`` where the first one was killed. Returns what it reported.
    """
    killed = run_in_child(build_and_die, folder, out, step, after, settings)
    assert killed == -signal.SIGKILL
    with pytest.raises(GuideError, match="was interrupted; run the same 'fieldguide build' again"):
        Guide.open(out)
    steps = []
    Guide.build(folder, out, progress=lambda *now: steps.append(now), n_jobs=2, **settings)
    assert next(done for name, done, _ in steps if name == counted) >= after
    assert contents(out) == contents(whole.folder)
    return steps


def build_and_die(folder, out, step: str, after: int, settings: dict) -> None:
    def progress(name, done, total):
        if name == step and done >= after:
            os.kill(os.getpid(), signal.SIGKILL)

    Guide.build(folder, out, n_jobs=2, progress=progress, **settings)

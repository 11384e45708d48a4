"""Builds with every chapter, additions, edits and exports that are killed, or find the disk full: a
few of the moments that ``kill_moments.py`` and ``full_disk.py`` draw."""

import os
import random
import shutil
import signal
from contextlib import ExitStack

import pytest
from tests.guide.full_disk import fill, small_disk
from tests.guide.kill_moments import kill, list_works

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork") or not hasattr(signal, "SIGKILL"), reason="needs fork"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("killed")


@pytest.fixture(scope="module")
def works(home):
    return list_works(home)


def test_what_is_killed_is_as_before_or_as_after_and_ends_the_same(works, home):
    for work in works:
        if work.name in ("rebuild", "export again"):
            continue
        found = kill(work, home, 1, random.Random(work.name))
        assert found["operations"] > 20


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount")
def test_what_finds_the_disk_full_says_so_and_loses_nothing(works, home):
    with ExitStack() as stack:
        try:
            disk = stack.enter_context(small_disk(home / "disk"))
        except OSError as error:
            pytest.skip(str(error))
        tried = [work for work in works if work.name in ("edit", "export", "rebuild")]
        found = [fill(work, disk, 1, random.Random(0)) for work in tried]
        assert sum(each["out of room"] for each in found) > 0

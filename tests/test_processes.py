"""Work in processes of this machine."""

import os
import signal
import time

import numpy as np
import pytest

from fieldguide._processes import Processes
from fieldguide.errors import FieldguideError


class Add:
    """It travels with what it holds."""

    def __init__(self, values):
        self.values = values

    def __call__(self, x):
        return os.getpid(), self.values + x


def end_itself(x):
    """What the system does to a process when memory is short."""
    if x == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def grow(kept=[]):  # noqa: B006 - it is what the process keeps
    kept.append(np.ones(50_000_000))
    time.sleep(1.1)  # memory is looked at once a second
    return os.getpid()


def is_deaf_to_interrupts(_):
    os.kill(os.getpid(), signal.SIGINT)
    return True


def call(function):
    return function()


def refuse(x):
    raise ValueError(f"not {x}")


def test_each_item_is_done_once_and_by_others():
    found = dict(Processes(2).map_as_done(Add(np.arange(3)), range(40)))
    assert {i: values.tolist() for i, (_, values) in found.items()} == {
        i: [i, i + 1, i + 2] for i in range(40)
    }
    assert os.getpid() not in {process for process, _ in found.values()}


def test_items_are_read_as_there_is_room():
    read = []

    def items():
        for i in range(100):
            read.append(i)
            yield i

    for _ in Processes(2).map_as_done(abs, items()):
        break
    assert len(read) <= 8


def test_an_error_there_is_an_error_here():
    with pytest.raises(ValueError, match="not 7"):
        list(Processes(1).map_as_done(refuse, [7]))


def test_a_process_that_is_killed_is_one_sentence():
    with pytest.raises(FieldguideError, match=r"memory is short; .* fewer --jobs"):
        list(Processes(2).map_as_done(end_itself, range(10)))


def test_an_interrupt_is_for_the_one_that_started_them():
    assert list(Processes(1).map_as_done(is_deaf_to_interrupts, [0])) == [(0, True)]


def test_a_process_whose_caches_fill_goes_on():
    ids = {process for _, process in Processes(1).map_as_done(call, [grow] * 3)}
    assert len(ids) == 1


def test_they_are_gone_when_their_work_is_over():
    ids = {process for _, (process, _) in Processes(2).map_as_done(Add(0), range(8))}
    for _ in range(100):
        if not any(os.path.exists(f"/proc/{process}") for process in ids):
            break
        time.sleep(0.1)
    else:
        pytest.fail("a process goes on")

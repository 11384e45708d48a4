"""Limits on time that other programs on the machine do not use up."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within_cpu_seconds(limit: float) -> Iterator[None]:
    """Fail where the block takes more processor time than that."""
    started = time.process_time()
    yield
    assert time.process_time() - started < limit

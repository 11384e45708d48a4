"""Threads of the libraries below us."""

import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fieldguide._parallel import one_blas_thread

LOADED_LATER = """
from threadpoolctl import threadpool_info, threadpool_limits
from fieldguide._parallel import one_blas_thread

def count():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

with one_blas_thread():
    before = count()
import scipy.linalg
threadpool_limits(2, "blas")
with one_blas_thread():
    assert len(count()) >= len(before) and set(count()) == {1}, count()
assert set(count()) == {2}
"""


def count_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_blas_has_one_thread_inside_the_block_and_as_many_as_before_after_it():
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2, "blas"):
        for _ in range(2):
            with one_blas_thread():
                assert count_threads() == {1}
            assert count_threads() == {2}
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            raise ZeroDivisionError
        assert count_threads() == {2}


def test_a_library_that_is_loaded_later_is_found_too():
    subprocess.run([sys.executable, "-c", LOADED_LATER], check=True)

"""What the decorators of compiled functions promise."""

import numba
import numpy as np

from fieldguide._jit import inner_jit, jit


@inner_jit
def add(x, n):
    return x + n


@numba.njit  # not kept on disk: it must call the compiler
def add_all(x, n):
    return add(x, 1) + add(x, 2) + add(x, n)


def test_an_inner_function_is_compiled_once_for_all_constants():
    assert add_all(10, 3) == 36
    assert len(add.signatures) == 1


def test_python_runs_an_inner_function_as_it_is():
    assert add(2, 3) == 5
    assert add("a", "b") == "ab"
    assert add_all.py_func(10, 3) == 36


def test_options_of_inner_functions():
    @inner_jit(fastmath=True)
    def double(x):
        return 2.0 * x

    @jit
    def sum_doubles(values):
        total = 0.0
        for value in values:
            total += double(value)
        return total

    assert sum_doubles(np.arange(4.0)) == 12.0

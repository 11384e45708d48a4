"""What the decorators of compiled functions promise."""

import gc
import os
import subprocess
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest

from fieldguide._jit import inner_jit, jit, light_loops_plain
from fieldguide.identify import RelaxedHierarchyClassifier


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


def test_light_loops_run_plainly_until_they_are_compiled():
    @jit(is_light=True)
    def name_type(values):
        return type(values) is np.ndarray  # which numba does not know

    with light_loops_plain():
        assert name_type(np.arange(4))
    with pytest.raises(numba.TypingError):
        name_type(np.arange(4))


def test_python_runs_what_stands_in_for_an_inner_function():
    @inner_jit(plain=np.dot)
    def dot(w, x):
        total = 0.0
        for j in range(len(x)):
            total += w[j] * x[j]
        return total

    @jit
    def call(w, x):
        return dot(w, x)

    w = np.arange(3.0)
    assert dot(w, w) == call(w, w) == 5.0
    assert dot(np.eye(2), np.eye(2)).shape == (2, 2)


def test_numba_is_loaded_with_the_first_call():
    script = (
        "import sys, numpy as np, fieldguide.guide, fieldguide.describe._draws as draws\n"
        "print('numba' in sys.modules)\n"
        "draws.uniform(np.arange(1, 5, dtype=np.uint64))\n"
        "print('numba' in sys.modules, type(draws.uniform).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True", "_Outer"]


@jit
def divide(a, b):
    return take_quotient(a, b)


@inner_jit
def take_quotient(a, b):
    return a / b


def test_errors_of_inner_functions_reach_python():
    assert divide(6.0, 3.0) == 2.0
    with pytest.raises(ZeroDivisionError):
        divide(1.0, 0.0)


class Pair(NamedTuple):
    values: np.ndarray
    n: int


@inner_jit(counted=False)
def read_pair(pair):
    return pair.values[0] + pair.n


@jit
def read_chosen(one, other, is_other):
    chosen = one
    if is_other:
        chosen = other
    first = read_pair(chosen)
    one = other
    total = 0.0
    for turn in range(3):
        total += read_pair(chosen)
        chosen = Pair(one.values, turn)
    return first, read_pair(one), total


def test_a_variable_that_holds_another_tuple_is_read_anew():
    one, other = Pair(np.array([1.0]), 10), Pair(np.array([2.0]), 20)
    assert read_chosen(one, other, False) == (11.0, 22.0, 11.0 + 2.0 + 3.0)
    assert read_chosen(one, other, True) == (22.0, 22.0, 22.0 + 2.0 + 3.0)


def test_garbage_is_collected_again_after_compiling():
    @jit
    def double(x):
        return 2 * x

    assert double(1.5) == 3.0
    assert gc.isenabled()


def test_an_untried_version_of_numba_serves_by_its_public_parts(tmp_path):
    """A key, whose loops have options, with a numba whose inner parts are not relied on."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 12)
    X = (rng.normal(size=(60, 4)) + 3 * rng.normal(size=(5, 4))[y]).astype(np.float32)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    script = """
import sys
from fieldguide import _jit
_jit.TRIED_NUMBA = ()
import numpy as np
from fieldguide.identify import RelaxedHierarchyClassifier
rows = np.load(sys.argv[1])
key = RelaxedHierarchyClassifier().fit(rows["X"], rows["y"])
assert "fieldguide._compiler" not in sys.modules
print(*key.predict(rows["X"]))
"""
    said = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "rows.npz")],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        check=False,
    )
    assert said.returncode == 0, said.stderr
    here = RelaxedHierarchyClassifier().fit(X, y).predict(X)
    assert said.stdout.split() == [str(kind) for kind in here]

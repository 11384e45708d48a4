"""What stands in for a module that a command may never need."""

import subprocess
import sys

_SCRIPT = """
import sys
from fieldguide._later import load_later

load_later("scipy.stats")
import fieldguide.guide
print("scipy.stats._stats_py" in sys.modules)
import scipy.stats
from scipy import stats
from scipy.stats import rankdata
print(scipy.stats.norm.cdf(0.0), stats.mode([1, 1, 2]).mode, rankdata([3, 1]).tolist())
import scipy.stats.qmc
print(sys.modules["scipy.stats"] is scipy.stats)
"""


def test_a_module_is_loaded_when_something_of_it_is_asked_for():
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["False", "0.5 1 [2.0, 1.0]", "True"]


def test_a_module_that_is_there_stays():
    import scipy.stats

    from fieldguide._later import load_later

    load_later("scipy.stats")
    assert sys.modules["scipy.stats"] is scipy.stats

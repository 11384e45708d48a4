"""Features that tell classes apart: which to take, and how they vote.

- :class:`ConcertSelector`, :class:`ConcertClassifier`: few features that vote well together
- :class:`CorrelationSelector`, :class:`ForwardBackwardSelector`, :class:`BoostedStumpSelector`:
  the methods they are compared with; each selects columns and names classes
- :class:`AdditiveKernelSelector`: the bins of histograms that matter to an additive kernel
- :class:`MultipleKernelClassifier`: which blocks of features matter
- :class:`FeatureSums`: all that a concert needs of rows, and that adds up
- :func:`solve_concert`, :func:`solve_working_set`, :func:`solve_frank_wolfe`: the convex problem
"""

from fieldguide.select.additive_kernel_selector import AdditiveKernelSelector, PathPoint
from fieldguide.select.boosted_stumps import BoostedStumpSelector
from fieldguide.select.concert import ConcertClassifier, ConcertSelector
from fieldguide.select.concert_solvers import (
    ConcertSolution,
    solve_concert,
    solve_frank_wolfe,
    solve_working_set,
)
from fieldguide.select.correlation import CorrelationSelector
from fieldguide.select.forward_backward import ForwardBackwardSelector
from fieldguide.select.multiple_kernel import MultipleKernelClassifier
from fieldguide.select.objective import (
    GramObjective,
    GramTable,
    Objective,
    RowsObjective,
    RowsTable,
    Table,
)
from fieldguide.select.sums import FeatureSums

__all__ = [
    "AdditiveKernelSelector",
    "BoostedStumpSelector",
    "ConcertClassifier",
    "ConcertSelector",
    "ConcertSolution",
    "CorrelationSelector",
    "FeatureSums",
    "ForwardBackwardSelector",
    "GramObjective",
    "GramTable",
    "MultipleKernelClassifier",
    "Objective",
    "PathPoint",
    "RowsObjective",
    "RowsTable",
    "Table",
    "solve_concert",
    "solve_frank_wolfe",
    "solve_working_set",
]

"""Support vector machines of two classes, and one-vs-all training on a shared matrix.

- :class:`LinearSVM`, :class:`KernelSVM`: the classifiers
- :func:`solve_linear`: arrays in, solution with its duality gap out, on some rows of a matrix
- :func:`solve_kernel`: the same on a Gram matrix
- :func:`train_one_vs_all`, :func:`train_one_vs_all_gram`: every class against the rest, for
  classifiers and selectors
- :func:`judge`, :func:`primal_value`, :func:`dual_value`: what a solution is worth
- :func:`choose_C`, :func:`choose_C_gram`: C by cross-validation
- :func:`choose_C_one_vs_all`, :func:`held_out_margins_one_vs_all` and their twins with ``_gram``:
  the same for all classes at once, with held-out margins to calibrate by
- :func:`warn_open_gaps`: one warning for all problems that stopped too early
- :class:`SigmoidCalibration`: margins to probabilities
- :class:`FastScorer`, :class:`FastKernelScorer`: one row against many functions, without checks,
  for serving
"""

from fieldguide.svm.c_path import choose_C, choose_C_gram
from fieldguide.svm.calibration import SigmoidCalibration, calibrate, calibrate_margins
from fieldguide.svm.convergence import warn_open_gaps
from fieldguide.svm.coordinate_descent import LinearSolution, solve_linear
from fieldguide.svm.gap import dual_value, judge, primal_value
from fieldguide.svm.gram_one_vs_all import GramSolution, train_one_vs_all_gram
from fieldguide.svm.kernel import KernelSVM
from fieldguide.svm.kernel_serving import FastKernelScorer
from fieldguide.svm.linear import LinearSVM
from fieldguide.svm.one_vs_all import OneVsAllSolution, train_one_vs_all
from fieldguide.svm.one_vs_all_path import (
    choose_C_one_vs_all,
    choose_C_one_vs_all_gram,
    held_out_margins_one_vs_all,
    held_out_margins_one_vs_all_gram,
)
from fieldguide.svm.rows import Rows, share_rows
from fieldguide.svm.serving import FastScorer
from fieldguide.svm.smo import KernelSolution, solve_kernel

__all__ = [
    "FastKernelScorer",
    "FastScorer",
    "GramSolution",
    "KernelSVM",
    "KernelSolution",
    "LinearSVM",
    "LinearSolution",
    "OneVsAllSolution",
    "Rows",
    "SigmoidCalibration",
    "calibrate",
    "calibrate_margins",
    "choose_C",
    "choose_C_gram",
    "choose_C_one_vs_all",
    "choose_C_one_vs_all_gram",
    "dual_value",
    "held_out_margins_one_vs_all",
    "held_out_margins_one_vs_all_gram",
    "judge",
    "primal_value",
    "share_rows",
    "solve_kernel",
    "solve_linear",
    "train_one_vs_all",
    "train_one_vs_all_gram",
    "warn_open_gaps",
]

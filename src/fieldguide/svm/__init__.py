"""Support vector machines of two classes, and one-vs-all training on a shared matrix.

- :class:`LinearSVM`, :class:`KernelSVM`: the classifiers
- :func:`solve_linear`: arrays in, solution with its duality gap out, on some rows of a matrix
- :func:`solve_kernel`: the same on a Gram matrix
- :func:`train_one_vs_all`, :func:`train_one_vs_all_gram`: every class against the rest, for
  classifiers and selectors
- :func:`judge`, :func:`primal_value`, :func:`dual_value`: what a solution is worth
- :class:`Problems`: many two-class questions about the same rows, linear or kernel
- :class:`LinearFunctions`, :class:`KernelFunctions`: what they answer, for prediction
- :func:`hold_out`, :func:`choose_C`: cross-validated scores, and the C that does best by them
- :class:`SigmoidCalibration`: margins to probabilities
- :class:`FastScorer`, :class:`FastKernelScorer`: one row against many functions, without checks,
  for serving
"""

from fieldguide.svm.c_path import choose_C, hold_out
from fieldguide.svm.calibration import SigmoidCalibration, calibrate, calibrate_margins, fit_scale
from fieldguide.svm.coordinate_descent import LinearSolution, solve_linear
from fieldguide.svm.functions import Functions, KernelFunctions, LinearFunctions
from fieldguide.svm.gap import dual_value, judge, primal_value, warn_open_gaps
from fieldguide.svm.gram_one_vs_all import GramSolution, train_one_vs_all_gram
from fieldguide.svm.kernel import KernelSVM
from fieldguide.svm.kernel_serving import FastKernelScorer
from fieldguide.svm.linear import LinearSVM
from fieldguide.svm.one_vs_all import OneVsAllSolution, train_one_vs_all
from fieldguide.svm.problems import Problems, Question, Trained, list_pairs
from fieldguide.svm.serving import FastScorer
from fieldguide.svm.shared_rows import Rows, share_rows
from fieldguide.svm.smo import KernelSolution, solve_kernel

__all__ = [
    "FastKernelScorer",
    "FastScorer",
    "Functions",
    "GramSolution",
    "KernelFunctions",
    "KernelSVM",
    "KernelSolution",
    "LinearFunctions",
    "LinearSVM",
    "LinearSolution",
    "OneVsAllSolution",
    "Problems",
    "Question",
    "Rows",
    "SigmoidCalibration",
    "Trained",
    "calibrate",
    "calibrate_margins",
    "choose_C",
    "dual_value",
    "fit_scale",
    "hold_out",
    "judge",
    "list_pairs",
    "primal_value",
    "share_rows",
    "solve_kernel",
    "solve_linear",
    "train_one_vs_all",
    "train_one_vs_all_gram",
    "warn_open_gaps",
]

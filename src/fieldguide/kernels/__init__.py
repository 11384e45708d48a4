"""Kernels of histograms and vectors, exact and in blocks, and their explicit maps."""

from fieldguide.kernels.additive_map import AdditiveKernelMap
from fieldguide.kernels.gram import (
    KERNELS,
    chi2_kernel,
    default_gamma,
    exponential_chi2_kernel,
    hellinger_kernel,
    intersection_kernel,
    jensen_shannon_kernel,
    kernel_blocks,
    rbf_kernel,
)

__all__ = [
    "KERNELS",
    "AdditiveKernelMap",
    "chi2_kernel",
    "default_gamma",
    "exponential_chi2_kernel",
    "hellinger_kernel",
    "intersection_kernel",
    "jensen_shannon_kernel",
    "kernel_blocks",
    "rbf_kernel",
]

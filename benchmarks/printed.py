"""The arguments with which each method is as its document prints it.

Whatever a table calls "as printed" takes its arguments from here; a test holds it to that. What a
document leaves open is named beside the argument.
"""

from typing import Any

# Algorithm 1 and 2, hinge loss, greedy walk. The document has no rule against a node that keeps
# nearly all rows (max_kept). C is chosen by cross-validation.
ATTENTION: dict[str, Any] = {"loss": "hinge", "search": "greedy", "max_kept": 1.0, "C": "cv"}
# With a kernel, Eq. 4: the fewest support vectors at a "competitive accuracy"; a loss of at most
# one point is our reading of it.
ATTENTION_KERNEL: dict[str, Any] = {**ATTENTION, "support_tolerance": 0.01}
# Section 2 and Algorithm 1 of the supplementary material.
RELAXED: dict[str, Any] = {"loss": "hinge", "search": "greedy", "coloring": "printed"}
# Section 4.2: "we set C₂ equal to C₁"; weights on the whole simplex.
REGIONS: dict[str, Any] = {"cap": 1.0, "C_negative": None}
# Section 2 with p₁ = 0.5; k as in Figures 2 and 7. Of the 50 features of pool I, k = 50 takes all.
CONCERT_VOTES: dict[str, Any] = {"p1": 0.5, "bias": False, "balance": False, "calibrate": False}
CONCERT: dict[str, Any] = {**CONCERT_VOTES, "refit": None}
CONCERT_K = 50
# One nearest region for each negative, and nothing else; the cut-off function is left open.
CRANE: dict[str, Any] = {"n_nearest": 1, "own_nearest": False}
# Section 3. The document says nothing of a floor; this is the least that numbers allow.
TREE: dict[str, Any] = {
    "a": 10,
    "b": 5,
    "c_bounds": (20, 100),
    "noise_prior": (5, 20),
    "max_noise": 1.0,
    "alpha_bounds": (1, 50),
    "lambda_bounds": (0.05, 0.8),
    "theta_floor": 1e-8,
}

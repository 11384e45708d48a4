"""Kernel weights on the simplex and their SVM, found together by an interior-point method.

    min_q max_β  Σ_i y_i β_i − ½ Σ_k q_k βᵀM_kβ      q ≥ 0, Σ_k q_k = 1,  Σ_i β_i = 0,

β between 0 and ±C_i as in :mod:`fieldguide.svm.smo`. It is the same as

    max_{β, t}  Σ_i y_i β_i − ½ t      s.t.  βᵀM_kβ ≤ t  for every kernel k,

with q_k the multiplier of ½ (t − βᵀM_kβ) ≥ 0. A step solves one system with
K + Θ + VᵀDV, K = Σ_k q_k M_k, V_k = M_kβ, Θ and D diagonal, in O(n³ + n² M). Ten to forty are
enough however badly the kernels are scaled and whatever their rank; a method that alternates SVMs
with steps of q needs many more where kernels of low rank leave β undetermined.

Any β that the SVM's dual allows bounds the optimum from below by Σ y_i β_i − ½ max_k βᵀM_kβ, and
any q from above by the SVM's primal value, so that

    gap = (primal − bound) / primal

certifies q.

| symbol | meaning |
|---|---|
| s | ½ (t − βᵀM_kβ), the slack of kernel k |
| low, high | what β may be; z_low, z_high their multipliers |
| b | multiplier of Σ β = 0: the intercept |

Reference: S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM
Journal on Optimization 2 (1992); A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet, "SimpleMKL",
JMLR 9 (2008) for the problem.
"""

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fieldguide.svm.smo import judge

_MOST_STEPS = 60
_TO_THE_WALL = 0.98
_LEAST_SHARE = 1e-4


class Kernels(Protocol):
    """A few kernels M_k of the same n rows."""

    def gram(self, q: np.ndarray) -> np.ndarray:
        """Return Σ_k q_k M_k, (n, n)."""

    def apply(self, beta: np.ndarray) -> np.ndarray:
        """Return M_kβ of each kernel, (M, n)."""


class Weighted(NamedTuple):
    """What :func:`solve_weights` found; weights and β are larger than 0, however little."""

    q: np.ndarray  # (M,)
    beta: np.ndarray  # (n,) signed dual variables
    slack: np.ndarray  # (M,) s
    t: float
    primal: float  # an upper bound of the optimum
    gap: float  # relative
    n_steps: int

    def is_near(self, share: float = 1.0) -> np.ndarray:
        """Return which kernels have a weight at the optimum: q outweighs s there, or nearly."""
        return self.q * self.t > share * self.slack

    def sparse_weights(self) -> np.ndarray:
        """Return the weights with those that vanish at the optimum at 0, (M,)."""
        near = self.is_near()
        if not near.any():  # far from the optimum
            near = self.q * self.t / self.slack >= (self.q * self.t / self.slack).max()
        q = np.where(near, self.q, 0.0)
        weights: np.ndarray = q / q.sum()
        return weights


def solve_weights(
    kernels: Kernels,
    y: np.ndarray,
    upper: np.ndarray,
    q: np.ndarray,
    *,
    beta: np.ndarray | None = None,
    tol: float = 1e-3,
) -> Weighted:
    """Find weights with a relative gap of ``tol``, or the last ones before rounding stops it.

    Parameters
    ----------
    kernels : Kernels
    y : ndarray of shape (n,)
        +1 or −1, both there.
    upper : ndarray of shape (n,)
        C of each row, larger than 0.
    q : ndarray of shape (M,)
        Where to start, on the simplex.
    beta : ndarray of shape (n,), optional
        Where to start, within its bounds.
    """
    low, high = np.where(y > 0, 0.0, -upper), np.where(y > 0, upper, 0.0)
    now = _begin(kernels, y, upper, low, high, q, beta)
    for n_steps in range(_MOST_STEPS + 1):
        f, sums = now.q @ now.images, now.images @ now.beta
        primal = judge(y, upper, now.beta, y - f)[0]
        gap = (primal - lower_bound(y, upper, now.beta, float(sums.max()))) / primal
        if gap <= tol or n_steps == _MOST_STEPS:
            break
        try:
            steer = _Steering(now, kernels.gram(now.q), y - f, low, high)
        except (LinAlgError, ValueError):
            break  # rounding has the last word
        # Predictor: straight for the optimum. Corrector: back towards the centre by how far the
        # predictor can go, with its second-order terms.
        ahead = steer.aim(0.0, None)
        share = steer.complement(ahead, steer.reach(ahead)) / steer.complement(ahead, 0.0)
        step = steer.aim(max(share, 0.0) ** 3, ahead)
        length = _TO_THE_WALL * steer.reach(step)
        if not (length > 1e-10 and np.isfinite(step.beta).all()):
            break
        now = _move(now, step, length, kernels.apply(step.beta))
    return Weighted(now.q / now.q.sum(), now.beta, now.slack, now.t, primal, gap, n_steps)


class _Point(NamedTuple):
    """Where the method is, or a step from there; ``images`` of a step are not filled in."""

    beta: np.ndarray  # (n,)
    t: float
    b: float
    q: np.ndarray  # (M,)
    slack: np.ndarray  # (M,)
    z_low: np.ndarray  # (n,)
    z_high: np.ndarray  # (n,)
    images: np.ndarray  # (M, n) V


def _begin(
    kernels: Kernels,
    y: np.ndarray,
    upper: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    q: np.ndarray,
    beta: np.ndarray | None,
) -> _Point:
    """Return a point inside all bounds, near what is given."""
    centre = balance(y, upper)
    beta = centre if beta is None else 0.9 * beta + 0.1 * centre
    q = 0.9 * q / q.sum() + 0.1 / len(q)
    images = kernels.apply(beta)
    stretch = best_stretch(y, upper, beta, float(q @ (images @ beta)), 0.9)
    beta, images = stretch * beta, stretch * images
    sums = images @ beta
    t = 1.5 * float(sums.max()) + 1e-3 * float(beta @ y)
    slack = 0.5 * (t - sums)
    mu = float(q @ slack) / len(q)
    b = judge(y, upper, beta, y - q @ images)[2]
    return _Point(beta, t, b, q, slack, mu / (beta - low), mu / (high - beta), images)


def _move(now: _Point, step: _Point, length: float, change: np.ndarray) -> _Point:
    """Return the point after a step; ``change`` is M_k applied to its β."""
    beta, images = now.beta + length * step.beta, now.images + length * change
    sums = images @ beta
    # The constraints bend, so a straight step can leave them: t gives way.
    t = max(now.t + length * step.t, float((sums + now.slack + length * step.slack).max()))
    return _Point(
        beta,
        t,
        now.b + length * step.b,
        now.q + length * step.q,
        0.5 * (t - sums),
        now.z_low + length * step.z_low,
        now.z_high + length * step.z_high,
        images,
    )


class _Steering:
    """Newton steps from one point: its system is factored once, for predictor and corrector.

    Eliminating q, z_low and z_high leaves β, t and b: a matrix of order n with a border of two.
    """

    def __init__(
        self, now: _Point, K: np.ndarray, errors: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> None:
        self.now = now
        self.room_low, self.room_high = now.beta - low, high - now.beta
        self.weight = now.q / now.slack
        system = (now.images * self.weight[:, None]).T @ now.images
        system += K
        system[np.diag_indices_from(system)] += (
            now.z_low / self.room_low + now.z_high / self.room_high
        )
        self.factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        pull = 0.5 * (self.weight @ now.images)
        self.border = np.column_stack([-pull, np.ones(len(errors))])
        self.inner = cho_solve(self.factor, self.border, check_finite=False)
        self.corner = self.border.T @ self.inner
        self.corner[0, 0] -= 0.25 * self.weight.sum()
        self.rest = errors - now.b + now.z_low - now.z_high
        count = 2 * len(errors) + len(now.q)
        self.mu = self.complement(now, 0.0) / count

    def aim(self, share: float, ahead: _Point | None) -> _Point:
        """Return the step towards products of ``share`` · μ, corrected for those of ``ahead``."""
        now = self.now
        goal = max(share, _LEAST_SHARE) * self.mu if ahead is not None else 0.0
        bend_low = ahead.beta * ahead.z_low if ahead is not None else 0.0
        bend_high = -ahead.beta * ahead.z_high if ahead is not None else 0.0
        bend = ahead.q * ahead.slack if ahead is not None else 0.0
        e = (goal - bend) / now.slack - now.q
        to_low = (goal - bend_low) / self.room_low - now.z_low
        to_high = (goal - bend_high) / self.room_high - now.z_high
        right = self.rest - e @ now.images + to_low - to_high
        solved = cho_solve(self.factor, right, check_finite=False)
        missing = np.array([0.5 * (e.sum() + now.q.sum() - 1), 0.0])
        both = np.linalg.solve(self.corner, self.border.T @ solved - missing)
        beta = solved - self.inner @ both
        slack = 0.5 * both[0] - now.images @ beta
        return _Point(
            beta,
            float(both[0]),
            float(both[1]),
            e - self.weight * slack,
            slack,
            to_low - now.z_low / self.room_low * beta,
            to_high + now.z_high / self.room_high * beta,
            now.images,
        )

    def reach(self, step: _Point) -> float:
        """Return the longest step, at most 1, that keeps everything from falling below 0."""
        now = self.now
        pairs = (
            (self.room_low, step.beta),
            (self.room_high, -step.beta),
            (now.slack, step.slack),
            (now.q, step.q),
            (now.z_low, step.z_low),
            (now.z_high, step.z_high),
        )
        return min(1.0, *(_reach(x, dx) for x, dx in pairs))

    def complement(self, step: _Point, length: float) -> float:
        """Return the sum of all products of a slack and its multiplier after a step."""
        now = self.now
        beta = length * step.beta
        return float(
            (now.z_low + length * step.z_low) @ (self.room_low + beta)
            + (now.z_high + length * step.z_high) @ (self.room_high - beta)
            + (now.q + length * step.q) @ (now.slack + length * step.slack)
        )


def balance(y: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return a β well inside its bounds, with sum zero."""
    plus, minus = float(upper[y > 0].sum()), float(upper[y < 0].sum())
    least = 0.5 * min(plus, minus)
    return np.where(y > 0, upper * least / plus, -upper * least / minus)


def best_stretch(
    y: np.ndarray, upper: np.ndarray, beta: np.ndarray, bend: float, wall: float = 1.0
) -> float:
    """Return the factor of β with the best dual value, up to a share of its bounds."""
    used = beta != 0
    if not used.any():
        return 1.0
    room = wall * float((upper[used] / np.abs(beta[used])).min())
    return min(float(beta @ y) / bend, room) if bend > 0 else room


def lower_bound(y: np.ndarray, upper: np.ndarray, beta: np.ndarray, largest: float) -> float:
    """Return the best lower bound that a multiple of β gives; ``largest`` is max_k βᵀM_kβ."""
    stretch = best_stretch(y, upper, beta, largest)
    return stretch * float(beta @ y) - 0.5 * stretch * stretch * largest


def _reach(x: np.ndarray, dx: np.ndarray) -> float:
    falling = dx < 0
    return float((x[falling] / -dx[falling]).min(initial=np.inf))

"""Random draws for compiled samplers; the generator is an array of four words.

xoshiro256++ (D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", 2021).
numpy's generators are not used inside kernels: functions that take one cannot be cached on disk,
and an array is saved with a chain like any other.
"""

import math

import numpy as np

from fieldguide._arrays import Words
from fieldguide._jit import inner_jit, jit

_TINY = 1e-300
ONE_LESS = 1.0 - 2.0**-53


def seed_words(generator: np.random.Generator) -> np.ndarray:
    """Return the state of a new stream, drawn from ``generator``."""
    return generator.integers(1, 2**64, size=4, dtype=np.uint64)


@jit(counted=False)
def uniform(words: Words) -> float:
    """Return a number in (0, 1); words (4,) uint64 change in place."""
    s0, s1, s2, s3 = words[0], words[1], words[2], words[3]
    total = s0 + s3
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    words[0], words[1], words[2], words[3] = s0, s1, s2, s3
    return (np.int64(result >> np.uint64(12)) + 0.5) * 2.0**-52


@jit(counted=False)
def normal(words: Words) -> float:
    """Return a standard normal number, by the polar method."""
    while True:
        x = 2.0 * uniform(words) - 1.0
        y = 2.0 * uniform(words) - 1.0
        s = x * x + y * y
        if 0.0 < s < 1.0:
            return x * math.sqrt(-2.0 * math.log(s) / s)


@jit(counted=False)
def log_gamma_variate(words: Words, shape: float) -> float:
    """Return the logarithm of a Gamma(shape, 1) number; safe for shapes near 0.

    G. Marsaglia and W. Tsang, "A simple method for generating gamma variables", 2000.
    """
    boost = 0.0
    if shape < 1.0:
        boost = math.log(uniform(words)) / max(shape, _TINY)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(words)
        v = 1.0 + c * x
        if v > 0.0:
            log_v = 3.0 * math.log(v)
            if math.log(uniform(words)) < 0.5 * x * x + d * (1.0 - v * v * v + log_v):
                return math.log(d) + log_v + boost


@jit(counted=False)
def beta(words: Words, a: float, b: float) -> float:
    """Return a Beta(a, b) number in (0, 1), never 0 or 1 by rounding."""
    gap = log_gamma_variate(words, b) - log_gamma_variate(words, a)
    if gap > 690.0:
        return _TINY
    return min(max(1.0 / (1.0 + math.exp(gap)), _TINY), ONE_LESS)


@jit(counted=False)
def beta_from_one(words: Words, b: float) -> float:
    """Return a Beta(1, b) number, by its inverse."""
    return min(max(-math.expm1(math.log(uniform(words)) / b), _TINY), ONE_LESS)


@jit(counted=False)
def truncated_beta(words: Words, a: float, b: float, floor: float) -> float:
    """Return a Beta(a, b) number in [floor, 1 - floor], by rejection.

    A parameter below 1 puts a pole at its end of [0, 1]: then the power alone is drawn by its
    inverse and the other factor decides.
    """
    if a >= 1.0 and b >= 1.0:
        while True:
            t = beta(words, a, b)
            if floor <= t <= 1.0 - floor:
                return t
    if a < 1.0 and b < 1.0:
        # one pole at a time, on the half that holds it
        low, high = power_mass(a, floor, 0.5), power_mass(b, floor, 0.5)
        low *= 0.5 ** (b - 1.0)
        high *= 0.5 ** (a - 1.0)
        while True:
            if uniform(words) * (low + high) < low:
                t = power_draw(words, a, floor, 0.5)
                if uniform(words) * 0.5 ** (b - 1.0) <= (1.0 - t) ** (b - 1.0):
                    return t
            else:
                t = power_draw(words, b, floor, 0.5)
                if uniform(words) * 0.5 ** (a - 1.0) <= (1.0 - t) ** (a - 1.0):
                    return 1.0 - t
    is_mirrored = b < 1.0
    if is_mirrored:
        a, b = b, a
    while True:
        t = power_draw(words, a, floor, 1.0 - floor)
        if math.log(uniform(words)) <= (b - 1.0) * math.log((1.0 - t) / (1.0 - floor)):
            return 1.0 - t if is_mirrored else t


@inner_jit(counted=False)
def power_mass(a: float, low: float, high: float) -> float:
    """Return the integral of t^(a-1) from low to high."""
    if a < 1e-9:
        return math.log(high / low)
    mass: float = (high**a - low**a) / a
    return mass


@inner_jit(counted=False)
def power_draw(words: Words, a: float, low: float, high: float) -> float:
    """Return a number with density proportional to t^(a-1) on [low, high]."""
    u = uniform(words)
    if a < 1e-9:
        drawn: float = low * (high / low) ** u
        return drawn
    # The power of high, which may be tiny, cancels.
    ratio = math.exp(a * math.log(low / high))
    t = high * math.exp(math.log(u + (1.0 - u) * ratio) / a)
    return min(max(t, low), high)

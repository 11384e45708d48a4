"""Which kind a find is, from answers to questions about it: the mathematics of a walk.

A walk has a table: ``s[k, j]``, the share of the specimens of kind k of which the answer to
question j is yes. A person is wrong once in a while, and so is the table, hence::

    P(yes | k, j) = (1 - e) s[k, j] + e (1 - s[k, j])
    p(k | answers) ~ prior[k] * product over the answers of P(answer | k, j)

"Cannot tell" changes nothing. A wrong answer makes the right kind less likely, and no more than
that: later answers bring it back. The next question is the one whose answer is expected to tell
most about the kind, which is the mutual information between the two under the present belief::

    gain[j] = H(sum over k of p(k) P(yes | k, j)) - sum over k of p(k) H(P(yes | k, j))

Shares are kept as levels from 0 to 62, one character of text each: the page reads the same table
(``walk.js``) and computes the same belief.

=========  =====================================================
s          share of yes, (n_kinds, n_questions)
e          ``WRONG``, how often an answer is wrong
H(p)       entropy of yes with probability p, in bits
=========  =====================================================
"""

from collections.abc import Mapping

import numpy as np

WRONG = 0.1
ENOUGH = 0.9  # probability of a kind, from which on a walk may end
LEAST_GAIN = 0.02  # bits that are worth a question
SAME_DIGITS = 9  # of gains that are equal: the last bits of the page and of Python differ
N_LEVELS = 63  # an odd number: the middle one is a half
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"


def to_levels(shares: np.ndarray) -> np.ndarray:
    """Return shares in [0, 1] as levels."""
    levels = np.floor(np.asarray(shares) * N_LEVELS)
    inside: np.ndarray = np.clip(levels, 0, N_LEVELS - 1).astype(np.int64)
    return inside


def from_levels(levels: np.ndarray) -> np.ndarray:
    """Return the shares of levels, which are never 0 or 1."""
    return (np.asarray(levels) + 0.5) / N_LEVELS


def write_levels(levels: np.ndarray) -> str:
    """Return the levels of one question as text, a character for each kind."""
    return "".join(LETTERS[level] for level in levels)


def expect_yes(shares: np.ndarray) -> np.ndarray:
    """Return how likely the answer is yes, for each kind and question."""
    return (1 - WRONG) * shares + WRONG * (1 - shares)


def believe(yes: np.ndarray, answers: Mapping[int, bool | None], prior: np.ndarray) -> np.ndarray:
    """Return the probability of each kind.

    Parameters
    ----------
    yes : array of shape (n_kinds, n_questions)
        Probability of yes, of :func:`expect_yes`.
    answers : mapping from a question to True, False, or None for "cannot tell"
    prior : array of shape (n_kinds,)
        Positive; it need not sum to 1.
    """
    log_p = np.log(prior)
    for j in sorted(answers):  # in one order, so that the order of the answers changes no bit
        if answers[j] is not None:
            log_p = log_p + np.log(yes[:, j] if answers[j] else 1 - yes[:, j])
    p = np.exp(log_p - log_p.max())
    belief: np.ndarray = p / p.sum()
    return belief


def gain_bits(yes: np.ndarray, belief: np.ndarray) -> np.ndarray:
    """Return how much the answer to each question is expected to tell about the kind, in bits."""
    gain: np.ndarray = entropy_bits(belief @ yes) - belief @ entropy_bits(yes)
    return gain


def entropy_bits(p: np.ndarray) -> np.ndarray:
    """Return the entropy of yes with probability p in (0, 1)."""
    entropy: np.ndarray = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    return entropy

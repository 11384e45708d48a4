"""Plain words for the outputs of an ImageNet network: animal, bird, heron, vehicle, chair.

A word covers a set of the 1000 output classes, and its probability is their sum:

    p(word | image) = Σ p(class | image)  over the classes that the word covers

Words form a small hierarchy, from general to specific. A word covers its own classes and all
those of the words below it, so a parent is never less probable than its child.

A word with probability p is said from p ≥ t on; its score is

    score = σ(2 (logit p − logit t)),    t = min(0.25 + 0.03 log₂ m, 0.5),

and what is said below a word is said of the word too. m is the number of classes that the word
covers: a specific word is right at a low probability already, while a general one collects a
little from each of its many classes. What the other pictures of a collection add to p is in
`fieldguide.features.word_support`.

`benchmarks/problems/words.py` measures the rule against what folder names imply; the figures are
in `docs/words.md`.

The table `vocabulary.tsv` was made by hand along the hypernyms of WordNet 3.0 (Princeton
University), and departs from them where they would mislead: its jargon is left out (chordate,
instrumentality), and classes that WordNet files under another meaning are put where their
pictures belong (a freight car is a train and not a car, a radiator grille is a car and not a
fence, a grouse is a bird and not a game, a menu is a printed page and not food). A class whose
pictures no everyday word describes (coil, pole, knot) belongs to no word.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from scipy.sparse import csr_array

from fieldguide.errors import InvalidArgument

N_CLASSES = 1000
YES = 0.5
SHARPER = 1.25
STEEP = 2  # of the scores: with it, they say how often a word is true (docs/words.md)


@dataclass(frozen=True)
class Vocabulary:
    """Words, their parents, and the classes that each covers.

    Attributes
    ----------
    names : tuple of str, length V
        Parents come before their children.
    parents : tuple of tuple of int, length V
        Positions in ``names`` of the words directly above each word; empty for the most general.
    membership : ndarray of shape (1000, V), uint8
        1 where the word covers the class, in the order of the network's outputs.
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    membership: np.ndarray


@cache
def load_vocabulary() -> Vocabulary:
    """Read the vocabulary that ships with the package.

    >>> words = load_vocabulary()
    >>> heron = words.names.index("heron")
    >>> [words.names[parent] for parent in words.parents[heron]]
    ['wading bird']
    >>> [class_names()[i] for i in words.membership[:, heron].nonzero()[0]]
    ['little blue heron', 'american egret', 'bittern']
    """
    lines = _read_text("vocabulary.tsv").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    names = tuple(row[0] for row in rows)
    position = {name: k for k, name in enumerate(names)}
    parents = tuple(tuple(position[p] for p in row[1].split("; ") if p) for row in rows)
    membership = np.zeros((N_CLASSES, len(rows)), np.uint8)
    for k, row in enumerate(rows):
        for low, _, high in (item.partition("-") for item in row[2].split()):
            membership[int(low) : int(high or low) + 1, k] = 1
    for k in reversed(range(len(rows))):
        for parent in parents[k]:
            membership[:, parent] |= membership[:, k]
    membership.setflags(write=False)
    return Vocabulary(names, parents, membership)


@cache
def find_above(word: int) -> frozenset[int]:
    """Return the positions of all words above one."""
    parents = load_vocabulary().parents[word]
    return frozenset(parents).union(*map(find_above, parents))


@cache
def class_names() -> tuple[str, ...]:
    """Return the plain names of the 1000 classes, in the order of the network's outputs.

    >>> class_names()[130], class_names()[717]
    ('flamingo', 'pickup truck')
    """
    return tuple(_read_text("imagenet_names.txt").splitlines())


def word_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """Sum class probabilities into word probabilities.

    Parameters
    ----------
    probabilities : array of shape (n, 1000)
        Softmax outputs; each row sums to one.

    Returns
    -------
    ndarray of shape (n, V), float32, in [0, 1]
        One column for each of ``load_vocabulary().names``.
    """
    probabilities = _check_probabilities(probabilities)
    sums = _sum_classes(probabilities.astype(np.float64))
    at_most_one: np.ndarray = np.minimum(sums, 1.0).astype(np.float32)
    return at_most_one


def word_chances(probabilities: np.ndarray) -> np.ndarray:
    """Return :func:`word_probabilities` of the same logits times `SHARPER`.

    For averages over pictures, in which the probabilities of each alone would be too even.
    """
    sharper = _check_probabilities(probabilities).astype(np.float64) ** SHARPER
    return word_probabilities(sharper / np.maximum(sharper.sum(axis=1, keepdims=True), 1e-300))


@cache
def word_thresholds() -> np.ndarray:
    """Return the probability from which on each word is said (V,)."""
    n_classes = load_vocabulary().membership.sum(axis=0, dtype=int)
    thresholds: np.ndarray = np.minimum(0.25 + 0.03 * np.log2(n_classes), 0.5)
    thresholds.setflags(write=False)
    return thresholds


def score_words(p: np.ndarray) -> np.ndarray:
    """Return the score of each word, at least that of any word below it (n × V, float32).

    At least `YES` where the word, or one below it, has a probability of at least its threshold.
    """
    p, thresholds = p.astype(np.float64), word_thresholds()
    shown, hidden = (p * (1 - thresholds)) ** STEEP, ((1 - p) * thresholds) ** STEEP
    scores = shown / (shown + hidden)
    return _lift_parents(scores).astype(np.float32)


def _check_probabilities(probabilities: np.ndarray) -> np.ndarray:
    probabilities = np.asarray(probabilities)
    if probabilities.ndim != 2 or probabilities.shape[1] != N_CLASSES:
        raise InvalidArgument(
            f"probabilities must have shape (n, {N_CLASSES}); got {probabilities.shape}. "
            "Pass the softmax outputs of an ImageNet network, one row for each image."
        )
    if probabilities.size and not (probabilities.min() >= 0 and probabilities.max() <= 1 + 1e-4):
        raise InvalidArgument(
            "probabilities must be in [0, 1]; apply softmax to the logits of the network first."
        )
    return probabilities


def _sum_classes(probabilities: np.ndarray) -> np.ndarray:
    """Return ``probabilities @ membership`` (n × V), no parent below its child.

    A dense product may add in another order for another number of rows; a sparse one adds the
    classes of a word one after the other, so an image gets the same bits alone and in a batch.
    """
    return _lift_parents(np.ascontiguousarray((_classes_by_word() @ probabilities.T).T))


@cache
def _classes_by_word() -> csr_array:
    return csr_array(load_vocabulary().membership.T, dtype=np.float64)


def _lift_parents(values: np.ndarray) -> np.ndarray:
    """Raise each word's column in place to at least those of its children, and return it."""
    parents = load_vocabulary().parents
    for k in reversed(range(len(parents))):
        for parent in parents[k]:
            np.maximum(values[:, parent], values[:, k], out=values[:, parent])
    return values


def _read_text(name: str) -> str:
    return files("fieldguide.features").joinpath(name).read_text(encoding="utf-8")

"""Any list of words as a vocabulary, by a network whose pictures and texts meet.

CLIP, SigLIP and their like have two towers: a picture becomes a row x, a text a row t of the same
length, and a word fits a picture as far as the rows point the same way.

    p(word | picture) = softmax over words of  s · cos(x, t)          of CLIP
    p(word | picture) = σ(s · cos(x, t) + b)                          of SigLIP, where b is given

| symbol | meaning |
|---|---|
| s | the logit scale that the towers were trained with, such as 100 |
| b | the logit bias of SigLIP, such as -16; none of CLIP |

A vocabulary is one safetensors file: the tensor ``text``, a row for each word, and in its metadata
``words`` (a JSON list of their names), ``logit_scale`` and, if there is one, ``logit_bias``.
``fieldguide words`` writes it from a text tower; any program that has one can.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save
from scipy.special import expit, softmax

from fieldguide._files import write_bytes
from fieldguide.errors import EmbedderError
from fieldguide.features.word_support import LEAST_PRECISION, SURE, pool_chances

FILE_NAME = "vocabulary.safetensors"  # beside the ONNX file of the image tower
MOST_WORDS = 20_000
MOST_LETTERS = 200
THRESHOLD = 0.25  # probability from which on a word is said, as of a word of one class
_TINY = 1e-12


class TextVocabulary(NamedTuple):
    """Words, and the rows that a text tower gives them.

    Attributes
    ----------
    words : tuple of V different str
    text : ndarray of shape (V, d), float32
        Of length 1.
    logit_scale : float
    logit_bias : float or None
        With one, each word is judged by itself; without, words share a probability of 1.

    Examples
    --------
    >>> words = TextVocabulary.make(["heron", "lamp"], np.eye(2), logit_scale=5.0)
    >>> words.chances(np.array([[3.0, 0.0]])).round(2)
    array([[0.99, 0.01]])
    """

    words: tuple[str, ...]
    text: np.ndarray
    logit_scale: float
    logit_bias: float | None = None

    @classmethod
    def make(
        cls,
        words: Sequence[str],
        text: Any,
        *,
        logit_scale: float = 100.0,
        logit_bias: float | None = None,
    ) -> Self:
        """Return the vocabulary of some words and their rows; EmbedderError where they do not fit.

        Parameters
        ----------
        words : sequence of V str
        text : array of shape (V, d)
            Of any length; it is scaled to 1.
        logit_scale : float
        logit_bias : float, optional
        """
        names = tuple(" ".join(str(word).split()) for word in words)
        odd = [name for name in names if not name or len(name) > MOST_LETTERS]
        if odd or not 1 <= len(names) <= MOST_WORDS or len(set(names)) < len(names):
            raise EmbedderError(
                f"A vocabulary must hold 1 to {MOST_WORDS:,} different words of 1 to "
                f"{MOST_LETTERS} letters; got {len(names):,} of which {len(set(names)):,} differ"
                f"{f', one of {len(odd[0]):,} letters' if odd else ''}."
            )
        rows = np.asarray(text)
        if rows.dtype.kind != "f" or rows.ndim != 2 or len(rows) != len(names) or not rows.size:
            raise EmbedderError(
                f"The text of a vocabulary must be a row of numbers for each of its {len(names):,} "
                f"words; got {rows.dtype} of shape {rows.shape}."
            )
        rows = rows.astype(np.float64)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(length).all() or not length.all():
            raise EmbedderError("A word of the vocabulary has a row of zeros, NaN or infinity.")
        bias = 0.0 if logit_bias is None else logit_bias
        if not (np.isfinite(logit_scale) and logit_scale > 0 and np.isfinite(bias)):
            raise EmbedderError(
                "logit_scale of a vocabulary must be above 0 and logit_bias a number; got "
                f"{logit_scale} and {logit_bias}."
            )
        return cls(names, (rows / length).astype(np.float32), float(logit_scale), logit_bias)

    def chances(self, embedding: np.ndarray) -> np.ndarray:
        """Return the probability of each word in each picture, (n, V).

        ``embedding`` is (n, d), what the image tower gives, of any length.
        """
        rows = np.asarray(embedding, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.text.shape[1]:
            raise EmbedderError(
                f"The words of the vocabulary have {self.text.shape[1]:,} numbers each and the "
                f"pictures {rows.shape[-1]:,}; make it with the text tower of the same network, "
                "and give the image tower as the embedder."
            )
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _TINY)
        logits = self.logit_scale * (rows @ self.text.T.astype(np.float64))
        if self.logit_bias is None:
            return np.asarray(softmax(logits, axis=1))
        return np.asarray(expit(logits + self.logit_bias))

    def tell(
        self, embedding: np.ndarray, near: np.ndarray, kinds: Sequence[str | None] | None = None
    ) -> tuple[list[str], np.ndarray]:
        """Return the words that a collection supports, and their scores, (n, number of words).

        Parameters
        ----------
        embedding : ndarray of shape (n, d)
        near : int ndarray of shape (n, k)
            The nearest pictures of each, itself not among them.
        kinds : sequence of n names or None, optional
        """
        scores = score_text(pool_chances(self.chances(embedding), near, kinds))
        is_kept = support_text(scores)
        kept = [word for word, keep in zip(self.words, is_kept, strict=True) if keep]
        return kept, scores[:, is_kept].astype(np.float32)

    def tell_new(self, embedding: np.ndarray, of_near: np.ndarray) -> dict[str, float]:
        """Return the score of each word of one new picture, (1, d), with the nearest, (k, d)."""
        chances = self.chances(np.concatenate([embedding, of_near]))
        scores = score_text(chances.mean(axis=0))
        return dict(zip(self.words, scores.tolist(), strict=True))

    @classmethod
    def find(cls, embedder: Sequence[str]) -> Self | None:
        """Open the vocabulary beside the ONNX file of a network, or around its folder ``onnx``;
        None where there is none, or several networks."""
        if len(embedder) != 1:
            return None
        folder = Path(embedder[0]).absolute().parent
        folders = [folder, *([folder.parent] if folder.name == "onnx" else [])]
        found = (each / FILE_NAME for each in folders if (each / FILE_NAME).is_file())
        path = next(found, None)
        return None if path is None else cls.open(path)

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the rows, and the rest as values that JSON can hold."""
        settings = {"logit_scale": self.logit_scale, "logit_bias": self.logit_bias}
        return {"text": self.text}, {"words": list(self.words), **settings}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Self:
        """Return the vocabulary of such a state."""
        bias = settings.get("logit_bias")
        return cls.make(
            [str(word) for word in settings["words"]],
            arrays["text"],
            logit_scale=float(settings["logit_scale"]),
            logit_bias=None if bias is None else float(bias),
        )

    def save(self, path: Path) -> None:
        """Write a vocabulary file."""
        arrays, settings = self.to_state()
        told = {
            name: json.dumps(value, ensure_ascii=False)
            for name, value in settings.items()
            if value is not None
        }
        write_bytes(path, save(arrays, metadata=told))

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read a vocabulary file; EmbedderError in one sentence for any other."""
        try:
            if not path.is_file():
                raise OSError("it is no file")
            with safe_open(path, framework="numpy") as file:
                told, names = file.metadata() or {}, list(file.keys())
                arrays = {"text": file.get_tensor("text")} if "text" in names else {}
            settings = {
                name: json.loads(told[name])
                for name in ("words", "logit_scale", "logit_bias")
                if name in told
            }
            if not arrays or not isinstance(settings.get("words"), list):
                raise ValueError("it has no tensor 'text' with 'words' in its metadata")
            settings.setdefault("logit_scale", 100.0)
            return cls.from_state(arrays, settings)
        except EmbedderError as error:
            raise EmbedderError(f"The vocabulary {str(path)!r} does not fit: {error}") from None
        except Exception as error:  # safetensors raises nearly anything on a damaged file
            reason = " ".join(str(error).split()).rstrip(".")[:200]
            raise EmbedderError(
                f"The vocabulary {str(path)!r} cannot be read ({reason}); write one with "
                "'fieldguide words'."
            ) from None


def score_text(p: np.ndarray) -> np.ndarray:
    """Return the score of each word from its probability: ½ at the threshold.

    >>> score_text(np.array([0.0, 0.25, 1.0]))
    array([0. , 0.5, 1. ])
    """
    shown, hidden = (p * (1 - THRESHOLD)) ** 2, ((1 - p) * THRESHOLD) ** 2
    return np.asarray(shown / (shown + hidden))


def support_text(scores: np.ndarray) -> np.ndarray:
    """Return which words a collection supports, (V,) bool: said surely of some picture, and by
    their scores not wrong too often."""
    yes = scores >= 0.5
    precision = np.where(yes, scores, 0).sum(axis=0) / np.maximum(yes.sum(axis=0), 1)
    supported = (scores.max(axis=0, initial=0) >= SURE) & (precision >= LEAST_PRECISION)
    return np.asarray(supported)

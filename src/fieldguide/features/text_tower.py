"""The text tower of CLIP, SigLIP and their like: an ONNX file with ``tokenizer.json`` beside it.

    text_model.onnx          takes ``input_ids`` (n, length) and perhaps ``attention_mask``
    tokenizer.json           as the package tokenizers writes it (extra ``text``)
    config.json              of transformers, if there is one: SigLIP pads each text to one length
    tokenizer_config.json    the token to pad with, and whether texts are SigLIP's: without
                             capitals and punctuation, which its tokenizer.json does not say

They lie in the folder of the ONNX file, or in the one around it where that is called ``onnx``. The
row of a text is the output ``text_embeds`` or ``pooler_output``, or the only one of two axes.
"""

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fieldguide.errors import EmbedderError
from fieldguide.features._onnx_file import check_outputs, first_line, read_file, read_graph
from fieldguide.features._own_network import open_session

_OUTPUTS = ("text_embeds", "text_embeddings", "text_features", "pooler_output")
_INPUTS = ("input_ids", "attention_mask")
_MOST_BYTES = 100_000_000  # of tokenizer.json, which holds up to 256,000 tokens
_LONGEST = 77  # tokens, where nothing says how many
_LONGEST_SIGLIP = 64
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


class TextTower:
    """A text tower ready to run.

    Parameters
    ----------
    path : Path
        The ONNX file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._session = open_session(read_graph(path), path)
        inputs = {each.name: each for each in self._session.get_inputs()}
        if "input_ids" not in inputs or not set(inputs) <= set(_INPUTS):
            raise EmbedderError(
                f"The text tower {str(path)!r} must take input_ids, and attention_mask at most; "
                f"it takes {', '.join(inputs) or 'nothing'}: export the part that reads texts."
            )
        self._types = {
            name: np.dtype(np.int32 if each.type == "tensor(int32)" else np.int64)
            for name, each in inputs.items()
        }
        self._output = self._choose_output()
        shape = inputs["input_ids"].shape
        self._read_tokenizer(shape[1] if len(shape) == 2 else None)

    def read(self, texts: Sequence[str]) -> np.ndarray:
        """Return the row of each text, (n, d) float32."""
        rows = []
        for text in texts:  # one by one: a text alone needs no other's padding
            found = self._tokenizer.encode(_tidy(text) if self._is_tidied else text)
            ids, mask = list(found.ids), list(found.attention_mask)
            n_missing = (self._length or len(ids)) - len(ids)
            feed = {
                "input_ids": ids + [self._pad] * n_missing,
                "attention_mask": mask + [0] * n_missing,
            }
            batch = {name: np.array([feed[name]], dtype=t) for name, t in self._types.items()}
            try:
                (row,) = self._session.run([self._output], batch)
            except Exception as error:  # what onnxruntime raises is a matter of the file
                raise EmbedderError(
                    f"The text tower {str(self._path)!r} cannot read {text[:40]!r} "
                    f"({first_line(error)}); give the tokenizer.json of this very network."
                ) from None
            check_outputs([row], 1, repr(str(self._path)))
            rows.append(np.asarray(row, dtype=np.float32).reshape(-1))
        return np.stack(rows)

    def read_words(self, words: Sequence[str], templates: Sequence[str] = ("{}",)) -> np.ndarray:
        """Return the row of each word, (n, d) of length 1: the mean over templates of its rows.

        ``templates`` are texts with ``{}`` where the word goes: "a photo of a {}."
        """
        wrong = [template for template in templates if template.count("{}") != 1]
        if wrong or not templates:
            raise EmbedderError(
                f"A template has {{}} once, where the word goes; got {(wrong or ['none'])[0]!r}."
            )
        total = 0.0
        for template in templates:
            rows = self.read([template.replace("{}", word) for word in words]).astype(np.float64)
            total = total + rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        mean = np.asarray(total)
        return np.asarray(mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12))

    def _choose_output(self) -> str:
        outputs: dict[str, int]
        outputs = {each.name: len(each.shape or ()) for each in self._session.get_outputs()}
        known = [name for name in _OUTPUTS if name in outputs]
        flat = [name for name, n_axes in outputs.items() if n_axes == 2]
        if known:
            return known[0]
        if len(flat) == 1:
            return flat[0]
        raise EmbedderError(
            f"The text tower {str(self._path)!r} must give one row for a text, such as "
            f"text_embeds; it gives {', '.join(outputs)}."
        )

    def _read_tokenizer(self, fixed: Any) -> None:
        """Open the tokenizer, and find out how long a text is."""
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise EmbedderError(
                "Reading texts needs the package tokenizers: pip install 'fieldguide[text]'."
            ) from None
        try:
            content = self._find("tokenizer.json")
            if content is None:
                raise EmbedderError(
                    f"There is no tokenizer.json beside the text tower {str(self._path)!r}; put "
                    "that of the same network into its folder."
                )
            self._tokenizer = Tokenizer.from_str(content.decode("utf-8"))
        except EmbedderError:
            raise
        except Exception as error:  # tokenizers raises a plain Exception
            raise EmbedderError(
                f"The tokenizer.json beside {str(self._path)!r} cannot be read "
                f"({first_line(error)}); put that of the same network there."
            ) from None
        config, own = self._find_json("config.json"), self._find_json("tokenizer_config.json")
        text = config.get("text_config")
        longest = text.get("max_position_embeddings") if isinstance(text, dict) else None
        is_siglip = str(config.get("model_type", "")).startswith("siglip")
        usual = _LONGEST_SIGLIP if is_siglip else _LONGEST
        if isinstance(fixed, int):
            longest = fixed
        elif not isinstance(longest, int) or not 2 <= longest <= 4096:
            longest = usual
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length=longest)
        self._length = longest if is_siglip or isinstance(fixed, int) else None
        self._is_tidied = str(own.get("tokenizer_class", "")).startswith("SiglipTokenizer")
        pad = own.get("pad_token")
        name = pad.get("content") if isinstance(pad, dict) else pad
        number = self._tokenizer.token_to_id(name) if isinstance(name, str) else None
        if self._length is not None and number is None:
            raise EmbedderError(
                f"The text tower {str(self._path)!r} takes texts of {longest} tokens, and no "
                "tokenizer_config.json beside it says which pad_token fills short ones; put that "
                "of the same network there."
            )
        self._pad = number or 0

    def _find(self, name: str) -> bytes | None:
        folder = self._path.absolute().parent
        folders = [folder, *([folder.parent] if folder.name == "onnx" else [])]
        for each in folders:
            if (each / name).is_file():
                return read_file(each / name, _MOST_BYTES)
        return None

    def _find_json(self, name: str) -> dict[str, Any]:
        content = self._find(name)
        try:
            plain = json.loads(content.decode("utf-8")) if content else {}
        except (ValueError, RecursionError):
            raise EmbedderError(
                f"The {name} beside {str(self._path)!r} is damaged; put that of the same network "
                "there."
            ) from None
        return plain if isinstance(plain, dict) else {}


def _tidy(text: str) -> str:
    """Write a text as SigLIP's tokenizer does before it looks for tokens.

    >>> _tidy("A photo of a  Heron.")
    'a photo of a heron'
    """
    return " ".join(text.lower().translate(_NO_PUNCTUATION).split())

"""Chains of samples as files: arrays in one safetensors file, no pickle."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from fieldguide._files import replacing
from fieldguide.errors import FieldguideError

_FORMAT = 1


def save_chains(path: str | os.PathLike, chains: Sequence[Mapping[str, np.ndarray]]) -> None:
    """Write ``chains_`` of a fitted tree, or of an interrupted one, to a file."""
    arrays = {
        f"{i}/{name}": np.ascontiguousarray(value)
        for i, chain in enumerate(chains)
        for name, value in chain.items()
    }
    about = json.dumps({"format": _FORMAT, "n_chains": len(chains)})
    with replacing(Path(path)) as temporary:
        save_file(arrays, temporary, metadata={"fieldguide.chains": about})


def load_chains(path: str | os.PathLike) -> list[dict[str, np.ndarray]]:
    """Read what :func:`save_chains` wrote, for ``fit(A, resume=...)``."""
    try:
        with safe_open(path, framework="numpy") as opened:
            about = json.loads((opened.metadata() or {}).get("fieldguide.chains", "{}"))
            names = list(opened.keys())
            arrays = {name: opened.get_tensor(name) for name in names}
    except FileNotFoundError:
        raise FieldguideError(f"There is no file {str(path)!r}; save the chains first.") from None
    except SafetensorError as error:
        raise FieldguideError(
            f"{str(path)!r} is no file of chains ({error}); give one that save_chains wrote."
        ) from None
    if about.get("format") != _FORMAT:
        raise FieldguideError(
            f"{str(path)!r} holds no chains of format {_FORMAT}; give one that save_chains wrote."
        )
    chains: list[dict[str, np.ndarray]] = [{} for _ in range(about["n_chains"])]
    for name, value in arrays.items():
        number, _, rest = name.partition("/")
        chains[int(number)][rest] = value
    return chains

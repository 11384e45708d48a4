"""Chains of samples, as one safetensors file without pickle and as ArviZ reads them."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from fieldguide._files import write_bytes
from fieldguide.errors import FieldguideError

_FORMAT = 1


def save_chains(path: str | os.PathLike[str], chains: Sequence[Mapping[str, np.ndarray]]) -> None:
    """Write ``chains_`` of a fitted tree, or of an interrupted one, to a file.

    Parameters
    ----------
    path : str or path
    chains : list of dicts of arrays
        ``chains_`` of the tree.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_chains(Path(folder, "a.chains"), [{"log_joint": np.array([-3.5, -2.0])}])
    ...     load_chains(Path(folder, "a.chains"))[0]["log_joint"].tolist()
    [-3.5, -2.0]
    """
    write_bytes(Path(path), pack_chains(chains))


def load_chains(path: str | os.PathLike[str]) -> list[dict[str, np.ndarray]]:
    """Read what :func:`save_chains` wrote, for ``fit(A, resume=...)``.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_chains(Path(folder, "a.chains"), [{"n_nodes": np.array([3, 5])}] * 2)
    ...     chains = load_chains(Path(folder, "a.chains"))
    >>> len(chains), chains[1]["n_nodes"].tolist()
    (2, [3, 5])
    """
    try:
        return unpack_chains(Path(path).read_bytes())
    except FileNotFoundError:
        raise FieldguideError(f"There is no file {str(path)!r}; save the chains first.") from None
    except FieldguideError as error:
        raise FieldguideError(f"{str(path)!r} {error}; give one that save_chains wrote.") from None


def pack_chains(chains: Sequence[Mapping[str, np.ndarray]]) -> bytes:
    """Return chains as the bytes of a safetensors file.

    Examples
    --------
    >>> data = pack_chains([{"n_nodes": np.array([3, 5])}])
    >>> unpack_chains(data)[0]["n_nodes"].tolist()
    [3, 5]
    """
    arrays = {
        f"{i}/{name}": np.ascontiguousarray(value)
        for i, chain in enumerate(chains)
        for name, value in chain.items()
    }
    about = json.dumps({"format": _FORMAT, "n_chains": len(chains)})
    return save(arrays, metadata={"fieldguide.chains": about})


def unpack_chains(data: bytes) -> list[dict[str, np.ndarray]]:
    """Return what :func:`pack_chains` was given; the error is a phrase that follows a name.

    Parameters
    ----------
    data : bytes

    Examples
    --------
    >>> unpack_chains(pack_chains([{"n_nodes": np.array([3, 5])}]))[0]["n_nodes"].tolist()
    [3, 5]
    """
    try:
        arrays = load(data)
    except SafetensorError as error:
        raise FieldguideError(f"is no file of chains ({error})") from None
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    about = json.loads(header.get("__metadata__", {}).get("fieldguide.chains", "{}"))
    if about.get("format") != _FORMAT:
        raise FieldguideError(f"holds no chains of format {_FORMAT}")
    chains: list[dict[str, np.ndarray]] = [{} for _ in range(about["n_chains"])]
    for name, value in arrays.items():
        number, _, rest = name.partition("/")
        chains[int(number)][rest] = value
    return chains


def to_inference_data(trace: Mapping[str, np.ndarray], burn_in: int) -> Any:
    """Return what ArviZ makes of a trace (n_chains, n_draws) of each number.

    The log joint density goes to ``sample_stats`` as ``lp``, everything else to ``posterior``.
    """
    try:
        import arviz
    except ImportError:
        raise FieldguideError(
            "to_arviz needs the package arviz, which is not installed; run "
            "'pip install fieldguide[mcmc]'."
        ) from None
    draws = {name: np.array(values[:, burn_in:]) for name, values in trace.items()}
    groups = {"sample_stats": {"lp": draws.pop("log_joint")}, "posterior": draws}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(groups)
    return arviz.from_dict(**groups)

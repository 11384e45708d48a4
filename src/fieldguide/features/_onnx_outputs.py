"""What the outputs of a network of the user's are: an embedding, classes, a map of places.

    (n, d)        an embedding: ``image_embeds``, ``pooler_output``, or the first without a name
                  that we know; 1000 columns, or ``logits``, are classes
    (n, t, d)     tokens: of patches of the picture, row by row, after the CLS token and registers
    (n, d, h, w)  a map

Of a file with two towers, the part that takes pictures is cut out: what depends on anything else,
such as a text, is left away.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isqrt
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fieldguide.errors import EmbedderError
from fieldguide.features._network_config import Told

N_CLASSES = 1000
_IMAGE = ("image_embeds", "image_embeddings", "image_embedding", "image_features")
_POOLED, _TOKENS, _CLASSES = "pooler_output", "last_hidden_state", "logits"
_MOST_BEFORE = 16  # tokens before those of the patches: CLS, and registers


class Reading(NamedTuple):
    """How the outputs of a network are read."""

    output: str  # that the embedding comes from
    pooling: str  # "" as it is, "cls" or "mean"
    classes: str | None  # the output with ImageNet's classes
    tokens: str | None  # the output that is a map, in tokens
    n_before: int  # tokens before those of the patches
    maps: str | None = None  # the output that is a map, (n, d, h, w)


def keep_image_tower(model: Any, network: str) -> Any:
    """Return a model that takes a picture alone; as it is where it does."""
    constants = {constant.name for constant in model.graph.initializer}
    inputs = [entry for entry in model.graph.input if entry.name not in constants]
    if len(inputs) < 2:
        return model
    images = [each.name for each in inputs if len(each.type.tensor_type.shape.dim) == 4]
    others = [each.name for each in inputs if each.name not in images]
    makers = {name: node for node in model.graph.node for name in node.output if name}
    needs = {output.name: _list_needs([output.name], makers) for output in model.graph.output}
    own = [
        name
        for name, needed in needs.items()
        if needed.isdisjoint(others) and not needed.isdisjoint(images)
    ]
    if len(images) != 1 or not own:
        raise EmbedderError(
            f"The network {network} takes more than a picture ({', '.join(map(_quote, others))}), "
            "and has no output of the picture alone; export the part that looks at pictures."
        )
    needed = _list_needs(own, makers)
    graph = model.graph
    _keep(graph.node, lambda node: any(name in needed for name in node.output))
    _keep(graph.initializer, lambda tensor: tensor.name in needed)
    _keep(graph.input, lambda entry: entry.name in needed)
    _keep(graph.output, lambda entry: entry.name in own)
    return model


def read_outputs(
    outputs: Mapping[str, np.ndarray], told: Told, size_px: int, network: str
) -> Reading:
    """Return how to read the outputs; ``outputs`` are those for one picture of ``size_px``."""
    by_rank = {rank: [n for n, v in outputs.items() if v.ndim == rank] for rank in (2, 3, 4)}
    flat = [name for name in by_rank[2] if outputs[name].shape[1] > 1]
    maps = [name for name in by_rank[4] if 1 < outputs[name].shape[2] == outputs[name].shape[3]]
    pooled = [name for name in by_rank[4] if outputs[name].shape[2:] == (1, 1)]
    classes = [n for n in flat if n == _CLASSES or outputs[n].shape[1] == N_CLASSES]
    is_known = told.is_imagenet and classes and outputs[classes[0]].shape[1] == N_CLASSES
    tokens, n_before = _find_tokens(by_rank[3], outputs, told, size_px, network)
    map_name = _TOKENS if _TOKENS in maps else maps[0] if len(maps) == 1 else None
    others = [name for name in flat if name not in classes]
    preferred = [
        *(name for name in _IMAGE if name in others),
        *(name for name in (_POOLED,) if name in (*others, *pooled)),
        *others,
        *pooled,
        *([tokens] if tokens else []),
        *([map_name] if map_name else []),
        *classes,
    ]
    output = told.output or _find_pooled(told.pooling, preferred, tokens, map_name)
    if output not in outputs or output not in preferred:
        found = "; ".join(f"{name} {list(each.shape)}" for name, each in outputs.items())
        asked = f" called {told.output[:80]!r}" if told.output else ""
        asked += f" for the pooling {told.pooling!r}" if told.pooling else ""
        raise EmbedderError(
            f"The network {network} must give an output{asked} of one row, or of one token for "
            f"each patch, for a picture; it gives {found[:400] or 'nothing'}."
        )
    pooling = ""
    if output == map_name:
        pooling = "mean"
    elif output == tokens:
        pooling = told.pooling or ("cls" if n_before else "mean")
        if pooling == "cls" and not n_before:
            _refuse_pooling(network, tokens)
    is_separate = tokens is not None or map_name is not None
    return Reading(
        output,
        pooling,
        classes[0] if is_known else None,
        tokens,
        n_before,
        map_name if is_separate and tokens is None else None,
    )


def pool(values: np.ndarray, reading: Reading) -> np.ndarray:
    """Return the embeddings in an output, (n, dim) float32."""
    found = np.asarray(values, dtype=np.float32)
    if found.ndim == 3:
        found = found[:, 0] if reading.pooling == "cls" else _mean(found[:, reading.n_before :], 1)
    elif reading.pooling == "mean":
        found = _mean(found, (2, 3))
    return found.reshape(len(found), -1)


def to_cells(tokens: np.ndarray, n_before: int, n_rows: int, n_columns: int) -> np.ndarray:
    """Return tokens as a map, (n, rows, columns, d) float32; ValueError where they are none."""
    cells = np.asarray(tokens, dtype=np.float32)[:, n_before:]
    return np.ascontiguousarray(cells.reshape(len(cells), n_rows, n_columns, -1))


def _find_pooled(
    pooling: str | None, preferred: Sequence[str], tokens: str | None, maps: str | None
) -> str | None:
    """Return the output that is to be pooled so, or the most likely one."""
    if pooling == "pooler":
        return _POOLED if _POOLED in preferred else None
    if pooling == "cls":
        return tokens
    if pooling == "mean":
        return tokens or maps
    return next(iter(preferred), None)


def _find_tokens(
    names: Sequence[str],
    outputs: Mapping[str, np.ndarray],
    told: Told,
    size_px: int,
    network: str,
) -> tuple[str | None, int]:
    """Return the output with a token for each patch, and how many tokens come before those."""
    if told.output in names:
        name = told.output
    elif _TOKENS in names:
        name = _TOKENS
    elif len(names) == 1:
        name = names[0]
    else:
        return None, 0
    assert name is not None
    n_tokens = outputs[name].shape[1]
    sides = [size_px // told.patch_px] if told.patch_px else []
    for side in (*sides, isqrt(n_tokens)):
        n_before = n_tokens - side * side
        if side >= 1 and 0 <= n_before <= _MOST_BEFORE:
            return name, n_before
    if told.output == name or len(outputs) == 1:
        raise EmbedderError(
            f"The network {network} gives {n_tokens} tokens for a picture of {size_px} pixels, "
            "which are no square of patches; give one with a token for each patch."
        )
    return None, 0


def _refuse_pooling(network: str, output: str | None) -> NoReturn:
    raise EmbedderError(
        f"The network {network} has no CLS token before the patches in {output!r}; use the pooling "
        "'mean'."
    )


def _list_needs(names: Iterable[str], makers: Mapping[str, Any]) -> set[str]:
    """Return the values that some depend on, themselves included."""
    needed: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        needed.add(name)
        if name in makers:
            pending += _list_inputs(makers[name])
    return needed


def _list_inputs(node: Any) -> Iterator[str]:
    """Yield the values that a node reads, in the graphs inside it too."""
    pending = [node]
    while pending:
        here = pending.pop()
        yield from (name for name in here.input if name)
        for attribute in here.attribute:
            graphs = [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]
            for graph in graphs:
                pending += graph.node
                yield from (output.name for output in graph.output)


def _keep(entries: Any, is_kept: Any) -> None:
    kept = [each for each in entries if is_kept(each)]
    del entries[:]
    entries.extend(kept)


def _mean(values: np.ndarray, axis: int | tuple[int, int]) -> np.ndarray:
    mean: np.ndarray = values.mean(axis=axis, dtype=np.float32)
    return mean


def _quote(name: str) -> str:
    return repr(name[:40])

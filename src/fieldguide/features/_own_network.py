"""Open a network of the user's: what it takes, what it gives, whether it has a map of places.

What a network declares is not relied on: it looks at a picture of one colour, and at noise, and
what comes out says how it is read.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fieldguide.errors import EmbedderError
from fieldguide.features._network_config import Told, read_told
from fieldguide.features._onnx_file import (
    check_batch,
    check_outputs,
    check_size,
    first_line,
    read_graph,
    run_session,
)
from fieldguide.features._onnx_outputs import (
    keep_image_tower,
    pool,
    read_outputs,
    to_cells,
)
from fieldguide.features._preparation import Preparation

USUAL_PX = 224
_TYPES: dict[str, np.dtype[Any]] = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(float16)": np.dtype(np.float16),
    "tensor(uint8)": np.dtype(np.uint8),
}
_TRANSFORMERS = "pixel_values"  # what transformers calls a picture


class Input(NamedTuple):
    """How a network takes pictures."""

    name: str
    size_px: int | None  # None: of any size
    channels_first: bool
    dtype: np.dtype[Any]
    one_by_one: bool


class Cells(NamedTuple):
    """Where the map of a network comes from."""

    output: str
    n_before: int | None  # of tokens; None for a map of channels
    stride_px: int
    only_px: int | None  # the one size of pictures that it can be had of


class OwnNetwork:
    """A network of the user's, ready to run.

    Attributes
    ----------
    name : str
        Of the file, with a digest of what it holds and of how it is shown pictures.
    preparation : Preparation
    reading : Reading
    cells : Cells or None
    is_mean : bool
        Whether the embedding is the mean of the cells.
    head_names : tuple of str
        Outputs that may be weight and bias of the last layer.
    about : str
        One sentence that says how pictures are shown to it and what is read.
    graph : bytes
        What the session was opened with.
    """

    def __init__(self, path: Path) -> None:
        graph, told = read_graph(path), read_told(path)
        self.name = f"{path.name} ({_digest(graph, told)})"
        self._file, self._told = str(path), told
        model = _load_tower(graph, repr(self._file))
        self.graph = graph if model is None else model.SerializeToString()
        self.session = open_session(self.graph, path)
        self.input = _check_input(self.session.get_inputs(), self._file)
        self.preparation = _choose_preparation(told, self.input, self._file)
        blank = np.zeros((1, *[self.preparation.size_px] * 2, 3), dtype=np.uint8)
        known = [output.name for output in self.session.get_outputs()]
        found = dict(zip(known, self.run(known, blank), strict=True))
        for name, value in found.items():
            if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
                del known[known.index(name)]
        arrays = {name: found[name] for name in known}
        self.reading = read_outputs(arrays, told, self.preparation.size_px, repr(self._file))
        self.head_names: tuple[str, ...] = ()
        self.cells: Cells | None = None
        self.is_mean = False
        names = [self.reading.output, *filter(None, [self.reading.classes])]
        check_outputs([arrays[name] for name in names], 1, self.name)
        if model is not None:
            self._find_map(model)
        n = self.embed(arrays[self.reading.output]).shape[1]
        self.about = self._tell(n)

    def run(self, names: Sequence[str], pixels: np.ndarray) -> list[Any]:
        """Return outputs for a batch, one picture after the other where the network asks for it."""
        parts = np.split(pixels, len(pixels)) if self.input.one_by_one else [pixels]
        found = [
            run_session(self.session, names, {self.input.name: self._to_batch(part)}, self.name)
            for part in parts
        ]
        if len(found) == 1:
            return found[0]
        return [np.concatenate(each) for each in zip(*found, strict=True)]

    def embed(self, values: np.ndarray) -> np.ndarray:
        """Return the embeddings in the output that they come from, (n, dim) float32."""
        rows = pool(values, self.reading)
        if not self._told.normalize:
            return rows
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        scaled: np.ndarray = rows / np.maximum(length, np.float32(1e-12))
        return scaled

    def read_cells(self, values: np.ndarray, n_rows: int, n_columns: int) -> np.ndarray:
        """Return the map in the output that it comes from, (n, rows, columns, channels)."""
        assert self.cells is not None
        return _read_cells(values, self.cells, n_rows, n_columns)

    def _to_batch(self, pixels: np.ndarray) -> np.ndarray:
        batch: np.ndarray = pixels
        if self.input.dtype != np.uint8:
            batch = self.preparation.scale(pixels).astype(self.input.dtype, copy=False)
        return (
            np.ascontiguousarray(batch.transpose(0, 3, 1, 2))
            if self.input.channels_first
            else batch
        )

    def _find_map(self, model: Any) -> None:
        """Open the network for pictures of any size, or of its own, with its last map as output."""
        output, n_before = self._choose_map(model)
        if output is None:
            return
        plain, head = self.session, _list_head(model)
        for is_free in (True, False):
            try:
                extended = _extend(model, [output, *head], self.input if is_free else None)
                self.session = open_session(extended, self._file)
                self.cells, self.is_mean = self._try_map(output, n_before, is_free=is_free)
            except Exception:  # what onnxruntime raises is a matter of the file
                continue
            self.head_names, self.graph = head, extended
            return
        self.session = plain

    def _choose_map(self, model: Any) -> tuple[str | None, int | None]:
        """Return the output that is a map, and how many tokens come before those of patches."""
        if self.reading.tokens is not None:
            return self.reading.tokens, self.reading.n_before
        if self.reading.maps is not None:
            return self.reading.maps, None
        pools = [node for node in model.graph.node if node.op_type == "GlobalAveragePool"]
        return (pools[-1].input[0] if pools else None), None

    def _try_map(self, output: str, n_before: int | None, *, is_free: bool) -> tuple[Cells, bool]:
        """Return the map and whether its mean is the embedding; an error where there is none."""
        side = self.preparation.size_px
        noise = np.random.default_rng(0).integers(0, 256, (1, side, side, 3), dtype=np.uint8)
        said, values = self.run([self.reading.output, output], noise)
        n_cells = values.shape[1] - n_before if n_before is not None else values.shape[2] ** 2
        n_rows = round(n_cells**0.5)
        stride = side // n_rows
        found = Cells(output, n_before, stride, None if is_free else side)
        cells = _read_cells(values, found, n_rows, n_rows)
        if is_free:
            found = self._try_stride(found, {stride, 2 ** int(np.ceil(np.log2(side / n_rows)))})
        elif n_rows < 2:
            raise ValueError("one cell is no map")
        mean, embedding = cells.mean(axis=(1, 2)), self.embed(said)
        is_mean = mean.shape == embedding.shape and np.allclose(
            mean, embedding, rtol=1e-3, atol=1e-4 * float(np.abs(mean).max())
        )
        return found, bool(is_mean)

    def _try_stride(self, cells: Cells, strides: set[int]) -> Cells:
        """Return the map with the stride that pictures of another size bear out."""
        for stride in sorted(strides):
            wide = np.zeros((1, 2 * stride, 9 * stride, 3), dtype=np.uint8)
            try:
                (values,) = self.run([cells.output], wide)
                if _read_cells(values, cells, 2, 9).shape[1:3] == (2, 9):
                    return cells._replace(stride_px=stride)
            except (EmbedderError, ValueError):
                continue
        raise ValueError("the map is of one size")

    def _tell(self, n_numbers: int) -> str:
        told, reading = self._told, self.reading
        source = f"as {told.source} says" if told.source else "as for ImageNet, as no file says how"
        pooled = {"": "", "cls": "the CLS token of ", "mean": "the mean of "}[reading.pooling]
        length = ", scaled to length 1" if told.normalize else ""
        parts = [
            f"{self.preparation.tell()} ({source})",
            f"{n_numbers:,} numbers are {pooled}{reading.output!r}{length}",
        ]
        if self.cells is None:
            parts.append("there is no map of places, and no second look")
        else:
            n = self.preparation.size_px // self.cells.stride_px
            is_free = self.cells.only_px is None
            size = "of pictures of any size" if is_free else f"of {n} × {n} cells"
            parts.append(f"its map for the second look is {size}")
        about = "; ".join(parts)
        return f"{about[0].upper()}{about[1:]}."


def open_session(graph: bytes, network: Any) -> Any:
    """Open a graph in onnxruntime; EmbedderError where that refuses it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread per run: batches run side by side in threads of ours, which is faster than
    # splitting each operator, and the answer does not depend on how many there are.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"], enable_fallback=0
        )
    except Exception as error:
        raise EmbedderError(
            f"The network {str(network)!r} cannot be run ({first_line(error)}); give an ONNX file "
            "that onnxruntime can read."
        ) from None


def _digest(graph: bytes, told: Told) -> str:
    digest = hashlib.sha256(graph)
    if told.source:  # without, the name is that of earlier versions
        digest.update(repr((told.preparation, told.output, told.pooling, told.normalize)).encode())
    return digest.hexdigest()[:12]


def _load_tower(graph: bytes, network: str) -> Any:
    """Return the part of a model that takes pictures; None where onnx cannot read it."""
    import onnx

    try:
        model = onnx.load_from_string(graph)
    except Exception:  # whoever runs it says what is wrong
        return None
    return keep_image_tower(model, network)


def _check_input(inputs: Sequence[Any], network: str) -> Input:
    shape = inputs[0].shape if len(inputs) == 1 else []
    dtype = _TYPES.get(inputs[0].type) if inputs else None
    if len(shape) == 4 and dtype is not None:
        for channels_first, channel, side in ((True, 1, 2), (False, 3, 1)):
            # A free number of channels, which transformers writes, comes first.
            is_free = channels_first and not isinstance(shape[1], int) and shape[3] != 3
            if shape[channel] == 3 or is_free:
                size = check_size(shape, side, 0, network) or None
                one_by_one = check_batch(shape[0], network)
                return Input(inputs[0].name, size, channels_first, dtype, one_by_one)
    found = "; ".join(f"{i.name} {i.type} {i.shape}" for i in inputs)
    raise EmbedderError(
        f"The network {network!r} must take one image input of shape (n, 3, h, w) or "
        f"(n, h, w, 3), float32, float16 or uint8; it takes {found or 'nothing'}."
    )


def _choose_preparation(told: Told, wanted: Input, network: str) -> Preparation:
    """Return how pictures are shown; EmbedderError where that is not known, or does not fit."""
    if told.preparation is None:
        if wanted.name == _TRANSFORMERS and wanted.dtype != np.uint8:
            raise EmbedderError(
                f"The network {network!r} takes {_TRANSFORMERS!r}, as transformers writes them, "
                "and nothing beside it says how pictures are shown to it; put its "
                "preprocessor_config.json or open_clip_config.json into the same folder."
            )
        return Preparation(wanted.size_px or USUAL_PX)
    if wanted.size_px not in (None, told.preparation.size_px):
        raise EmbedderError(
            f"The network {network!r} takes pictures of {wanted.size_px} pixels and {told.source} "
            f"says {told.preparation.size_px}; put the file of this very network beside it."
        )
    return told.preparation


def _list_head(model: Any) -> tuple[str, ...]:
    """Return the names of weight and bias of the last layer, if that is linear."""
    layers = [node.input[1:] for node in model.graph.node if node.op_type == "Gemm"]
    constants = {constant.name for constant in model.graph.initializer}
    head = tuple(layers[-1]) if layers and len(layers[-1]) == 2 else ()
    return head if constants.issuperset(head) else ()


def _extend(model: Any, names: Sequence[str], freed: Input | None) -> bytes:
    """Return a model with more outputs; with ``freed`` for pictures of any size."""
    import onnx
    from onnx import helper

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    if freed is not None:
        (given,) = (entry for entry in copy.graph.input if entry.name == freed.name)
        first = 2 if freed.channels_first else 1
        for axis, name in ((first, "height"), (first + 1, "width")):
            given.type.tensor_type.shape.dim[axis].dim_param = name
        del copy.graph.value_info[:]
        for output in copy.graph.output:
            if len(output.type.tensor_type.shape.dim) > 2:
                output.type.tensor_type.ClearField("shape")
    known = [output.name for output in copy.graph.output]
    for name in (name for name in names if name not in known):
        copy.graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    content: bytes = copy.SerializeToString()
    return content


def _read_cells(values: np.ndarray, cells: Cells, n_rows: int, n_columns: int) -> np.ndarray:
    if cells.n_before is not None:
        return to_cells(values, cells.n_before, n_rows, n_columns)
    maps = np.asarray(values, dtype=np.float32)
    return np.ascontiguousarray(maps.transpose(0, 2, 3, 1))

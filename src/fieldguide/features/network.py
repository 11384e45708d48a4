"""Run a network on pictures: the built-in one, or any ONNX file of the user's.

A :class:`Network` takes batches of square uint8 RGB pictures and gives an embedding, and class
logits where the network has them. It holds no picture and no state: threads may share it.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide._files import cache_folder, write_bytes
from fieldguide.errors import EmbedderError
from fieldguide.features import _efficientnet, _efficientnet_trace
from fieldguide.features._onnx_file import (
    check_batch,
    check_outputs,
    check_size,
    first_line,
    read_graph,
    run_session,
)

# What torchvision's and timm's ImageNet models expect: the usual convention of an ONNX export.
_MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
_STD = np.array([0.229, 0.224, 0.225], dtype=np.float32)
CROP = 0.875  # the network sees 224 of 256 pixels: the margin of the picture is left out
N_CLASSES = 1000

Box = tuple[float, float, float, float]

WHOLE: dict[str, Box] = {"whole": (0.0, 0.0, 1.0, 1.0)}
# "Features in Concert" names the six windows but prints no coordinates: ours cover 0.6 of each
# side, so that the corners overlap by a fifth and an object in the middle is never cut by all.
SIX: dict[str, Box] = {
    **WHOLE,
    "centre": (0.2, 0.2, 0.8, 0.8),
    "top-left": (0.0, 0.0, 0.6, 0.6),
    "top-right": (0.4, 0.0, 1.0, 0.6),
    "bottom-left": (0.0, 0.4, 0.6, 1.0),
    "bottom-right": (0.4, 0.4, 1.0, 1.0),
}
WINDOWS = {"whole": WHOLE, "six": SIX}


class Outputs(NamedTuple):
    """What a network says of a batch."""

    embedding: np.ndarray  # (n, dim) float32
    logits: np.ndarray | None  # (n, 1000) float32, or None
    cells: np.ndarray | None = None  # (n, rows, columns, channels) float32, where asked for
    # (n, channels, 2 rows, 2 columns) float32, with the cells: the map that they are led back to
    finer: np.ndarray | None = None


def find_square(box: Box, width: float, height: float) -> tuple[float, float, float]:
    """Return left, top and side, in pixels, of what the network sees of a window of a picture."""
    x0, y0, x1, y1 = box
    wide, tall = (x1 - x0) * width, (y1 - y0) * height
    side = min(wide, tall) * CROP
    return x0 * width + (wide - side) / 2, y0 * height + (tall - side) / 2, side


def find_area(box: Box, width: float, height: float) -> Box:
    """Return what the network sees of a window, in shares of the picture's sides: a square."""
    left, top, side = find_square(box, width, height)
    return left / width, top / height, (left + side) / width, (top + side) / height


class Network:
    """A network ready to run.

    Parameters
    ----------
    embedder : path, optional
        An ONNX file with one image input, (n, 3, h, w) or (n, h, w, 3), float32 or uint8, and
        an output of shape (n, dim). Float inputs get pixels scaled by ImageNet's mean and
        standard deviation. An output of 1000 columns, or named ``logits``, is read as ImageNet
        logits; the first other one is the embedding. The built-in network when None.

    Attributes
    ----------
    name : str
    size_px : int
        Side of the square that it was made for.
    has_logits : bool
    stride_px : int or None
        Side of what one cell of its last map stands for. None where there is no map to be had:
        the network has no global average pooling, or takes pictures of one size alone.
    is_mean : bool
        Whether the embedding is the mean of the cells.
    has_finer : bool
        Whether what is said of its cells can be led back to a finer map (:meth:`trace`).
    head : (weight, bias) or None
        Of the layer that leads from the mean of the cells to the logits, where this is all there
        is between them: it reads any other mean of cells too.
    """

    def __init__(self, embedder: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(embedder, str | os.PathLike | None):
            raise EmbedderError(f"embedder must be the path of an ONNX file; got {embedder!r}.")
        graph = builtin_graph() if embedder is None else read_graph(Path(embedder))
        self._session, self._cells = _open_session(graph, embedder), _efficientnet.CELLS
        self._head: Sequence[str] = _efficientnet.HEAD
        self._input = _check_input(self._session.get_inputs(), embedder)
        outputs = self._session.get_outputs()
        if embedder is None:
            self.name = f"EfficientNet-Lite0 (graph {_efficientnet.GRAPH_VERSION})"
            further = (self._cells, _efficientnet.FINER, *self._head)
            outputs = [o for o in outputs if o.name not in further]
        else:
            self.name = f"{Path(embedder).name} ({hashlib.sha256(graph).hexdigest()[:12]})"
            opened = _open_with_cells(graph, self._input) or (self._session, "", ())
            self._session, self._cells, self._head = opened
        embedding, logits = _find_outputs(outputs, embedder)
        self._output_names = [embedding] + ([logits] if logits else [])
        self.has_logits = logits is not None
        self.has_finer = embedder is None
        self.size_px = self._input.size_px
        self._is_own = embedder is not None
        self.stride_px: int | None = None
        self.is_mean = False
        if embedder is None:
            self.stride_px, self.is_mean = _efficientnet.STRIDE_PX, True
            return
        side = self.size_px
        self.run(np.zeros((1, side, side, 3), dtype=np.uint8))  # refuses what cannot be used
        if self._cells:
            self.stride_px, self.is_mean = self._try_cells()

    def run(self, pixels: np.ndarray, *, cells: bool = False) -> Outputs:
        """Return the outputs for a batch, uint8 of shape (n, size_px, size_px, 3).

        With ``cells``, for a network with a map, the map too, at no further cost.
        """
        finer = [_efficientnet.FINER] if self.has_finer else []
        names = [*self._output_names, *([self._cells, *finer] if cells else [])]
        values = self._run(names, pixels)
        if self._is_own:
            check_outputs(values, len(pixels), self.name)
        said = dict(zip(names, values, strict=True))
        embedding = np.asarray(values[0], dtype=np.float32).reshape(len(pixels), -1)
        logits = values[1] if self.has_logits else None
        seen = _channels_last(said[self._cells]) if cells else None
        return Outputs(embedding, logits, seen, said.get(_efficientnet.FINER))

    def _run(self, names: Sequence[str], pixels: np.ndarray) -> list[Any]:
        """Return outputs for a batch, one picture after the other where the network asks for it."""
        name = self._input.name
        if not self._is_own:
            return self._session.run(names, {name: _to_batch(pixels, self._input)})
        parts = np.split(pixels, len(pixels)) if self._input.one_by_one else [pixels]
        found = [
            run_session(self._session, names, {name: _to_batch(part, self._input)}, self.name)
            for part in parts
        ]
        return (
            found[0]
            if len(found) == 1
            else [np.concatenate(each) for each in zip(*found, strict=True)]
        )

    def map(self, pixels: np.ndarray) -> np.ndarray:
        """Return what the network sees at each place: (n, rows, columns, channels) float32.

        ``pixels`` are uint8 of shape (n, height, width, 3); height and width may be any multiples
        of ``stride_px``. EmbedderError for a network without a map.
        """
        if self.stride_px is None:
            raise EmbedderError(
                f"The network {self.name} has no map of places that can be had; give one with a "
                "global average pooling that takes pictures of any size, or none."
            )
        return self._run_cells(pixels)

    def trace(self, finer: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """Return where in a finer map a weighed sum of cells comes from: (n, 2 rows, 2 columns).

        ``finer`` is that of :class:`Outputs`; ``pull`` has the cells' shape. The answer sums to
        Σ pull · cells, but for a constant that has no place. For a network that ``has_finer``.
        """
        channels_first = np.ascontiguousarray(pull.transpose(0, 3, 1, 2), dtype=np.float32)
        inputs = {_efficientnet.FINER: finer, _efficientnet_trace.PULL: channels_first}
        (field,) = self._tracer.run([_efficientnet_trace.FIELD], inputs)
        return np.asarray(field, dtype=np.float64)

    @cached_property
    def _tracer(self) -> Any:
        return _open_session(_keep_graph("trace", _efficientnet_trace.build_graph), None)

    @cached_property
    def head(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Weight, (dim, n_classes), and bias of the last layer, by trying."""
        if not (self.is_mean and self.has_logits and self._head):
            return None
        side = self.size_px
        noise = np.random.default_rng(1).integers(0, 256, (1, side, side, 3), dtype=np.uint8)
        names = [*self._output_names, *self._head]
        embedding, logits, weight, bias = self._run(names, noise)
        embedding = embedding.reshape(1, -1)
        if weight.shape != (embedding.shape[1], logits.shape[1]):
            weight = weight.T
        if weight.shape != (embedding.shape[1], logits.shape[1]):
            return None
        is_all = np.allclose(embedding @ weight + bias, logits, rtol=1e-3, atol=1e-3)
        return (weight, bias) if is_all else None

    def crop(self, image: Image.Image, box: Box = WHOLE["whole"]) -> np.ndarray:
        """Return a window of an RGB picture at the network's size, uint8.

        The window is scaled so that its shorter side is 256/224 of the network's size, and the
        centre is kept. One resampling does both.
        """
        left, top, side = find_square(box, *image.size)
        resized = image.resize(
            (self.size_px, self.size_px),
            Image.Resampling.BICUBIC,
            box=(left, top, left + side, top + side),
            reducing_gap=2.0,
        )
        return np.asarray(resized)

    def _run_cells(self, pixels: np.ndarray) -> np.ndarray:
        return _channels_last(self._run([self._cells], pixels)[0])

    def _try_cells(self) -> tuple[int | None, bool]:
        """Return the stride of the map and whether its mean is the embedding, by trying."""
        side = self.size_px
        noise = np.random.default_rng(0).integers(0, 256, (1, side, side, 3), dtype=np.uint8)
        try:
            outputs = self.run(noise, cells=True)
            assert outputs.cells is not None
            stride = side // outputs.cells.shape[1]
            wide = np.zeros((1, 2 * stride, 3 * stride, 3), dtype=np.uint8)
            takes_any = self._run_cells(wide).shape[1:3] == (2, 3)
        except Exception:  # what onnxruntime raises is a matter of the file
            return None, False
        mean = outputs.cells.mean(axis=(1, 2))
        is_mean = mean.shape == outputs.embedding.shape and np.allclose(
            mean, outputs.embedding, rtol=1e-3, atol=1e-4 * float(np.abs(mean).max())
        )
        return (stride, is_mean) if takes_any else (None, False)


def fit_grid(size: tuple[int, int], n_longest: int) -> tuple[int, int]:
    """Return rows and columns of the grid of nearly square cells that covers a picture.

    >>> fit_grid((400, 300), 12), fit_grid((1, 1000), 12)
    ((9, 12), (12, 2))
    """
    width, height = size
    cell = max(width, height) / n_longest
    return max(2, round(height / cell)), max(2, round(width / cell))


class _Input(NamedTuple):
    name: str
    size_px: int
    channels_first: bool
    is_uint8: bool
    one_by_one: bool = False


def _to_batch(pixels: np.ndarray, wanted: _Input) -> np.ndarray:
    """Return uint8 pixels (n, h, w, 3) as the network takes them."""
    batch: np.ndarray = pixels
    if not wanted.is_uint8:
        batch = (pixels.astype(np.float32) / 255 - _MEAN) / _STD
    if wanted.channels_first:
        batch = np.ascontiguousarray(batch.transpose(0, 3, 1, 2))
    return batch


def _channels_last(maps: Any) -> np.ndarray:
    return np.ascontiguousarray(np.asarray(maps, dtype=np.float32).transpose(0, 2, 3, 1))


def _open_with_cells(graph: bytes, own: _Input) -> tuple[Any, str, tuple[str, ...]] | None:
    """Open a user's network for pictures of any size, with its last map as one more output.

    Returns the session, the name of that output, and the names of weight and bias of the last
    layer, if that is linear, which are outputs too; None where there is no map.
    """
    import onnx
    from onnx import helper

    model = onnx.load_from_string(graph)
    pools = [node for node in model.graph.node if node.op_type == "GlobalAveragePool"]
    if not pools:
        return None
    (given,) = (entry for entry in model.graph.input if entry.name == own.name)
    first = 2 if own.channels_first else 1
    for axis, name in ((first, "height"), (first + 1, "width")):
        given.type.tensor_type.shape.dim[axis].dim_param = name
    cells = pools[-1].input[0]
    layers = [node.input[1:] for node in model.graph.node if node.op_type == "Gemm"]
    constants = {constant.name for constant in model.graph.initializer}
    head = tuple(layers[-1]) if layers and len(layers[-1]) == 2 else ()
    head = head if constants.issuperset(head) else ()
    del model.graph.value_info[:]
    known = [output.name for output in model.graph.output]
    for name in (name for name in (cells, *head) if name not in known):
        value = helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        model.graph.output.append(value)
    try:
        return _open_session(model.SerializeToString(), own.name), cells, head
    except EmbedderError:
        return None


def builtin_graph() -> bytes:
    """Return the built-in graph from the cache folder, building it the first time."""
    return _keep_graph("", _efficientnet.build_graph)


def _keep_graph(part: str, build: Callable[[], bytes]) -> bytes:
    name = "-".join(filter(None, ("efficientnet-lite0", part, str(_efficientnet.FILE_VERSION))))
    path = cache_folder() / f"{name}.onnx"
    check = path.with_suffix(".sha256")
    try:
        graph = path.read_bytes()
        if hashlib.sha256(graph).hexdigest() == check.read_text().strip():
            return graph
    except OSError:
        pass
    graph = build()
    try:
        write_bytes(path, graph)
        write_bytes(check, hashlib.sha256(graph).hexdigest().encode())
    except OSError:
        pass  # a cache that cannot be written costs a second next time, nothing more
    return graph


def _open_session(graph: bytes, embedder: Any) -> Any:
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
            f"The network {str(embedder)!r} cannot be run ({first_line(error)}); give an ONNX file "
            "that onnxruntime can read."
        ) from None


def _check_input(inputs: list[Any], embedder: Any) -> _Input:
    shape = inputs[0].shape if len(inputs) == 1 else []
    is_uint8 = bool(inputs) and inputs[0].type == "tensor(uint8)"
    if len(shape) == 4 and (is_uint8 or inputs[0].type == "tensor(float)"):
        for channels_first, channel, side in ((True, 1, 2), (False, 3, 1)):
            if shape[channel] == 3:
                size = check_size(shape, side, _efficientnet.SIZE_PX, embedder)
                one_by_one = check_batch(shape[0], embedder)
                return _Input(inputs[0].name, size, channels_first, is_uint8, one_by_one)
    found = "; ".join(f"{i.name} {i.type} {i.shape}" for i in inputs)
    raise EmbedderError(
        f"The network {str(embedder)!r} must take one image input of shape (n, 3, h, w) or "
        f"(n, h, w, 3), float32 or uint8; it takes {found or 'nothing'}."
    )


def _find_outputs(outputs: list[Any], embedder: Any) -> tuple[str, str | None]:
    """Return the names of the embedding and of the ImageNet logits."""
    logits = [
        o.name for o in outputs if o.name == "logits" or (o.shape and o.shape[-1] == N_CLASSES)
    ]
    others = [
        o.name for o in outputs if o.name not in logits and o.shape and len(o.shape) in (2, 4)
    ]
    if not others and not logits:
        raise EmbedderError(
            f"The network {str(embedder)!r} must give an output of shape (n, dim); it gives "
            f"{', '.join(o.name for o in outputs) or 'nothing'}."
        )
    return (others or logits)[0], (logits[0] if logits else None)

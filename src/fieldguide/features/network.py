"""Run a network on pictures: the built-in one, or any ONNX file of the user's.

A :class:`Network` takes batches of square uint8 RGB pictures and gives an embedding, and class
logits where the network has them. It holds no picture and no state: threads may share it.
"""

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide._files import cache_folder, write_bytes
from fieldguide.errors import EmbedderError
from fieldguide.features import _efficientnet

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


def find_square(box: Box, width: float, height: float) -> tuple[float, float, float]:
    """Return left, top and side, in pixels, of what the network sees of a window of a picture."""
    x0, y0, x1, y1 = box
    wide, tall = (x1 - x0) * width, (y1 - y0) * height
    side = min(wide, tall) * CROP
    return x0 * width + (wide - side) / 2, y0 * height + (tall - side) / 2, side


class Network:
    """A network ready to run.

    Parameters
    ----------
    embedder : path, optional
        An ONNX file with one image input, (n, 3, h, w) or (n, h, w, 3), float32 or uint8, and
        an output of shape (n, dim). Float inputs get pixels scaled by ImageNet's mean and
        standard deviation. An output of 1000 columns, or named ``logits``, is read as ImageNet
        logits; the first other one is the embedding. The built-in network when None.
    """

    def __init__(self, embedder: str | os.PathLike | None = None) -> None:
        graph = _builtin_graph() if embedder is None else _read_graph(Path(embedder))
        self._session = _open_session(graph, embedder)
        self._input = _check_input(self._session.get_inputs(), embedder)
        embedding, logits = _find_outputs(self._session.get_outputs(), embedder)
        self._output_names = [embedding] + ([logits] if logits else [])
        self.has_logits = logits is not None
        self.size_px = self._input.size_px
        if embedder is None:
            self.name = f"EfficientNet-Lite0 (graph {_efficientnet.GRAPH_VERSION})"
        else:
            self.name = f"{Path(embedder).name} ({hashlib.sha256(graph).hexdigest()[:12]})"

    def run(self, pixels: np.ndarray) -> Outputs:
        """Return the outputs for a batch, uint8 of shape (n, size_px, size_px, 3)."""
        batch = _to_batch(pixels, self._input)
        values = self._session.run(self._output_names, {self._input.name: batch})
        embedding = np.asarray(values[0], dtype=np.float32).reshape(len(pixels), -1)
        return Outputs(embedding, values[1] if self.has_logits else None)

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


class MapNetwork:
    """A network cut before its pooling: what it sees at each place of a picture.

    Parameters
    ----------
    embedder : path, optional
        An ONNX file as for :class:`Network`, with a global average pooling after its last map.
        The built-in network when None.
    size_px : int, optional
        Side of the square that it is run on, for networks of convolutions alone: a larger one
        gives a finer map. The network's own by default.
    """

    def __init__(
        self, embedder: str | os.PathLike | None = None, size_px: int | None = None
    ) -> None:
        graph = _builtin_graph() if embedder is None else _read_graph(Path(embedder))
        own = _check_input(_open_session(graph, embedder).get_inputs(), embedder)
        self._session = _open_session(_cut_before_pooling(graph, own, size_px, embedder), embedder)
        self._input = own
        self.size_px = size_px or own.size_px

    def run(self, pixels: np.ndarray) -> np.ndarray:
        """Return the maps of a batch, (n, rows, columns, channels), from uint8 (n, s, s, 3)."""
        batch = _to_batch(pixels, self._input)
        (maps,) = self._session.run(None, {self._input.name: batch})
        return np.ascontiguousarray(np.asarray(maps, dtype=np.float32).transpose(0, 2, 3, 1))


class _Input(NamedTuple):
    name: str
    size_px: int
    channels_first: bool
    is_uint8: bool


def _to_batch(pixels: np.ndarray, wanted: _Input) -> np.ndarray:
    """Return uint8 pixels (n, h, w, 3) as the network takes them."""
    batch: np.ndarray = pixels
    if not wanted.is_uint8:
        batch = (pixels.astype(np.float32) / 255 - _MEAN) / _STD
    if wanted.channels_first:
        batch = np.ascontiguousarray(batch.transpose(0, 3, 1, 2))
    return batch


def _cut_before_pooling(graph: bytes, own: _Input, size_px: int | None, embedder: Any) -> bytes:
    """Return the graph with the input of its last global pooling as its only output."""
    import onnx
    from onnx import helper

    model = onnx.load_from_string(graph)
    pools = [node for node in model.graph.node if node.op_type == "GlobalAveragePool"]
    if not pools:
        raise EmbedderError(
            f"The network {str(embedder)!r} has no global average pooling, so there is no map of "
            "places to be had from it; give another ONNX file, or none."
        )
    if size_px is not None:
        (given,) = (entry for entry in model.graph.input if entry.name == own.name)
        for axis in (2, 3) if own.channels_first else (1, 2):
            given.type.tensor_type.shape.dim[axis].dim_value = size_px
    cut = helper.make_tensor_value_info(pools[-1].input[0], onnx.TensorProto.FLOAT, None)
    del model.graph.output[:], model.graph.value_info[:]
    model.graph.output.append(cut)
    return model.SerializeToString()


def _builtin_graph() -> bytes:
    """Return the built-in graph from the cache folder, building it the first time."""
    name = f"efficientnet-lite0-{_efficientnet.GRAPH_VERSION}.onnx"
    path = cache_folder() / name
    check = path.with_suffix(".sha256")
    try:
        graph = path.read_bytes()
        if hashlib.sha256(graph).hexdigest() == check.read_text().strip():
            return graph
    except OSError:
        pass
    graph = _efficientnet.build_graph()
    try:
        write_bytes(path, graph)
        write_bytes(check, hashlib.sha256(graph).hexdigest().encode())
    except OSError:
        pass  # a cache that cannot be written costs a second next time, nothing more
    return graph


def _read_graph(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EmbedderError(
            f"The network {str(path)!r} cannot be opened: {error.strerror}; give an ONNX file."
        ) from None


def _open_session(graph: bytes, embedder: Any) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread per run: batches run side by side in threads of ours, which is faster than
    # splitting each operator, and the answer does not depend on how many there are.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = str(error).strip().splitlines()[0][:160]
        raise EmbedderError(
            f"The network {str(embedder)!r} cannot be run ({reason}); give an ONNX file "
            "that onnxruntime can read."
        ) from None


def _check_input(inputs: list, embedder: Any) -> _Input:
    shape = inputs[0].shape if len(inputs) == 1 else []
    is_uint8 = bool(inputs) and inputs[0].type == "tensor(uint8)"
    if len(shape) == 4 and (is_uint8 or inputs[0].type == "tensor(float)"):
        for channels_first, channel, side in ((True, 1, 2), (False, 3, 1)):
            if shape[channel] == 3:
                size = shape[side] if isinstance(shape[side], int) else _efficientnet.SIZE_PX
                return _Input(inputs[0].name, size, channels_first, is_uint8)
    found = "; ".join(f"{i.name} {i.type} {i.shape}" for i in inputs)
    raise EmbedderError(
        f"The network {str(embedder)!r} must take one image input of shape (n, 3, h, w) or "
        f"(n, h, w, 3), float32 or uint8; it takes {found or 'nothing'}."
    )


def _find_outputs(outputs: list, embedder: Any) -> tuple[str, str | None]:
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

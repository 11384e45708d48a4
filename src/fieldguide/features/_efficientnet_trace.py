"""Lead what is said of the cells of an EfficientNet-Lite back to a finer map that they come from.

Every layer between the two maps is linear but for ReLU6, which passes a value on or stands still.
Around a given picture the cells M are therefore a linear function of the finer map h, and for any
weights ``pull``

    F = Σ_u pull(u) · M(u) = Σ_v field(v) + constant,    field(v) = h(v) · ∂F / ∂h(v),

exactly. The constant holds the biases and the values that stand still at 6: they have no place.

Inputs ``finer`` (n, channels, 2 rows, 2 columns) and ``pull`` (n, 1280, rows, columns); output
``field`` (n, 2 rows, 2 columns).
"""

from typing import Any

import numpy as np

from fieldguide.features._efficientnet import (
    CELLS,
    EMBEDDING_DIM,
    FINER,
    LITE0,
    Convolution,
    Graph,
    Variant,
    list_blocks,
    open_graph,
)

PULL, FIELD = "pull", "field"


def build_graph(variant: Variant = LITE0) -> bytes:
    """Return the serialised ONNX graph."""
    from onnx import TensorProto, helper

    graph = open_graph(variant)
    x = FINER
    for block in list_blocks(variant):
        if block.number > variant.finer_block:
            x = graph.add_block(x, block)
    graph.add_head(x)
    slope = add_slope(graph)
    axis = graph.constant(np.array([1], dtype=np.int64))
    graph.add("ReduceSum", [graph.add("Mul", [slope, FINER]), axis], FIELD, keepdims=0)
    shapes: dict[str, list[Any]] = {
        FINER: ["n", variant.finer_dim, "finer_rows", "finer_columns"],
        PULL: ["n", EMBEDDING_DIM, "rows", "columns"],
    }
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    return graph.serialise(inputs, {FIELD: ["n", "finer_rows", "finer_columns"]})


def add_slope(graph: Graph) -> str:
    """Add the way back from the cells, weighed by ``pull``, to the finer map; return its name."""
    slopes = {CELLS: PULL}

    def put(name: str, slope: str) -> None:
        slopes[name] = graph.add("Add", [slopes[name], slope]) if name in slopes else slope

    for layer in reversed(graph.layers.copy()):
        slope = slopes[layer.y]
        if isinstance(layer, Convolution):
            put(layer.x, _lead_back(graph, layer, slope))
        else:
            put(layer.x, slope)
            put(layer.branch, slope)
    return slopes[FINER]


def _lead_back(graph: Graph, layer: Convolution, slope: str) -> str:
    from onnx import TensorProto

    if layer.y != layer.before:  # clipped
        lowest, highest = graph.bounds
        is_above = graph.add("Greater", [layer.before, lowest])
        is_moving = graph.add("And", [is_above, graph.add("Less", [layer.before, highest])])
        moving = graph.add("Cast", [is_moving], to=TensorProto.FLOAT)
        slope = graph.add("Mul", [slope, moving])
    # As SAME_UPPER fills up a map of even sides: the odd one goes to the right and below.
    n_filled = layer.kernel - layer.stride
    before, after = n_filled // 2, n_filled - n_filled // 2
    return graph.add(
        "ConvTranspose",
        [slope, layer.weight],
        kernel_shape=[layer.kernel] * 2,
        strides=[layer.stride] * 2,
        group=layer.groups,
        pads=[before, before, after, after],
    )

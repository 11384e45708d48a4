"""The whole way from a picture to its kind as one ONNX file: resizing, network, looks, key.

Input ``picture``: uint8 (height, width, 3), upright RGB, of any size. Outputs: ``kind`` (1,), the
name; ``probability`` (1, n_kinds). The names of the kinds, in the order of the columns, are in the
metadata of the model, under ``kinds``.
"""

import json
from pathlib import Path

import numpy as np

from fieldguide._files import write_bytes
from fieldguide.errors import FieldguideError
from fieldguide.exports.onnx_key import add_key
from fieldguide.exports.onnx_looks import add_row, open_picture
from fieldguide.exports.onnx_operators import Operators
from fieldguide.exports.order import Order
from fieldguide.features.network import builtin_graph
from fieldguide.features.stack import CLASSICAL, split_parts
from fieldguide.guide import Guide


def write(order: Order) -> Path:
    """Write the model."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    guide = order.guide
    if guide.key is None:
        raise FieldguideError(
            "This guide has no key to export; build it from images of two kinds or more."
        )
    _check_rows(guide)
    network = onnx.load_from_string(builtin_graph())
    to = Operators()
    row = add_row(to, open_picture(to, "picture"), guide.stack, network)
    probability, answer = add_key(to, guide.key, row.name)
    names = [str(name) for name in guide.key.classes_]
    listed = numpy_helper.from_array(np.array(names, dtype=object), "fieldguide_kinds")
    to.nodes += [
        helper.make_node("Gather", ["fieldguide_kinds", answer], ["kind"], axis=0),
        helper.make_node("Cast", [probability], ["probability"], to=TensorProto.FLOAT),
    ]
    used = {name for node in to.nodes for name in node.input}
    weights = [each for each in network.graph.initializer if each.name in used]
    graph = helper.make_graph(
        to.nodes,
        "fieldguide",
        [helper.make_tensor_value_info("picture", TensorProto.UINT8, ["height", "width", 3])],
        [
            helper.make_tensor_value_info("kind", TensorProto.STRING, [1]),
            helper.make_tensor_value_info("probability", TensorProto.FLOAT, [1, len(names)]),
        ],
        [*weights, *to.constants, listed],
    )
    model = helper.make_model(
        graph, opset_imports=network.opset_import, ir_version=network.ir_version
    )
    said = {"kinds": json.dumps(names), "title": guide.title, "key": type(guide.key).__name__}
    helper.set_model_props(model, said)
    onnx.checker.check_model(model)
    write_bytes(order.target, model.SerializeToString())
    return order.target


def _check_rows(guide: Guide) -> None:
    """Refuse a guide that compares pictures by what has no form in ONNX."""
    settings = guide.about["settings"]
    if settings["embedder"] is not None:
        raise FieldguideError(
            f"ONNX holds the built-in network, and this guide has {settings['embedder']}; build "
            "one without `embedder` for it."
        )
    classical = [name for name in split_parts(settings["features"]) if name in CLASSICAL]
    if classical:
        raise FieldguideError(
            f"ONNX holds looks of the network, and this guide compares pictures by "
            f"{', '.join(classical)} too; build one with `features=looks` or deep for it."
        )

"""The whole way from a picture to its kind as one ONNX file: network, row, key.

Input ``pixels``: uint8 (n, 224, 224, 3), RGB: the middle square of the picture, seven eighths of
its shorter side long, resized bicubically as :meth:`fieldguide.features.network.Network.crop` does.
Outputs: ``kind`` (n,), the name; ``probability`` (n, n_kinds). The names of the kinds, in the order
of the columns, are in the metadata of the model, under ``kinds``.
"""

import json
from pathlib import Path

import numpy as np

from fieldguide._files import write_bytes
from fieldguide.errors import FieldguideError
from fieldguide.exports.onnx_key import Operators, add_key
from fieldguide.exports.order import Order
from fieldguide.features.network import builtin_graph


def write(order: Order) -> Path:
    """Write the model."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    guide = order.guide
    if guide.key is None:
        raise FieldguideError(
            "This guide has no key to export; build it from images of two kinds or more."
        )
    settings = guide.about["settings"]
    if settings["embedder"] is not None or settings["features"] != "deep":
        raise FieldguideError(
            "ONNX holds one look of the built-in network, and this guide compares pictures by "
            f"{settings['embedder'] or settings['features']}; build one with --features deep for "
            "it."
        )
    model = onnx.load_from_string(builtin_graph())
    to = Operators()
    length = to.add("ReduceL2", "embedding", axes=[1], keepdims=1)
    row = to.add("Div", "embedding", to.add("Max", length, to.constant(1e-12, np.float32)))
    probability, answer = add_key(to, guide.key, row)
    names = [str(name) for name in guide.key.classes_]
    listed = numpy_helper.from_array(np.array(names, dtype=object), "fieldguide_kinds")
    to.nodes += [
        helper.make_node("Gather", ["fieldguide_kinds", answer], ["kind"], axis=0),
        helper.make_node("Cast", [probability], ["probability"], to=TensorProto.FLOAT),
    ]
    model.graph.node.extend(to.nodes)
    model.graph.initializer.extend([*to.constants, listed])
    del model.graph.output[:]
    model.graph.output.extend(
        [
            helper.make_tensor_value_info("kind", TensorProto.STRING, ["n"]),
            helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["n", len(names)]),
        ]
    )
    said = {"kinds": json.dumps(names), "title": guide.title, "key": type(guide.key).__name__}
    helper.set_model_props(model, said)
    onnx.checker.check_model(model)
    write_bytes(order.target, model.SerializeToString())
    return order.target

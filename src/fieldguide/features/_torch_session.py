"""Run the ONNX graph of a convolutional network with torch, on a graphics processor.

A :class:`TorchSession` answers as a session of onnxruntime does: names of outputs and arrays in,
arrays out. Operators are translated one by one, in single precision throughout (torch would round
to eleven bits inside convolutions); the graphs that it takes are those of convolutional networks
for pictures, and :func:`list_unknown` says what is missing for others. A batch that does not fit
into the device's memory is run as two.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from fieldguide._device import get, is_out_of_memory, put
from fieldguide.errors import FieldguideWarning


class Node(NamedTuple):
    """An operator of a graph: what it is, what it reads, and what it writes."""

    operator: str
    inputs: tuple[str, ...]
    output: str
    options: Mapping[str, Any]


class Step(NamedTuple):
    """An operator, and what nothing needs once it has been computed."""

    node: Node
    spent: tuple[str, ...]


class TorchSession:
    """A graph on a device.

    Parameters
    ----------
    graph : bytes
        A serialised ONNX model.
    device : str
        As torch names it.
    """

    def __init__(self, graph: bytes, device: str) -> None:
        self._device = device
        self._nodes, constants = read_nodes(graph)
        self._constants = {name: _lay(put(value, device)) for name, value in constants.items()}
        self._plans: dict[tuple[str, ...], list[Step]] = {}
        # Threads that give the device its work by turns, operator by operator, wait for each other.
        self._turn = Lock()

    def run(
        self, names: Sequence[str], inputs: Mapping[str, np.ndarray], options: Any = None
    ) -> list[np.ndarray]:
        """Return the outputs of these names; ``options``, which are onnxruntime's, do nothing."""
        import torch

        plan = self._plans.setdefault(tuple(names), plan_steps(self._nodes, names))
        try:
            # cuDNN compiles kernels for each shape of a picture, which takes longer than it saves.
            plain = torch.backends.cudnn.flags(enabled=False, allow_tf32=False)
            with self._turn, torch.inference_mode(), plain:
                return self._compute(plan, names, inputs)
        except Exception as error:
            n = len(next(iter(inputs.values())))
            if not is_out_of_memory(error) or n == 1:
                raise
        torch.cuda.empty_cache()
        halves = [
            self.run(names, {k: v[part] for k, v in inputs.items()})
            for part in (slice(0, n // 2), slice(n // 2, n))
        ]
        # A constant is the same for both halves.
        return [
            one if name in self._constants else np.concatenate([one, two])
            for name, one, two in zip(names, *halves, strict=True)
        ]

    def _compute(
        self, plan: Sequence[Step], names: Sequence[str], inputs: Mapping[str, np.ndarray]
    ) -> list[np.ndarray]:
        known = self._constants | {k: put(v, self._device) for k, v in inputs.items()}
        for node, spent in plan:
            known[node.output] = _OPERATORS[node.operator](
                node.options, *(known[name] if name else None for name in node.inputs)
            )
            for name in spent:
                del known[name]
        return [_fetch(known[name]) for name in names]


def _lay(values: Any) -> Any:
    """Lay maps out with their channels side by side, as convolutions like them best."""
    import torch

    return values.contiguous(memory_format=torch.channels_last) if values.ndim == 4 else values


def _fetch(values: Any) -> np.ndarray:
    """Return a tensor as an array, through memory that the device writes to by itself."""
    import torch

    if not values.is_cuda:
        return get(values)
    host = torch.empty_like(values, device="cpu", pin_memory=True)
    return np.asarray(host.copy_(values))


def open_on_device(graph: bytes, network: str) -> Any:
    """Return a session on the graphics processor; None, with a warning, where it cannot be had.

    onnxruntime's own provider is taken where it is installed, as it knows all operators.
    """
    import onnxruntime

    providers = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    if providers[0] in onnxruntime.get_available_providers():
        return onnxruntime.InferenceSession(graph, providers=providers)
    unknown = list_unknown(graph)
    if not unknown:
        return TorchSession(graph, "cuda")
    warnings.warn(
        f"The network {network} cannot be run on the graphics processor through torch (operators "
        f"{', '.join(unknown[:5])}); the processor is used: install onnxruntime-gpu for it.",
        FieldguideWarning,
        stacklevel=4,
    )
    return None


def read_nodes(graph: bytes) -> tuple[list[Node], dict[str, np.ndarray]]:
    """Return the operators of a graph, each after those that it needs, and its constants."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load_from_string(graph)
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    nodes = []
    for node in model.graph.node:
        options = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        if node.op_type == "Constant" and "value" in options:
            constants[node.output[0]] = numpy_helper.to_array(options["value"])
        else:
            nodes.append(Node(node.op_type, tuple(node.input), node.output[0], options))
    return nodes, constants


def list_unknown(graph: bytes) -> list[str]:
    """Return the operators of a graph that are not translated."""
    return sorted({node.operator for node in read_nodes(graph)[0]} - set(_OPERATORS))


def plan_steps(nodes: Sequence[Node], names: Iterable[str]) -> list[Step]:
    """Return the operators that outputs need, in order."""
    needed = set(names)
    plan = []
    for node in reversed(nodes):
        if node.output in needed:
            plan.append(Step(node, tuple(sorted({*node.inputs} - needed - {""}))))
            needed.update(node.inputs)
    return plan[::-1]


def _cast(options: Mapping[str, Any], x: Any) -> Any:
    import torch
    from onnx import helper

    return x.to(getattr(torch, helper.tensor_dtype_to_np_dtype(options["to"]).name))


def _convolve(options: Mapping[str, Any], x: Any, weight: Any, bias: Any = None) -> Any:
    from torch.nn.functional import conv2d, pad

    kernel = weight.shape[2:]
    strides = options.get("strides", [1, 1])
    dilations = options.get("dilations", [1, 1])
    top, left, bottom, right = _find_pads(options, x.shape[2:], kernel, strides, dilations)
    is_plain = not (top or left or bottom or right) and list(strides) == [1, 1]
    if is_plain and tuple(kernel) == (1, 1) and options.get("group", 1) == 1:
        return _mix_channels(x, weight[:, :, 0, 0], bias)
    if (top, left) == (bottom, right):
        padding: tuple[int, int] = (top, left)
    else:
        x, padding = pad(x, (left, right, top, bottom)), (0, 0)
    return conv2d(x, weight, bias, strides, padding, dilations, options.get("group", 1))


def _mix_channels(x: Any, weight: Any, bias: Any) -> Any:
    """Return a convolution of single pixels: one product of matrices for the whole batch."""
    from torch import addmm

    n, channels, height, width = x.shape
    flat = x.permute(0, 2, 3, 1).reshape(-1, channels)
    mixed = flat @ weight.T if bias is None else addmm(bias, flat, weight.T)
    return mixed.reshape(n, height, width, -1).permute(0, 3, 1, 2)


def _find_pads(
    options: Mapping[str, Any],
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[int, int, int, int]:
    """Return the pixels to add at the top, left, bottom and right."""
    auto = options.get("auto_pad", b"NOTSET").decode()
    if auto in ("NOTSET", "VALID"):
        top, left, bottom, right = options.get("pads", [0, 0, 0, 0])
        return top, left, bottom, right
    total = [
        max((-(-n // step) - 1) * step + (k - 1) * apart + 1 - n, 0)
        for n, k, step, apart in zip(size, kernel, strides, dilations, strict=True)
    ]
    less, more = [t // 2 for t in total], [t - t // 2 for t in total]
    before, after = (less, more) if auto == "SAME_UPPER" else (more, less)
    return before[0], before[1], after[0], after[1]


def _clip(options: Mapping[str, Any], x: Any, low: Any = None, high: Any = None) -> Any:
    return x.clamp(low, high)


def _multiply(options: Mapping[str, Any], a: Any, b: Any, c: Any = None) -> Any:
    a = a.T if options.get("transA") else a
    b = b.T if options.get("transB") else b
    product = options.get("alpha", 1.0) * (a @ b)
    return product if c is None else product + options.get("beta", 1.0) * c


def _normalise(
    options: Mapping[str, Any], x: Any, scale: Any, bias: Any, mean: Any, variance: Any
) -> Any:
    from torch.nn.functional import batch_norm

    return batch_norm(x, mean, variance, scale, bias, eps=options.get("epsilon", 1e-5))


def _pool_largest(options: Mapping[str, Any], x: Any) -> Any:
    from torch.nn.functional import max_pool2d, pad

    kernel, strides = options["kernel_shape"], options.get("strides", [1, 1])
    top, left, bottom, right = _find_pads(options, x.shape[2:], kernel, strides, [1, 1])
    return max_pool2d(pad(x, (left, right, top, bottom), value=-np.inf), kernel, strides)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": lambda _, a, b: a + b,
    "BatchNormalization": _normalise,
    "Cast": _cast,
    "Clip": _clip,
    "Conv": _convolve,
    "Div": lambda _, a, b: a / b,
    "Flatten": lambda options, x: x.flatten(options.get("axis", 1)),
    "Gemm": _multiply,
    "GlobalAveragePool": lambda _, x: x.mean(dim=(2, 3), keepdim=True),
    "Identity": lambda _, x: x,
    "MatMul": lambda _, a, b: a @ b,
    "MaxPool": _pool_largest,
    "Mul": lambda _, a, b: a * b,
    "Relu": lambda _, x: x.relu(),
    "Sigmoid": lambda _, x: x.sigmoid(),
    "Sub": lambda _, a, b: a - b,
    "Transpose": lambda options, x: _lay(x.permute(options["perm"])),
}

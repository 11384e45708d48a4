"""Read and try a network of the user's: an ONNX file that may be anything.

Before it looks at a picture, such a file is checked: it is one regular file with all its weights
inside, it takes square pictures of three channels, it comes to an end, and it gives finite numbers.
"""

import os
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fieldguide.errors import EmbedderError

MOST_PX = 4096  # side of the picture that a network may ask for
MOST_BYTES = 2**31  # what one file of this kind can hold
MOST_SECONDS = 120.0  # for one batch of pictures


def read_graph(path: Path) -> bytes:
    """Return what an ONNX file holds; EmbedderError where that is not all of a network."""
    try:
        graph = read_file(path, MOST_BYTES)
    except OSError as error:
        raise EmbedderError(
            f"The network {str(path)!r} cannot be opened: {error.strerror or error}; give an ONNX "
            "file."
        ) from None
    elsewhere = find_external(graph)
    if elsewhere is not None:
        raise EmbedderError(
            f"The network {str(path)!r} keeps its weights in another file ({elsewhere[:80]!r}), "
            "which is not read; save it as one file, such as with onnx.save_model(model, path, "
            "save_as_external_data=False)."
        )
    return graph


def read_file(path: Path, most_bytes: int) -> bytes:
    """Return what a regular file of a limited size holds; OSError for anything else."""
    # A pipe, which may never end, is opened without waiting for it, and refused.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(file, "rb") as opened:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is no regular file")
        if status.st_size >= most_bytes:
            raise OSError(0, f"it is larger than {most_bytes // 10**6:,} MB")
        return opened.read()


def find_external(graph: bytes) -> str | None:
    """Return the name of a file that a network keeps weights in besides its own; None for none."""
    import onnx

    try:
        model = onnx.load_from_string(graph)
    except Exception:  # whoever runs it says what is wrong
        return None
    for tensor in _list_tensors(model.graph):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            return next((e.value for e in tensor.external_data if e.key == "location"), "")
    return None


def _list_tensors(graph: Any) -> Iterator[Any]:
    """Yield the tensors of a graph and of the graphs inside it."""
    pending = [graph]
    while pending:
        here = pending.pop()
        yield from here.initializer
        for part in here.sparse_initializer:
            yield from (part.values, part.indices)
        for node in here.node:
            for attribute in node.attribute:
                yield from (attribute.t, *attribute.tensors)
                pending += [attribute.g] if attribute.HasField("g") else []
                pending += attribute.graphs


def check_size(shape: Sequence[Any], first: int, usual_px: int, embedder: Any) -> int:
    """Return the side of the pictures that a network takes; ``first`` is the axis of the height."""
    sides = [side for side in shape[first : first + 2] if isinstance(side, int)]
    if len(set(sides)) > 1 or not all(1 <= side <= MOST_PX for side in sides):
        raise EmbedderError(
            f"The network {str(embedder)!r} must take square pictures of 1 to {MOST_PX} pixels; "
            f"it takes {shape[first]} × {shape[first + 1]}."
        )
    return sides[0] if sides else usual_px


def check_batch(batch: Any, embedder: Any) -> bool:
    """Return whether a network takes one picture at a time; refuse any other fixed number."""
    if isinstance(batch, int) and batch != 1:
        raise EmbedderError(
            f"The network {str(embedder)!r} takes {batch} pictures at a time; export it with a "
            "free first axis, or with one picture."
        )
    return bool(batch == 1)


def run_session(
    session: Any, names: Sequence[str], batch: Mapping[str, np.ndarray], network: str
) -> list[Any]:
    """Run a network of the user's; EmbedderError where it fails, or does not come to an end."""
    import onnxruntime

    options = onnxruntime.RunOptions()
    options.log_severity_level = 4  # what fails is said by the exception, not on the terminal too
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        options.terminate = True

    timer = threading.Timer(MOST_SECONDS, end)
    timer.daemon = True
    timer.start()
    try:
        outputs: list[Any] = session.run(list(names), dict(batch), options)
        return outputs
    except Exception as error:  # what onnxruntime raises is a matter of the file
        if is_late.is_set():
            raise EmbedderError(
                f"The network {network} did not come to an end within {MOST_SECONDS:g} seconds; "
                "give another ONNX file."
            ) from None
        raise EmbedderError(
            f"The network {network} cannot look at pictures ({first_line(error)}); give another "
            "ONNX file."
        ) from None
    finally:
        timer.cancel()


def check_outputs(values: Sequence[Any], n_pictures: int, network: str) -> None:
    """Refuse outputs that are no rows of finite numbers, one for each picture."""
    for value in values:
        is_array = isinstance(value, np.ndarray) and value.dtype.kind in "fiu"
        if not is_array or value.ndim < 1 or len(value) != n_pictures or not value.size:
            found = f"shape {value.shape}" if isinstance(value, np.ndarray) else "no array"
            raise EmbedderError(
                f"The network {network} must give a row for each of {n_pictures} pictures; it "
                f"gives {found}."
            )
        if not np.isfinite(value).all():
            raise EmbedderError(
                f"The network {network} gives NaN or infinity for a picture; give another ONNX "
                "file."
            )


def first_line(error: Exception) -> str:
    """Return what an error of onnxruntime says, as a clause."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:160].rstrip(". ")

"""Read the tensors of a legacy torch file without torch, and without running anything in it.

Such a file is five pickles (magic number, protocol, system, state, storage keys) and then the raw
storages. A pickle can call any function by name: ours may name an ordered dictionary, a storage
type and the function that rebuilds a tensor, and everything else is refused.
"""

import pickle
import struct
from collections import OrderedDict
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from fieldguide.errors import EmbedderError

_MAGIC = 0x1950A86A20F9469CFC6C
_STORAGE_DTYPES = {"FloatStorage": np.float32, "LongStorage": np.int64}


class _Storage(NamedTuple):
    dtype: type
    key: str
    n_items: int


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _rebuild_tensor(storage: _Storage, offset: int, shape: Any, strides: Any, *_: Any) -> _Tensor:
    return _Tensor(storage, int(offset), tuple(shape), tuple(strides))


class _RestrictedUnpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if module == "torch" and name in _STORAGE_DTYPES:
            return _STORAGE_DTYPES[name]
        raise EmbedderError(f"The weights file asks for {module}.{name}, which is refused.")

    def persistent_load(self, pid: Any) -> _Storage:
        _, dtype, key, _, n_items, *_ = pid
        return self.storages.setdefault(key, _Storage(dtype, key, int(n_items)))


def read_tensors(file: BinaryIO) -> dict[str, np.ndarray]:
    """Return the named tensors of a legacy torch file as arrays."""
    try:
        if _RestrictedUnpickler(file).load() != _MAGIC:
            raise EmbedderError("The weights file is not a legacy torch file.")
        for _ in ("protocol", "system"):
            _RestrictedUnpickler(file).load()
        reader = _RestrictedUnpickler(file)
        state = reader.load()
        keys = _RestrictedUnpickler(file).load()
        storages = {key: _read_storage(file, reader.storages[key]) for key in keys}
        return {name: _view(tensor, storages) for name, tensor in state.items()}
    except EmbedderError:
        raise
    except Exception as error:  # a damaged pickle raises nearly anything
        raise EmbedderError(f"The weights file is damaged ({type(error).__name__}).") from None


def _read_storage(file: BinaryIO, storage: _Storage) -> np.ndarray:
    (n_items,) = struct.unpack("<q", file.read(8))
    size = n_items * np.dtype(storage.dtype).itemsize
    data = file.read(size)
    if n_items != storage.n_items or len(data) != size:
        raise EmbedderError("The weights file is truncated.")
    return np.frombuffer(data, dtype=storage.dtype)


def _view(tensor: _Tensor, storages: dict[str, np.ndarray]) -> np.ndarray:
    flat = storages[tensor.storage.key]
    steps = list(zip(tensor.shape, tensor.strides, strict=True))
    last = tensor.offset + sum((length - 1) * stride for length, stride in steps)
    is_sound = all(length > 0 and stride >= 0 for length, stride in steps)
    if not is_sound or tensor.offset < 0 or last >= flat.size:
        raise EmbedderError("The weights file holds a tensor that leaves its storage.")
    strides = [stride * flat.itemsize for stride in tensor.strides]
    view = np.lib.stride_tricks.as_strided(flat[tensor.offset :], tensor.shape, strides)
    return np.ascontiguousarray(view)

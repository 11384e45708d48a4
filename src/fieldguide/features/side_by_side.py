"""Several networks side by side, as one: what each sees is a part of what they see together.

Each is shown pictures in its own way. For one picture, with e_k the embedding of network k and
M_k(u) its cell at place u,

    e = [e_1 | s_2 e_2 | …],       s_k = ‖e_1‖ / ‖e_k‖
    M(u) = [M_1(u) | r_2 M_2(u) | …],    r_k = ‖Σ M_1‖ / ‖Σ M_k‖

so that all count alike, whatever the size of their numbers. Cells lie on the grid of the first
network with a map; the cells of another grid are spread over it by the area that they share, which
keeps their mean. A linear function of pooled cells is a sum over cells as before. Words are those
of the first network that names ImageNet's classes.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from PIL import Image

from fieldguide.errors import EmbedderError
from fieldguide.features.network import WHOLE, Box, Network, Outputs


class SideBySide(Network):
    """Several networks as one.

    Parameters
    ----------
    networks : sequence of Network
        Two or more; the first with a map says how large pictures are shown for it.
    """

    def __init__(self, networks: Sequence[Network]) -> None:
        self.networks = tuple(networks)
        self._mapped = tuple(each for each in networks if each.stride_px is not None)
        first = self._mapped[0] if self._mapped else self.networks[0]
        self._first = first
        self.name = " + ".join(each.name for each in networks)
        self.about = " ".join(f"{each.name}: {each.about}" for each in networks)
        self.size_px, self.stride_px, self.map_px = first.size_px, first.stride_px, first.map_px
        self.has_logits = any(each.has_logits for each in networks)
        self.has_finer = False
        self.n_at_once = min(each.n_at_once for each in networks)
        areas = {each.find_area(WHOLE["whole"], 4, 3) for each in networks}
        self.is_mean = all(each.is_mean for each in networks) and len(areas) == 1

    def see(
        self,
        images: Sequence[Image.Image],
        boxes: Sequence[Box] = (WHOLE["whole"],),
        *,
        cells: bool = False,
    ) -> Outputs:
        """Return the outputs for windows of RGB pictures, one picture after the other."""
        return self._join(
            [
                each.see(images, boxes, cells=cells and each in self._mapped)
                for each in self.networks
            ]
        )

    def find_area(self, box: Box, width: float, height: float) -> Box:
        """Return what the first network is shown of a window."""
        return self._first.find_area(box, width, height)

    def run(self, pixels: np.ndarray, *, cells: bool = False) -> Outputs:
        """Return the outputs for a batch of squares, uint8 of shape (n, side, side, 3)."""
        found = []
        for each in self.networks:
            is_mapped = cells and each in self._mapped
            shown = _fit(pixels, each) if is_mapped else _resize(pixels, *[each.size_px] * 2)
            found.append(each.run(shown, cells=is_mapped))
        return self._join(found)

    def map(self, pixels: np.ndarray) -> np.ndarray:
        """Return what the networks see at each place: (n, rows, columns, channels) float32."""
        if not self._mapped:
            raise EmbedderError(f"None of the networks {self.name} has a map of places.")
        return _join_cells([each.map(_fit(pixels, each)) for each in self._mapped])

    def fit_map(self, size: tuple[int, int], scale: float) -> tuple[int, int]:
        """Return the size at which a whole picture is shown for a map of it, in pixels."""
        return self._first.fit_map(size, scale)

    def fit_square(self, scale: float) -> int:
        """Return the side of a square for a map of it, about ``scale`` times the first look's."""
        return self._first.fit_square(scale)

    @cached_property
    def head(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Of the first network, which reads its own cells; None where it names no classes."""
        if not self._first.has_logits or self._first.head is None:
            return None
        weight, bias = self._first.head
        blank = np.zeros((1, self.size_px, self.size_px, 3), dtype=np.uint8)
        cells = self.run(blank, cells=True).cells
        assert cells is not None
        padded = np.zeros((cells.shape[3], weight.shape[1]), dtype=np.float32)
        padded[: len(weight)] = weight
        return padded, bias

    def _join(self, outputs: Sequence[Outputs]) -> Outputs:
        pairs = zip(self.networks, outputs, strict=True)
        ordered = sorted(pairs, key=lambda pair: pair[0] is not self._first)
        logits = (each.logits for _, each in ordered if each.logits is not None)
        embeddings = [each.embedding for each in outputs]
        cells = [each.cells for each in outputs if each.cells is not None]
        return Outputs(
            _weigh(embeddings, embeddings),
            next(logits, None),
            _join_cells(cells) if cells else None,
        )


def _join_cells(maps: Sequence[np.ndarray]) -> np.ndarray:
    """Return maps of the same pictures as one, on the grid of the first."""
    n_rows, n_columns = maps[0].shape[1:3]
    laid = [
        np.einsum(
            "ar,nrcd,bc->nabd", _spread(n_rows, m.shape[1]), m, _spread(n_columns, m.shape[2])
        )
        if m.shape[1:3] != (n_rows, n_columns)
        else m
        for m in maps
    ]
    return _weigh(laid, [each.mean(axis=(1, 2)) for each in laid])


def _weigh(parts: Sequence[np.ndarray], by: Sequence[np.ndarray]) -> np.ndarray:
    """Return parts side by side, each multiplied so that ``by`` has the length of the first."""
    lengths = [np.maximum(np.linalg.norm(each, axis=1), np.float32(1e-12)) for each in by]
    weighed = []
    for part, length in zip(parts, lengths, strict=True):
        ratio = (lengths[0] / length).reshape(-1, *[1] * (part.ndim - 1))
        weighed.append(part * ratio)
    return np.concatenate(weighed, axis=-1).astype(np.float32)


def _spread(n_to: int, n_from: int) -> np.ndarray:
    """Return the share of each of ``n_from`` parts of a side in each of ``n_to``, rows of sum 1."""
    ends, starts = np.arange(1, n_to + 1) / n_to, np.arange(n_to) / n_to
    edges = np.arange(n_from + 1) / n_from
    shared = np.minimum(ends[:, None], edges[1:]) - np.maximum(starts[:, None], edges[:-1])
    shared = np.maximum(shared, 0)
    spread: np.ndarray = (shared / shared.sum(axis=1, keepdims=True)).astype(np.float32)
    return spread


def _fit(pixels: np.ndarray, network: Network) -> np.ndarray:
    """Return pictures in the nearest size that a network has a map of."""
    if network.map_px is not None:
        return _resize(pixels, network.map_px, network.map_px)
    stride = network.stride_px or 1
    height, width = (max(1, round(side / stride)) * stride for side in pixels.shape[1:3])
    return _resize(pixels, width, height)


def _resize(pixels: np.ndarray, width: int, height: int) -> np.ndarray:
    if pixels.shape[1:3] == (height, width):
        return pixels
    size = (width, height)
    return np.stack(
        [
            np.asarray(Image.fromarray(each).resize(size, Image.Resampling.BICUBIC))
            for each in pixels
        ]
    )

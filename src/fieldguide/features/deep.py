"""Deep features: what an ImageNet network sees in a picture, on the CPU, without torch.

``embedding`` is the pooled last layer, ``logits`` the 1000 ImageNet classes before softmax,
``probabilities`` after it. Each may be taken over the whole picture or over six windows.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin

from fieldguide._check import check_choice, check_number
from fieldguide._parallel import map_in_order
from fieldguide.collection import Collection, read_picture, to_rgb_array
from fieldguide.errors import EmbedderError, UnreadableImageError
from fieldguide.features.network import WINDOWS, Network

OUTPUTS = ("embedding", "logits", "probabilities")


class DeepFeatures(TransformerMixin, BaseEstimator):
    """Features of a pretrained network, one row per image.

    Parameters
    ----------
    output : {"embedding", "logits", "probabilities"}
        The last two need a network with 1000 ImageNet outputs, such as the built-in one.
    windows : {"whole", "six"}
        Six windows are whole, centre and the four corners; their columns stand side by side.
    embedder : path, optional
        An ONNX file in place of the built-in EfficientNet-Lite0.
    batch_size : int
        Images per run of the network; changes speed and memory, never the answer.
    n_jobs : int, optional
        Threads; -1 is all cores. The answer does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.features import DeepFeatures
    >>> DeepFeatures().fit_transform(np.zeros((2, 64, 64, 3), dtype=np.uint8)).shape
    (2, 1280)
    """

    def __init__(
        self,
        output: str = "embedding",
        windows: str = "whole",
        embedder: str | os.PathLike | None = None,
        batch_size: int = 8,
        n_jobs: int | None = -1,
    ) -> None:
        self.output = output
        self.windows = windows
        self.embedder = embedder
        self.batch_size = batch_size
        self.n_jobs = n_jobs

    def fit(self, X: Any = None, y: Any = None) -> "DeepFeatures":
        """Check the arguments; there is nothing to learn."""
        check_choice("DeepFeatures", "output", self.output, OUTPUTS)
        check_choice("DeepFeatures", "windows", self.windows, tuple(WINDOWS))
        check_number("DeepFeatures", "batch_size", self.batch_size, 1, 4096, integer=True)
        return self

    def transform(self, X: Collection | Iterable[Any]) -> np.ndarray:
        """Return the features of each image, in order.

        Parameters
        ----------
        X : Collection, or iterable of arrays, Pillow images or paths
            It is read once, a few batches at a time.

        Returns
        -------
        ndarray of shape (n_images, n_columns), float32
        """
        network = self._network()
        boxes = list(WINDOWS[self.windows].values())
        n_jobs = 1 if self.n_jobs is None else self.n_jobs

        def process(batch: Sequence[Any]) -> np.ndarray:
            images = [_decode(image) for image in batch]
            pixels = np.stack([network.crop(image, box) for image in images for box in boxes])
            return self._select(network.run(pixels)).reshape(len(batch), -1)

        batches = _batched(_sources(X), self.batch_size)
        parts = list(map_in_order(process, batches, n_jobs=n_jobs))
        if not parts:
            raise UnreadableImageError("There is no image to describe; give at least one.")
        return np.concatenate(parts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name each column by its window and, for logits and probabilities, its class."""
        if self.output == "embedding":
            network = self._network()
            pixels = np.zeros((1, network.size_px, network.size_px, 3), dtype=np.uint8)
            width = network.run(pixels).embedding.shape[1]
            columns = [f"embedding {i}" for i in range(width)]
        else:
            from fieldguide.features.vocabulary import class_names

            columns = list(class_names())
        return np.array(
            [f"{window}: {name}" for window in WINDOWS[self.windows] for name in columns],
            dtype=object,
        )

    def get_windows(self) -> dict[str, tuple[float, float, float, float]]:
        """Return each window as (x0, y0, x1, y1), in shares of the picture's sides."""
        return dict(WINDOWS[self.windows])

    def _network(self) -> Network:
        self.fit()
        network = Network(self.embedder)
        if self.output != "embedding" and not network.has_logits:
            raise EmbedderError(
                f"The network {str(self.embedder)!r} has no output of 1000 ImageNet classes, so "
                f'output={self.output!r} cannot be had from it; use output="embedding".'
            )
        return network

    def _select(self, outputs: Any) -> np.ndarray:
        if self.output == "embedding":
            return outputs.embedding
        return outputs.logits if self.output == "logits" else softmax(outputs.logits, axis=1)


def _sources(X: Collection | Iterable[Any]) -> Iterator[Any]:
    if isinstance(X, Collection):
        return ((X, i) for i in range(len(X)))
    return iter(X)


def _batched(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while batch := list(islice(items, size)):
        yield batch


def _decode(source: Any) -> Image.Image:
    if isinstance(source, tuple):
        collection, i = source
        return collection.picture(i, at_least_px=512)[0].image
    if isinstance(source, (str, Path)):
        try:
            return read_picture(source, at_least_px=512).image
        except UnreadableImageError as error:
            raise UnreadableImageError(f"{os.fspath(source)!r}: {error}.") from None
    return Image.fromarray(to_rgb_array(source))

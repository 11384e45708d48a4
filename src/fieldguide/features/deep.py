"""Deep features: what an ImageNet network sees in a picture, on the CPU, without torch.

``embedding`` is the pooled last layer, ``logits`` the 1000 ImageNet classes before softmax,
``probabilities`` after it. Each may be taken over the whole picture or over six windows.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import softmax

from fieldguide._check import check_choice, check_number
from fieldguide.collection import Collection
from fieldguide.errors import EmbedderError
from fieldguide.features.network import WINDOWS, Network
from fieldguide.features.transformer import Column, ImageTransformer, decode_batch, map_batches

OUTPUTS = ("embedding", "logits", "probabilities")


class DeepFeatures(ImageTransformer):
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

        def process(batch: Sequence[Any]) -> np.ndarray:
            images = decode_batch(batch)
            pixels = np.stack([network.crop(image, box) for image in images for box in boxes])
            return self._select(network.run(pixels)).reshape(len(batch), -1)

        return map_batches(process, X, batch_size=self.batch_size, n_jobs=self.n_jobs)

    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        return self.transform([pixels])[0]

    def _check_arguments(self) -> None:
        check_choice("DeepFeatures", "output", self.output, OUTPUTS)
        check_choice("DeepFeatures", "windows", self.windows, tuple(WINDOWS))
        check_number("DeepFeatures", "batch_size", self.batch_size, 1, 4096, integer=True)

    def _columns(self) -> list[Column]:
        """Name each column by its window and, for logits and probabilities, its class."""
        if self.output == "embedding":
            network = self._network()
            pixels = np.zeros((1, network.size_px, network.size_px, 3), dtype=np.uint8)
            width = network.run(pixels).embedding.shape[1]
            names = [f"embedding {i}" for i in range(width)]
        else:
            from fieldguide.features.vocabulary import class_names

            names = list(class_names())
        return [
            Column(f"{window}: {name}", box)
            for window, box in WINDOWS[self.windows].items()
            for name in names
        ]

    def _network(self) -> Network:
        self._check_arguments()
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

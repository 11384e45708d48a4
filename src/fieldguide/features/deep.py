"""Deep features: what an ImageNet network sees in a picture, on the CPU, without torch.

``embedding`` is the pooled last layer, ``logits`` the 1000 ImageNet classes before softmax,
``probabilities`` after it. Each may be taken over the whole picture or over six windows.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from PIL import Image
from scipy.special import softmax

from fieldguide._check import check_choice, check_number
from fieldguide.collection import Collection
from fieldguide.errors import EmbedderError, InvalidArgument
from fieldguide.features.network import (
    SIX,
    WINDOWS,
    Box,
    Embedder,
    Network,
    Outputs,
    open_network,
)
from fieldguide.features.transformer import Column, ImageTransformer, decode_batch, map_batches

OUTPUTS = ("embedding", "logits", "probabilities")


class DeepFeatures(ImageTransformer):
    """Features of a pretrained network, one row per image.

    Parameters
    ----------
    output : {"embedding", "logits", "probabilities"}
        The last two need a network with 1000 ImageNet outputs, such as the built-in one.
    windows : {"whole", "six"} or tuple of str
        Six windows are whole, centre and the four corners; their columns stand side by side. A
        tuple names some of them, such as ``("centre", "top-left")``.
    embedder : path, or list of paths, optional
        An ONNX file in place of the built-in EfficientNet-Lite0, "lite1" or "lite2" for larger
        ones of its family, or several of these side by side.
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
        windows: str | tuple[str, ...] = "whole",
        *,
        embedder: Embedder = None,
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

        def process(batch: Sequence[Any]) -> np.ndarray:
            return self.describe(decode_batch(batch), network)

        return map_batches(process, X, batch_size=self.batch_size, n_jobs=self.n_jobs)

    def describe(self, images: Sequence[Image.Image], network: Network | None = None) -> np.ndarray:
        """Return the features of RGB pictures in memory, in this thread and in one batch.

        ``network`` is one that is open already; without it, ``embedder`` is opened.
        """
        network = self._network(network)
        outputs = network.see(images, tuple(self._boxes().values()))
        rows = self._select(outputs).reshape(len(images), -1)
        return np.asarray(rows, dtype=np.float32)

    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        row: np.ndarray = self.transform([pixels])[0]
        return row

    def _check_arguments(self) -> None:
        check_choice("DeepFeatures", "output", self.output, OUTPUTS)
        if isinstance(self.windows, (tuple, list)):
            for window in self.windows:
                check_choice("DeepFeatures", "windows", window, tuple(SIX))
            if not 0 < len(self.windows) == len(set(self.windows)):
                raise InvalidArgument(
                    "windows of DeepFeatures must be one or more different names, such as "
                    f'("centre", "top-left"); got {self.windows!r}.'
                )
        else:
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
            for window, box in self._boxes().items()
            for name in names
        ]

    def _boxes(self) -> dict[str, Box]:
        if isinstance(self.windows, str):
            return WINDOWS[self.windows]
        return {window: SIX[window] for window in self.windows}

    def _network(self, given: Network | None = None) -> Network:
        self._check_arguments()
        network = given or open_network(self.embedder)
        if self.output != "embedding" and not network.has_logits:
            raise EmbedderError(
                f"The network {network.name} has no output of 1000 ImageNet classes, so "
                f'output={self.output!r} cannot be had from it; use output="embedding".'
            )
        return network

    def _select(self, outputs: Outputs) -> np.ndarray:
        if self.output == "embedding":
            return outputs.embedding
        assert outputs.logits is not None
        if self.output == "logits":
            return outputs.logits
        probabilities: np.ndarray = softmax(outputs.logits, axis=1)
        return probabilities

"""Pools of classifiers whose outputs are features: the input of "Features in Concert".

Three kinds, each a column per classifier, with values in [0, 1]:

    clusters   k-means splits each class; an SVM on the HOG of the whole picture separates each
               cluster from the other classes                      n_clusters × classes columns
    windows    for each of eleven windows, HOG, its principal components, and an SVM for each
               class against the rest                              windows × classes columns
    outputs    the 1000 ImageNet outputs before softmax, in each of six windows
                                                                   windows × 1000 columns

A monotone map, fitted on the pool's own pictures, brings each column to [0, 1]
(:mod:`fieldguide.features.pool_maps`); for the first two it is fitted to margins of pictures that
the SVM was not trained on.

Reference: "Features in Concert: Discriminative Feature Selection meets Unsupervised Clustering",
section 4. It prints no coordinates of windows: the eleven here are our choice.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import check_choice, check_number, check_seed
from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide._saving import FLOATS, Array, Items, Labels, OneOf, OrNone, Part, Plain
from fieldguide.collection import Collection
from fieldguide.errors import EmbedderError, InvalidArgument
from fieldguide.features._pool_training import (
    ELEVEN,
    HOG_COLUMNS,
    LinearFunctions,
    Sight,
    join_maps,
    train_on_clusters,
    train_on_window,
)
from fieldguide.features.network import N_CLASSES, SIX, Embedder, open_network
from fieldguide.features.pool_maps import MonotoneMaps, fit_maps
from fieldguide.features.transformer import Column, ImageTransformer, decode_batch, map_batches
from fieldguide.features.vocabulary import class_names

KINDS = ("clusters", "windows", "outputs")


class PoolPart(NamedTuple):
    """The fitted classifiers of one kind; columns run over windows, then over labels."""

    kind: str
    windows: tuple[str, ...]
    labels: tuple[str, ...]  # of the k columns of a window
    maps: MonotoneMaps  # of all columns
    coef: np.ndarray | None = None  # (n_windows, k, d) on the HOG of each window
    intercept: np.ndarray | None = None  # (n_windows, k)


def check_part(**parts: Any) -> PoolPart:
    """Return a part whose arrays are known to fit together."""
    part = PoolPart(**parts)
    for name, values in (("windows", part.windows), ("labels", part.labels)):
        if not isinstance(values, tuple) or not all(isinstance(value, str) for value in values):
            raise InvalidArgument(f"{name} must be a tuple of strings; got {values!r:.80}.")
    if not set(part.windows) <= set(ELEVEN):
        raise InvalidArgument(f"windows must be of {', '.join(ELEVEN)}; got {part.windows!r:.80}.")
    shape = len(part.windows), len(part.labels)
    has_functions = part.kind != "outputs"
    is_sound = len(part.maps.centre) == shape[0] * shape[1]
    is_sound &= (part.coef is not None) == (part.intercept is not None) == has_functions
    if part.coef is not None:
        is_sound &= part.coef.shape[:2] == shape
    if not is_sound:
        raise InvalidArgument(f"The arrays of the {part.kind} do not fit windows and labels.")
    return part


PART = Part(
    PoolPart,
    {
        "kind": OneOf(*KINDS),
        "windows": Plain(),
        "labels": Plain(),
        "maps": Part(
            MonotoneMaps,
            {
                "centre": Array("float64", "n_columns"),
                "below": Array("float64", "n_columns", above=0),
                "above": Array("float64", "n_columns", above=0),
            },
        ),
        "coef": OrNone(Array(FLOATS, "n_windows", "n_labels", HOG_COLUMNS)),
        "intercept": OrNone(Array(FLOATS, "n_windows", "n_labels")),
    },
    check_part,
)


class ClassifierPool(ImageTransformer):
    """Outputs of many classifiers, one column each, in [0, 1].

    Fit the pool on pictures of its own. **To fit it on the pictures that a learner is then trained
    on is a leak**: the classifiers have seen those labels, so their outputs are better there than
    on any new picture, and whatever is measured there (cross-validation, the choice of a
    parameter or of features) is too good. On CIFAR-10, 50 pictures of each class, "windows":

    ==========================  ============================  ========================
    the pool was fitted on      promised by cross-validation  accuracy on new pictures
    ==========================  ============================  ========================
    the learner's pictures      0.61                          0.42
    as many others              0.40                          0.42
    ==========================  ============================  ========================

    (`benchmarks/problems/classifier_pool.py`; "clusters" promise 0.54 and 0.40 for 0.43.)

    Parameters
    ----------
    kind : {"clusters", "windows", "outputs"} or tuple of these
        Types I, II and III of the paper; a tuple puts them side by side.
    n_clusters : int
        Clusters of each class, of "clusters". A class with fewer different pictures gets fewer,
        and the names of its columns say how many.
    n_components : int
        Principal components of HOG, of "windows".
    windows : tuple of str, optional
        Names of :data:`ELEVEN`. By default "windows" uses all of them and "outputs" the six of
        :class:`~fieldguide.features.DeepFeatures`; ``("whole", "centre")`` gives the paper's 2000
        outputs. "clusters" always looks at the whole picture.
    C : float
        Of the SVMs, weight of the training errors against ½|w|².
    embedder : path, optional
        Of "outputs": an ONNX file with 1000 ImageNet outputs in place of the built-in network.
    n_jobs : int, optional
        Threads; -1 is all cores. The answer does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed of the clusters and of the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or None
        None for a pool of "outputs" alone, which needs no labels.
    parts_ : list of PoolPart
        The classifiers of each kind.
    network_ : str or None
        Name of the network of "outputs"; no other may take its place.

    Notes
    -----
    ``fit`` holds the HOG of all windows of all pictures at once, 3.6 kB for each window.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.features.classifier_pool import ClassifierPool
    >>> images = np.random.default_rng(0).integers(0, 255, (10, 32, 32, 3), dtype=np.uint8)
    >>> pool = ClassifierPool(n_clusters=2).fit(images[:8], ["dog", "cat"] * 4)
    >>> pool.transform(images[8:]).shape
    (2, 4)
    >>> pool.get_feature_names_out()[2]
    'dog, cluster 1 of 2, whole picture'
    """

    _fitted: ClassVar = {
        "classes_": OrNone(Labels("n_classes")),
        "parts_": Items(PART),
        "network_": OrNone(Plain()),
    }

    def __init__(
        self,
        kind: str | tuple[str, ...] = "clusters",
        *,
        n_clusters: int = 5,
        n_components: int = 46,
        windows: tuple[str, ...] | None = None,
        C: float = 1.0,
        embedder: Embedder = None,
        n_jobs: int | None = -1,
        random_state: Any = 0,
    ) -> None:
        self.kind = kind
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.windows = windows
        self.C = C
        self.embedder = embedder
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Train the classifiers on pictures of the pool's own; see the class on why.

        Parameters
        ----------
        X : Collection, or iterable of arrays, Pillow images or paths
            It is read once.
        y : array-like of shape (n_images,), optional
            A class for each picture; "outputs" alone needs none.
        """
        self._check_arguments()
        if X is None:
            raise InvalidArgument("ClassifierPool needs images of its own to fit; got None.")
        self.classes_, index = None, None
        if self._kinds() != ("outputs",):
            self.classes_, index = _read_labels(y)
        looks = {kind: self._windows_of(kind) for kind in self._kinds()}
        sight = self._sight(looks)
        self.network_ = None if sight.network is None else sight.network.name
        rows = self._look(sight, X)
        if index is not None and len(index) != len(rows):
            raise InvalidArgument(
                f"ClassifierPool got {len(rows)} images and {len(index)} labels; give one label "
                "for each image."
            )
        # Sums of a BLAS of several threads depend on their number.
        with one_blas_thread():
            self.parts_ = [self._fit_part(kind, looks[kind], sight, rows, index) for kind in looks]
        return self

    def transform(self, X: Collection | Iterable[Any]) -> np.ndarray:
        """Return the output of each classifier for each image, in order.

        Parameters
        ----------
        X : Collection, or iterable of arrays, Pillow images or paths
            It is read once, a few images at a time.

        Returns
        -------
        ndarray of shape (n_images, n_classifiers), float32 in [0, 1]
        """
        check_is_fitted(self, "parts_")
        sight = self._sight({part.kind: part.windows for part in self.parts_})
        if sight.network is not None and sight.network.name != self.network_:
            raise EmbedderError(
                f"The pool was fitted with the network {self.network_}, and embedder is now "
                f"{sight.network.name}; fit the pool again, or give it its own network."
            )
        return self._look(sight, X, self.parts_)

    def fit_outputs(self, outputs: Any, network: str) -> Self:
        """Fit a pool of kind "outputs" to outputs that are known; no picture is looked at.

        Parameters
        ----------
        outputs : array-like of shape (n_images, n_windows * 1000)
            What ``DeepFeatures("logits", windows)`` gives for the pool's windows.
        network : str
            The name of the network that they come from.
        """
        self._check_outputs_alone()
        windows = self._windows_of("outputs")
        rows = _read_outputs(outputs, windows)
        self.classes_, self.network_ = None, network
        self.parts_ = [PoolPart("outputs", windows, class_names(), fit_maps(rows))]
        return self

    def transform_outputs(self, outputs: Any, windows: Sequence[str] | None = None) -> np.ndarray:
        """Return what a pool of kind "outputs" makes of outputs that are known.

        Parameters
        ----------
        outputs : array-like of shape (n_images, n_windows * 1000)
            As for :meth:`fit_outputs`; from the network of the pool.
        windows : sequence of str, optional
            The windows that they are of, where those are not all of the pool, or in another order.

        Returns
        -------
        ndarray of shape (n_images, n_windows * 1000), float32 in [0, 1]
        """
        check_is_fitted(self, "parts_")
        self._check_outputs_alone()
        (part,) = self.parts_
        looked = part.windows if windows is None else tuple(windows)
        for window in looked:
            check_choice("ClassifierPool.transform_outputs", "windows", window, part.windows)
        rows = _read_outputs(outputs, looked)
        chosen = [part.windows.index(window) for window in looked]
        shape = len(part.windows), N_CLASSES
        maps = MonotoneMaps(*(field.reshape(shape)[chosen].ravel() for field in part.maps))
        return maps.apply(rows)

    def _check_outputs_alone(self) -> None:
        self._check_arguments()
        if self._kinds() != ("outputs",):
            raise InvalidArgument(
                'Outputs are all that a ClassifierPool of kind "outputs" needs; this one is of '
                f"kind {self.kind!r} and must look at pictures."
            )

    def _check_arguments(self) -> None:
        for kind in self._kinds():
            check_choice("ClassifierPool", "kind", kind, KINDS)
        if not self._kinds() or len(set(self._kinds())) < len(self._kinds()):
            raise InvalidArgument(
                f"kind of ClassifierPool must name one or more of {KINDS}, each once; "
                f"got {self.kind!r}."
            )
        check_number("ClassifierPool", "n_clusters", self.n_clusters, 1, 10_000, integer=True)
        check_number("ClassifierPool", "n_components", self.n_components, 1, 10_000, integer=True)
        check_number("ClassifierPool", "C", self.C, 1e-9, 1e9)
        if self.windows is None:
            return
        names = tuple(self.windows) if isinstance(self.windows, (tuple, list)) else ()
        for window in names:
            check_choice("ClassifierPool", "windows", window, tuple(ELEVEN))
        if not names or len(set(names)) < len(names):
            raise InvalidArgument(
                "windows of ClassifierPool must be a tuple of one or more different names, such "
                f'as ("whole", "centre"); got {self.windows!r}.'
            )

    def _check_opened(self) -> None:
        kinds = tuple(part.kind for part in self.parts_)
        if kinds != self._kinds() or ("outputs" in kinds) != isinstance(self.network_, str):
            raise InvalidArgument("parts_ and network_ are not those of the kind.")

    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        row: np.ndarray = self.transform([pixels])[0]
        return row

    def _columns(self) -> list[Column]:
        """Name each column by its classifier and its window."""
        check_is_fitted(self, "parts_")
        columns: list[Column] = []
        taken: set[str] = set()
        for part in self.parts_:
            for window in part.windows:
                place = "whole picture" if window == "whole" else window
                link = ", " if part.kind == "clusters" else " in the "
                for label in part.labels:
                    name = label + link + place
                    # A class of the pool may have the name of an ImageNet class.
                    if name in taken:
                        name = f"{label} ({part.kind}){link}{place}"
                    taken.add(name)
                    columns.append(Column(name, ELEVEN[window]))
        return columns

    def _kinds(self) -> tuple[str, ...]:
        return tuple(self.kind) if isinstance(self.kind, (tuple, list)) else (self.kind,)

    def _windows_of(self, kind: str) -> tuple[str, ...]:
        if kind == "clusters":
            return ("whole",)
        return tuple(self.windows or (ELEVEN if kind == "windows" else SIX))

    def _sight(self, looks: dict[str, tuple[str, ...]]) -> Sight:
        """Return what must be described of a picture for these windows of these kinds."""
        hog_windows = [w for kind in looks if kind != "outputs" for w in looks[kind]]
        network = None
        if "outputs" in looks:
            network = open_network(self.embedder)
            pixels = np.zeros((1, network.size_px, network.size_px, 3), dtype=np.uint8)
            logits = network.run(pixels).logits
            if logits is None or logits.shape != (1, N_CLASSES):
                raise EmbedderError(
                    f"The network {str(self.embedder)!r} has no output of {N_CLASSES} ImageNet "
                    'classes, which a pool of kind "outputs" is made of; give one that has.'
                )
        return Sight(tuple(dict.fromkeys(hog_windows)), looks.get("outputs", ()), network)

    def _look(
        self,
        sight: Sight,
        X: Collection | Iterable[Any],
        parts: Sequence[PoolPart] = (),
    ) -> np.ndarray:
        """Return the descriptors of each image, or what the parts make of them."""

        def process(batch: Sequence[Any]) -> np.ndarray:
            rows = sight.describe(decode_batch(batch))
            if not parts:
                return rows
            return np.concatenate([_evaluate(part, sight, rows) for part in parts], axis=1)

        return map_batches(process, X, n_jobs=self.n_jobs)

    def _fit_part(
        self,
        kind: str,
        windows: tuple[str, ...],
        sight: Sight,
        rows: np.ndarray,
        index: np.ndarray | None,
    ) -> PoolPart:
        """Train the classifiers of one kind on descriptors of all images."""
        if kind == "outputs" or index is None or self.classes_ is None:
            return PoolPart(kind, windows, class_names(), fit_maps(sight.outputs(rows)))
        labels = tuple(str(label) for label in self.classes_)
        n_jobs = self.n_jobs
        problem: dict[str, Any] = {"index": index, "n_classes": len(labels)}
        problem |= {"C": float(self.C), "seed": check_seed(type(self).__name__, self.random_state)}
        if kind == "clusters":
            X = sight.hog(rows, "whole")
            counts, functions = train_on_clusters(
                X, n_clusters=self.n_clusters, n_jobs=n_jobs, **problem
            )
            done = [functions]
            labels = tuple(
                f"{label}, cluster {k + 1} of {count}"
                for label, count in zip(labels, counts, strict=True)
                for k in range(count)
            )
        else:

            def train(window: str) -> LinearFunctions:
                X = sight.hog(rows, window)
                return train_on_window(X, n_components=self.n_components, **problem)

            done = list(map_in_order(train, windows, n_jobs=n_jobs))
        return PoolPart(
            kind,
            windows,
            labels,
            join_maps([functions.maps for functions in done]),
            np.stack([functions.coef for functions in done]),
            np.stack([functions.intercept for functions in done]),
        )


def _evaluate(part: PoolPart, sight: Sight, rows: np.ndarray) -> np.ndarray:
    """Return the values of a part's columns for described images."""
    if part.coef is None or part.intercept is None:
        return part.maps.apply(sight.outputs(rows))
    margins = np.empty((len(rows), *part.intercept.shape))
    for w, window in enumerate(part.windows):
        for i, x in enumerate(sight.hog(rows, window)):
            # One picture at a time and without BLAS, whose sums depend on the size of the batch
            # and on the number of its threads.
            margins[i, w] = np.einsum("kd,d->k", part.coef[w], x) + part.intercept[w]
    return part.maps.apply(margins.reshape(len(rows), -1))


def _read_outputs(outputs: Any, windows: Sequence[str]) -> np.ndarray:
    """Return outputs in windows, finite numbers (n, n_windows * 1000)."""
    rows = np.asarray(outputs)
    wanted = len(windows) * N_CLASSES
    if rows.ndim != 2 or not len(rows) or rows.shape[1] != wanted:
        raise InvalidArgument(
            f"outputs of ClassifierPool must have {wanted:,} columns, {N_CLASSES} for each of the "
            f"windows {', '.join(windows)}, and a row for each image; got shape {rows.shape}."
        )
    if rows.dtype.kind not in "fiu" or not np.isfinite(rows).all():
        raise InvalidArgument("outputs of ClassifierPool must be finite numbers; some are not.")
    return rows


def _read_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the class of each picture."""
    if y is None:
        raise InvalidArgument(
            'ClassifierPool needs y, a class for each image, unless kind is "outputs".'
        )
    labels = np.asarray(y)
    if labels.ndim != 1 or any(label is None or label != label for label in labels.tolist()):
        raise InvalidArgument(
            "y of ClassifierPool must be a flat list with a class for each image and none missing."
        )
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InvalidArgument(
            f"ClassifierPool needs images of at least 2 classes to tell apart; y has "
            f"{len(classes)}: {', '.join(map(str, classes))}."
        )
    return classes, index

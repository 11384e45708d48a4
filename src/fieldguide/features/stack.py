"""A stack of descriptors by name, as rows that a linear function can tell apart.

    deep      an ImageNet network's view of the middle of the picture
    closer    its view of the subject, which is found first
    peaks     the most that it sees of anything at any place
    subject   what it sees at the places of the subject, on average
    quarters  what it sees in each quarter of the picture, on average
    words     visual words in a pyramid of grids           χ² kernel
    hog       edges by direction and place                 intersection kernel
    gist      the spatial envelope of a scene              Gaussian kernel
    texture   local binary patterns                        χ² kernel
    color     colours by name and place                    χ² kernel

The first five are those of :mod:`fieldguide.features.looks`; ``looks`` stands for all of them.

Histograms are told apart by kernels, not by their plain products. Each part is therefore mapped
to coordinates whose products are its kernel, by Nyström's method on landmarks z of a sample:

    φ(x) = Λ^(−½) Uᵀ [κ(x, z_1) … κ(x, z_m)]ᵀ,    [κ(z_i, z_j)] = U Λ Uᵀ

Each part is scaled to length 1, and all parts count alike, but for the quarters: where things are
tells pictures apart that people have aligned, and misleads where birds sit anywhere.
The rows are short, a few hundred columns per part, however many bins the histograms have.

Reference: C. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines",
NIPS (2000).
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from PIL import Image
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import check_number, check_seed
from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide._random import spawn_generators
from fieldguide._saving import Array, Estimator, Number, OrNone, Part, Table
from fieldguide.collection import Collection
from fieldguide.errors import InvalidArgument, UnreadableImageError
from fieldguide.features.bag_of_words import BagOfWords
from fieldguide.features.color_histogram import ColorHistogram
from fieldguide.features.gist import Gist
from fieldguide.features.hog import SpatialHOG
from fieldguide.features.local_binary_patterns import LocalBinaryPatterns
from fieldguide.features.looks import DEEP as DEEP
from fieldguide.features.looks import (
    N_QUARTERS,
    SECOND,
    Looks,
    find_directions,
    look_closer_all,
    picture_cells,
)
from fieldguide.features.looks import QUARTERS as QUARTERS
from fieldguide.features.network import Network, open_network
from fieldguide.features.subject_finder import SubjectFinder
from fieldguide.features.transformer import (
    Column,
    ImageTransformer,
    decode_batch,
    draw_sources,
    map_batches,
    shrink,
)
from fieldguide.kernels import KERNELS, default_gamma
from fieldguide.svm.functions import check_pool

LOOKS = "looks"  # short for the five of the network
CLASSICAL: dict[str, tuple[type[ImageTransformer], str]] = {
    "words": (BagOfWords, "chi2"),
    "hog": (SpatialHOG, "intersection"),
    "gist": (Gist, "rbf"),
    "texture": (LocalBinaryPatterns, "chi2"),
    "color": (ColorHistogram, "chi2"),
}
PART_NAMES = (DEEP, *SECOND, *CLASSICAL)
_SIDE_PX = 160  # what the classical descriptors look at
N_FOR_SUBJECT = 300  # pictures that the finder of subjects learns from
N_DIRECTIONS = 256  # of the cells, in which quarters are told: as good as all of them
_LEAST_SHARE = 1e-6  # of the largest eigenvalue: smaller ones are rounding


class Landmarks(NamedTuple):
    """Coordinates whose products are a kernel."""

    rows: np.ndarray  # (m, n_bins) float32
    mixing: np.ndarray  # (m, n_columns) float32, U Λ^(−½)
    gamma: float | None

    def coordinates(self, kernel: str, X: np.ndarray) -> np.ndarray:
        """Return φ(x) of each row, scaled to length 1."""
        options = {} if self.gamma is None else {"gamma": self.gamma}
        return _scale_rows(KERNELS[kernel](X, self.rows, **options) @ self.mixing)


LANDMARKS = Part(
    Landmarks,
    {
        "rows": Array("float32", "n_landmarks", "n_bins"),
        "mixing": Array("float32", "n_landmarks", "n_columns"),
        "gamma": OrNone(Number(above=0)),
    },
)


class FeatureStack(ImageTransformer):
    """Several descriptors side by side, in coordinates for linear functions.

    Parameters
    ----------
    parts : str
        One or more of deep, closer, peaks, subject, quarters, words, hog, gist, texture, color,
        joined by ``+``; looks is short for the first five.
    n_sample : int
        Largest number of pictures, drawn at random, from which words and landmarks are learned.
    n_landmarks : int
        Largest number of these pictures that become landmarks, and so columns of each classical
        part.
    embedder : path, or list of paths, optional
        For the looks; as of :class:`~fieldguide.features.DeepFeatures`.
    n_jobs : int, optional
        Threads; -1 is all cores. The answer does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed of the sample and of the words.
    quarters_weight : float
        Weight of the part ``quarters`` relative to each of the other parts.

    Attributes
    ----------
    descriptors_ : dict of str to ImageTransformer
        The fitted classical parts.
    landmarks_ : dict of str to Landmarks
        Of the classical parts; the same pictures for all.
    landmark_rows_ : ndarray of int
        Where those pictures stood in the ``X`` of ``fit``; in a guide the numbers of specimens, −1
        for one that is gone.
    finder_ : SubjectFinder or None
        Fitted, with closer, peaks, subject or quarters.
    basis_ : ndarray of shape (n_channels, n_directions) or None
        With quarters: the directions of the network's cells that they are told in.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimens
    >>> from fieldguide.features import FeatureStack
    >>> images = load_specimens(n_per_kind=1, size_px=64).images
    >>> FeatureStack("hog+color", n_landmarks=10).fit(images).transform(images).shape
    (32, 20)
    """

    _fitted: ClassVar = {
        "descriptors_": Table(Estimator(*(make for make, _ in CLASSICAL.values()))),
        "landmarks_": Table(LANDMARKS),
        "landmark_rows_": Array("int64", "n_places", low=-1).once("places_"),
        "finder_": OrNone(Estimator(SubjectFinder)),
        "basis_": OrNone(Array("float32", "n_channels", "n_directions")),
    }

    descriptors_: dict[str, Any]
    landmarks_: dict[str, Landmarks]
    landmark_rows_: np.ndarray
    finder_: SubjectFinder | None
    basis_: np.ndarray | None

    def __init__(
        self,
        parts: str = "deep",
        *,
        n_sample: int = 1000,
        n_landmarks: int = 512,
        embedder: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = 0,
        quarters_weight: float = 0.5,
    ) -> None:
        self.parts = parts
        self.n_sample = n_sample
        self.n_landmarks = n_landmarks
        self.embedder = embedder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.quarters_weight = quarters_weight

    def fit(self, X: Any = None, y: Any = None, *, network: Network | None = None) -> Self:
        """Learn words, landmarks and subjects of pictures ``X``; ``y`` is not looked at.

        Pictures that cannot be read are passed over. ``network`` is one that is open already;
        without it, ``embedder`` is opened.
        """
        self._check_arguments()
        self.descriptors_, self.landmarks_, self.landmark_rows_ = (
            {},
            {},
            np.empty(0, dtype=np.int64),
        )
        self.finder_ = self.basis_ = None
        parts = split_parts(self.parts)
        names = [part for part in parts if part in CLASSICAL]
        is_second = any(part in SECOND for part in parts)
        if not names and not is_second:
            return self
        seed = check_seed(type(self).__name__, self.random_state)
        seeds = spawn_generators(seed, 2)
        sources = draw_sources(() if X is None else X, self.n_sample, seeds[0])
        if is_second:
            maps = self._read_maps(sources, network or open_network(self.embedder))
            with one_blas_thread():
                self.finder_ = SubjectFinder().fit(maps)
                if QUARTERS in parts:
                    self.basis_ = find_directions(maps, N_DIRECTIONS)
        if not names:
            return self
        places, sample = self._read_sample(sources)
        chosen = np.sort(seeds[1].permutation(len(sample))[: self.n_landmarks])
        self.landmark_rows_ = places[chosen]
        for name in names:
            make, kernel = CLASSICAL[name]
            descriptor = make(n_jobs=self.n_jobs)
            if "random_state" in descriptor.get_params():
                descriptor.set_params(random_state=seed)
            rows = descriptor.fit(sample).transform(sample)
            self.descriptors_[name] = descriptor
            self.landmarks_[name] = find_landmarks(rows, chosen, kernel)
        return self

    def transform(self, X: Collection | Iterable[Any]) -> np.ndarray:
        """Return the coordinates of each picture, in order.

        Parameters
        ----------
        X : Collection, or iterable of arrays, Pillow images or paths
            It is read once, a few images at a time.

        Returns
        -------
        ndarray of shape (n_images, n_columns), float32
            Rows of length 1, but for pictures in which a part finds nothing.
        """
        network = self._open_network()

        def process(batch: Sequence[Any]) -> np.ndarray:
            images = decode_batch(batch)
            return self.describe(images, _embed(images, network), self._look(images, network))

        with one_blas_thread():
            return map_batches(process, X, n_jobs=self.n_jobs)

    def describe(
        self,
        images: Sequence[Image.Image],
        embedding: np.ndarray | None = None,
        looks: Sequence[Looks] = (),
    ) -> np.ndarray:
        """Return the coordinates of pictures in memory, in this thread.

        For a stack with deep, ``embedding`` is what the network says of them, (n_images, n); for
        one with a second look, ``looks`` are what :meth:`look_closer` returns of each.
        """
        check_is_fitted(self)
        names = split_parts(self.parts)
        parts = [look.as_parts() for look in looks]
        is_classical = any(name in CLASSICAL for name in names)
        small = [shrink(image, _SIDE_PX) for image in images] if is_classical else []
        blocks = []
        for name in names:
            if name == DEEP:
                assert embedding is not None
                blocks.append(_scale_rows(embedding))
            elif name in SECOND:
                blocks.append(_scale_rows(np.stack([each[name].pool() for each in parts])))
            else:
                describe, landmarks = self.descriptors_[name]._describe, self.landmarks_[name]
                # One picture at a time: a product of many rows is summed in another order.
                rows = [
                    landmarks.coordinates(CLASSICAL[name][1], describe(image)[None])
                    for image in small
                ]
                blocks.append(np.concatenate(rows))
        weights = np.array([self.quarters_weight if name == QUARTERS else 1.0 for name in names])
        weights = (weights / np.linalg.norm(weights)).astype(np.float32)
        return np.concatenate([w * b for w, b in zip(weights, blocks, strict=True)], axis=1)

    def look_closer(self, image: Image.Image, network: Network) -> Looks | None:
        """Return the second look at a picture; None for a stack without one."""
        looks = self.look_closer_all([image], network)
        return looks[0] if looks else None

    def look_closer_all(self, images: Sequence[Image.Image], network: Network) -> list[Looks]:
        """Return the second look at each picture; none for a stack without one."""
        check_is_fitted(self)
        if self.finder_ is None:
            return []
        return look_closer_all(images, network, self.finder_, self.basis_)

    def split_columns(self, n_columns: int) -> dict[str, slice]:
        """Return the columns of each part, of a row of ``n_columns``."""
        check_is_fitted(self)
        names = split_parts(self.parts)
        widths = {name: self._count_columns(name) for name in names if name != DEEP}
        n_rest = n_columns - sum(widths.values())  # of deep, if it is a part
        columns, start = {}, 0
        for name in names:
            end = start + widths.get(name, n_rest)
            columns[name], start = slice(start, end), end
        return columns

    def _count_columns(self, name: str) -> int:
        """Return how many columns a part other than deep has."""
        if name not in SECOND:
            return int(self.landmarks_[name].mixing.shape[1])
        if name == QUARTERS:
            assert self.basis_ is not None
            n_columns: int = N_QUARTERS * self.basis_.shape[1]
            return n_columns
        assert self.finder_ is not None
        return len(self.finder_.mean_)

    def _look(self, images: Sequence[Image.Image], network: Network | None) -> list[Looks]:
        return [] if network is None else self.look_closer_all(images, network)

    def _read_maps(self, sources: Sequence[tuple[int, Any]], network: Network) -> list[np.ndarray]:
        """Return the maps of a few of the pictures, evenly taken."""
        step = max(1, -(-len(sources) // N_FOR_SUBJECT))

        def see(source: tuple[int, Any]) -> np.ndarray | None:
            try:
                return picture_cells(decode_batch([source])[0], network)
            except UnreadableImageError:
                return None

        with one_blas_thread():
            seen = map_in_order(see, sources[::step], n_jobs=self.n_jobs)
            maps = [cells for cells in seen if cells is not None]
        if not maps:
            raise UnreadableImageError("There is no image to learn from; give at least one.")
        return maps

    def _check_arguments(self) -> None:
        split_parts(self.parts)
        check_number("FeatureStack", "n_sample", self.n_sample, 1, 100_000, integer=True)
        check_number("FeatureStack", "n_landmarks", self.n_landmarks, 1, 100_000, integer=True)
        check_number("FeatureStack", "quarters_weight", self.quarters_weight, 0.01, 100)

    def _check_opened(self) -> None:
        parts = split_parts(self.parts)
        names = [name for name in parts if name in CLASSICAL]
        if (self.finder_ is not None) != any(part in SECOND for part in parts):
            raise InvalidArgument(f"finder_ must be of {self.parts!r}.")
        if (self.basis_ is not None) != (QUARTERS in parts):
            raise InvalidArgument(f"basis_ must be of {self.parts!r}.")
        if self.basis_ is not None and len(self.basis_) != len(getattr(self.finder_, "mean_", ())):
            raise InvalidArgument("basis_ and finder_ must be of the same network.")
        if not list(self.descriptors_) == list(self.landmarks_) == names:
            raise InvalidArgument(f"descriptors_ and landmarks_ must be of {self.parts!r}.")
        for name in names:
            made, kernel = CLASSICAL[name]
            descriptor, (rows, _, gamma) = self.descriptors_[name], self.landmarks_[name]
            n_bins = len(descriptor._columns()) if type(descriptor) is made else -1
            if rows.shape[1] != n_bins or (gamma is None) == (kernel == "rbf"):
                raise InvalidArgument(f"landmarks_.{name} do not fit descriptors_.{name}.")
            check_pool(kernel, rows)

    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        images, network = [Image.fromarray(pixels)], self._open_network()
        rows = self.describe(images, _embed(images, network), self._look(images, network))
        row: np.ndarray = rows[0]
        return row

    def _columns(self) -> list[Column]:
        columns = []
        for name in split_parts(self.parts):
            if name == DEEP:
                network = self._open_network()
                assert network is not None
                blank = np.zeros((1, network.size_px, network.size_px, 3), dtype=np.uint8)
                n = network.run(blank).embedding.shape[1]
            else:
                check_is_fitted(self)
                n = self._count_columns(name)
            columns += [Column(f"{name} {i}") for i in range(n)]
        return columns

    def _open_network(self) -> Network | None:
        is_deep = any(part not in CLASSICAL for part in split_parts(self.parts))
        return open_network(self.embedder) if is_deep else None

    def _read_sample(
        self, sources: Sequence[tuple[int, Any]]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the places and the pixels of the pictures to learn from."""

        def read(source: Any) -> np.ndarray | None:
            try:
                return shrink(decode_batch([source])[0], _SIDE_PX)
            except UnreadableImageError:
                return None

        pictures = map_in_order(read, sources, n_jobs=self.n_jobs)
        read_ones = [(i, p) for (i, _), p in zip(sources, pictures, strict=True) if p is not None]
        if not read_ones:
            raise UnreadableImageError("There is no image to learn from; give at least one.")
        return np.array([i for i, _ in read_ones]), [picture for _, picture in read_ones]


def _embed(images: Sequence[Image.Image], network: Network | None) -> np.ndarray | None:
    if network is None:
        return None
    return network.see(images).embedding


def split_parts(parts: Any) -> tuple[str, ...]:
    """Return the names of the parts, in their order; refuse what is not one, or stands twice."""
    names = tuple(parts.split("+")) if isinstance(parts, str) else ()
    if LOOKS in names:
        at = names.index(LOOKS)
        names = (*names[:at], DEEP, *SECOND, *names[at + 1 :])
    if not names or len(set(names)) < len(names) or not set(names) <= set(PART_NAMES):
        raise InvalidArgument(
            f"features must be one or more of {', '.join(PART_NAMES)}, joined by '+', each once, "
            f"where {LOOKS} stands for the first five; got {parts!r}."
        )
    return names


def find_landmarks(rows: np.ndarray, chosen: np.ndarray, kernel: str) -> Landmarks:
    """Return the landmarks ``chosen`` among the rows of a sample."""
    gamma = float(default_gamma(rows, kernel)) if kernel == "rbf" else None
    landmarks = np.ascontiguousarray(rows[chosen], dtype=np.float32)
    options = {} if gamma is None else {"gamma": gamma}
    values, vectors = np.linalg.eigh(KERNELS[kernel](landmarks.astype(np.float64), **options))
    is_kept = values > _LEAST_SHARE * max(values[-1], 1e-300)
    if not is_kept.any():  # every landmark is an empty histogram
        return Landmarks(landmarks, np.zeros((len(landmarks), 1), np.float32), gamma)
    # Largest first, each with its largest entry positive: the same on every machine.
    vectors = vectors[:, is_kept][:, ::-1]
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    mixing = vectors / np.sqrt(values[is_kept][::-1])
    return Landmarks(landmarks, mixing.astype(np.float32), gamma)


def _scale_rows(rows: np.ndarray) -> np.ndarray:
    """Return rows of length 1; a row of zeros stays."""
    rows = rows.astype(np.float32)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit_rows: np.ndarray = rows / np.maximum(length, np.float32(1e-12))
    return unit_rows

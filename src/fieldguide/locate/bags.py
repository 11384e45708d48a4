"""Bags of regions: one array of rows for each picture, and what all classifiers of bags share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import check_classes
from fieldguide._saving import Labels, Saved, Size
from fieldguide.errors import InvalidArgument
from fieldguide.locate.finding import ClipRegions, find_objects, score_bags
from fieldguide.locate.superpixels import Regions


class Bags(NamedTuple):
    """The regions of all pictures, one after the other."""

    X: Any  # (n_regions, n_features) array or csr_array, float32 or float64
    start: np.ndarray  # (n_bags + 1,): where each bag begins, and the end

    def rows(self, bags: np.ndarray) -> np.ndarray:
        """Return the places of the regions of some bags, bag by bag."""
        parts = [np.arange(self.start[i], self.start[i + 1]) for i in bags]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)


class BagClassifier(Saved, ClassifierMixin, BaseEstimator, ABC):
    """Base of classifiers that see bags of regions and learn from the labels of bags alone.

    A subclass trains one function per question in ``_train``: for two classes the one question is
    whether a bag is of ``classes_[1]``, for more there is one for each class against the rest.
    """

    classes_: np.ndarray
    n_features_in_: int

    _fitted: ClassVar = {"n_features_in_": Size("n_features"), "classes_": Labels("n_classes")}

    def fit(self, bags: Sequence[Any], y: Any) -> Self:
        """Learn from bags and their labels.

        Parameters
        ----------
        bags : sequence of n arrays or sparse arrays of shape (m_i, n_features)
            The regions of each picture, at least one each.
        y : array-like of shape (n,)
            −1 and +1, or the classes of the pictures.
        """
        self._check_arguments()
        data = stack_bags(type(self).__name__, bags)
        self.classes_, index = self._check_labels(y, len(data.start) - 1)
        self.n_features_in_ = data.X.shape[1]
        self._train(data, index)
        return self

    def instance_scores(self, bags: Sequence[Any]) -> list[np.ndarray]:
        """Return the score of each region: for each bag (m_i,), or (m_i, n_classes) for several.

        Positive scores speak for ``classes_[1]``, or for the class of the column.
        """
        data = self._check_bags(bags)
        scores = self._score(data.X)
        scores = scores[:, 0] if len(self.classes_) == 2 else scores
        return [scores[a:b] for a, b in zip(data.start, data.start[1:], strict=False)]

    def decision_function(self, bags: Sequence[Any]) -> np.ndarray:
        """Return the score of each bag, (n,), or (n, n_classes) for several classes."""
        data = self._check_bags(bags)
        scores = self._score(data.X)
        columns = [self._score_bags(column, data.start) for column in scores.T]
        return columns[0] if len(self.classes_) == 2 else np.stack(columns, axis=1)

    def predict(self, bags: Sequence[Any]) -> np.ndarray:
        """Return the class of each bag."""
        scores = self.decision_function(bags)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        classes: np.ndarray = self.classes_[best]
        return classes

    def locate(
        self,
        bags: Sequence[Any],
        regions: Sequence[Regions | ClipRegions],
        target: Any = None,
        *,
        contrast: Sequence[np.ndarray] | None = None,
    ) -> list[Any]:
        """Return where the objects of a class are: scores, mask and boxes of each picture.

        Parameters
        ----------
        bags : sequence of arrays of shape (m_i, n_features)
        regions : sequence of Regions, or of :class:`~fieldguide.video.Supervoxels` for clips
            Where the rows of each bag lie in the picture.
        target : class, optional
            Which class to look for; ``classes_[1]`` of two by default.
        contrast : sequence of arrays of shape (m_i,), optional
            How far each region of a picture stands out from its border: what scores high and
            stands out is found, as in a guide; see :func:`~fieldguide.locate.find_objects`.

        Returns
        -------
        list of Finding, or of :class:`~fieldguide.video.TubeFinding` for clips
        """
        scores = self.instance_scores(bags)
        for name, given in (("regions", regions), ("contrast", contrast)):
            if given is not None and len(given) != len(scores):
                raise InvalidArgument(
                    f"{name} of {type(self).__name__}.locate must be as many as the {len(scores)} "
                    f"bags; got {len(given)}."
                )
        column = self._find_column(target)
        found: list[Any] = []
        for i, (places, values) in enumerate(zip(regions, scores, strict=True)):
            turned = self._turn(values, column)
            score = float(self._score_bags(turned, np.array([0, len(turned)]))[0])
            standing = None if contrast is None else contrast[i]
            if isinstance(places, Regions):
                objects = find_objects(places, turned, contrast=standing)
                found.append(objects._replace(score=score))
            elif standing is None:
                found.append(places.find(turned)._replace(score=score))
            else:
                raise InvalidArgument(
                    f"contrast of {type(self).__name__}.locate is for pictures, and the regions of "
                    f"bag {i} are those of a clip; leave it out."
                )
        return found

    def _check_opened(self) -> None:
        if len(self.classes_) < 2 or self._count_functions() != len(self._questions()):
            raise InvalidArgument(f"The {self._count_functions()} functions do not fit classes_.")

    @abstractmethod
    def _count_functions(self) -> int:
        """Return how many functions there are."""

    @abstractmethod
    def _check_arguments(self) -> None:
        """Refuse arguments that make no sense."""

    @abstractmethod
    def _train(self, data: Bags, index: np.ndarray) -> None:
        """Learn from bags and the index of each one's class."""

    @abstractmethod
    def _score(self, X: Any) -> np.ndarray:
        """Return the scores of regions, (n_regions, n_questions)."""

    def _score_bags(self, scores: np.ndarray, start: np.ndarray) -> np.ndarray:
        return score_bags(scores, start)

    def _questions(self) -> list[int]:
        """Return the class that each function speaks for."""
        return [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

    def _find_column(self, target: Any) -> int:
        if target is None and len(self.classes_) == 2:
            return 1
        places = np.flatnonzero(self.classes_ == target)
        if not len(places):
            raise InvalidArgument(
                f"target of {type(self).__name__}.locate must be one of the classes "
                f"{', '.join(map(repr, self.classes_.tolist()))}; got {target!r}."
            )
        return int(places[0])

    def _turn(self, values: np.ndarray, column: int) -> np.ndarray:
        if values.ndim == 1:
            return values if column == 1 else -values
        return values[:, column]

    def _check_labels(self, y: Any, n_bags: int) -> tuple[np.ndarray, np.ndarray]:
        name = type(self).__name__
        labels = np.asarray(y)
        if labels.shape != (n_bags,):
            raise InvalidArgument(
                f"y of {name} must have one label for each of the {n_bags} bags; "
                f"got shape {labels.shape}."
            )
        check_classes(labels)
        classes, index = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise InvalidArgument(
                f"y of {name} must have bags of at least 2 classes; all {n_bags} are "
                f"{classes.tolist()[0]!r}: add pictures without the object."
            )
        return classes, index

    def _check_bags(self, bags: Sequence[Any]) -> Bags:
        check_is_fitted(self)
        data = stack_bags(type(self).__name__, bags)
        if data.X.shape[1] != self.n_features_in_:
            raise InvalidArgument(
                f"bags of {type(self).__name__} must have the {self.n_features_in_} columns it "
                f"was fitted with; got {data.X.shape[1]}."
            )
        return data

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        return tags


def stack_bags(owner: str, bags: Sequence[Any]) -> Bags:
    """Return the regions of all bags as one matrix; refuse what is no bag."""
    if isinstance(bags, np.ndarray) and bags.ndim == 2:
        raise InvalidArgument(
            f"bags of {owner} must be a sequence of arrays, one for each picture; got one array "
            f"of shape {bags.shape}: put it into a list."
        )
    parts = [bag if sparse.issparse(bag) else np.asarray(bag) for bag in bags]
    if not parts:
        raise InvalidArgument(f"bags of {owner} must hold at least one bag; got none.")
    for i, part in enumerate(parts):
        if part.ndim != 2 or part.shape[1] == 0:
            raise InvalidArgument(
                f"Each bag of {owner} must have the shape (regions, features); bag {i} has "
                f"{part.shape}."
            )
        if part.shape[0] == 0:
            raise InvalidArgument(
                f"Bag {i} of {owner} has no region; leave it out, or let the whole picture be one."
            )
        if part.shape[1] != parts[0].shape[1]:
            raise InvalidArgument(
                f"All bags of {owner} must have the same columns; bag 0 has {parts[0].shape[1]} "
                f"and bag {i} has {part.shape[1]}."
            )
    is_sparse = any(map(sparse.issparse, parts))
    X = sparse.vstack(parts, "csr") if is_sparse else np.concatenate(parts)
    if X.dtype not in (np.float32, np.float64):
        X = _to_float(owner, X)
    if not np.isfinite(np.sum(X.data if is_sparse else X, dtype=np.float64)):
        raise InvalidArgument(f"bags of {owner} hold NaN or infinity; remove or fill those.")
    return Bags(X, np.concatenate([[0], np.cumsum([part.shape[0] for part in parts])]))


def _to_float(owner: str, X: Any) -> Any:
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"bags of {owner} must hold numbers; got {X.dtype}.") from None

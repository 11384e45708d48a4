"""A sighting: all that is known of one new image, decoded once, each thing computed once.

A clip is named by its frames as a specimen is (:mod:`fieldguide.features.frames`); where its
subject is and what decides is shown on the frame that tells most.
"""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from PIL import Image
from scipy.special import softmax

from fieldguide.collection import Picture, read_picture_or_clip, to_rgb_array
from fieldguide.errors import CollectionError, GuideError, UnreadableImageError
from fieldguide.features import (
    TAUGHT,
    VOCABULARY,
    Looks,
    SeenSubject,
    Subject,
    WordModel,
    map_subject,
    pool_logarithms,
    pool_outputs,
    pool_rows,
    pool_scores,
    say_of_both,
    score_subject,
    see_subject,
)
from fieldguide.features.network import SIX, Outputs
from fieldguide.guide.answer import NamedKind
from fieldguide.guide.measure import LARGE_PX, measure_frames
from fieldguide.guide.models import Models
from fieldguide.guide.summaries import normalise_rows
from fieldguide.guide.views import FoundSubject

Value = TypeVar("Value")
N_NEIGHBOURS = 10


class Sighting:
    """One new image, as a guide sees it. Whatever is asked for is computed then, and kept.

    Make one with :meth:`Guide.look`.

    Parameters
    ----------
    source : path, bytes, array, Pillow image or Picture
        Of an image file or a video file, or the image itself.
    models : Models
        Of the guide.

    Attributes
    ----------
    image : PIL.Image.Image
        Upright 8-bit RGB; smaller than the file where that is large. Of a clip, one frame.
    picture : Picture
        The image with what its file says of it, and with the other frames of a clip.
    size : (int, int)
        Width and height of the upright picture in the file.

    Examples
    --------
    >>> import tempfile
    >>> from fieldguide import Collection, Guide
    >>> greys = [np.full((48, 48, 3), v, dtype=np.uint8) for v in (10, 20, 30, 220, 230, 240)]
    >>> with tempfile.TemporaryDirectory() as out:
    ...     guide = Guide.build(Collection.from_arrays(greys, list("dddlll")), out)
    ...     sighting = guide.look(np.full((48, 48, 3), 15, dtype=np.uint8))
    ...     sighting.kinds[0].name, sighting.size
    ('d', (48, 48))
    """

    def __init__(self, source: Any, models: Models) -> None:
        self.picture = _read_picture(source)
        self.image, self.size = self.picture.image, (self.picture.width, self.picture.height)
        self.models = models
        self._seen: dict[str, Outputs] = {}
        self._kept: dict[str, Any] = {}

    def see(self, *windows: str) -> list[Outputs]:
        """Return what the network says of some of its six windows, a row each."""
        network = self.models.network
        new = [window for window in windows if window not in self._seen]
        if new:
            boxes = [SIX[window] for window in new]
            outputs = network.see([self.image], boxes, cells=network.stride_px is not None)
            for k, window in enumerate(new):
                own = (None if part is None else part[[k]] for part in outputs)
                self._seen[window] = Outputs(*own)  # type: ignore[arg-type]
        return [self._seen[window] for window in windows]

    def keep(self, name: str, compute: Callable[[], Value]) -> Value:
        """Return what a chapter computes of the image; the second time, the same again."""
        if name not in self._kept:
            self._kept[name] = compute()
        value: Value = self._kept[name]
        return value

    @cached_property
    def properties(self) -> np.ndarray:
        """What the picture is like, (1, n_properties)."""
        return measure_frames(self.picture.images, self.image.size)[None]

    @property
    def looks(self) -> Looks | None:
        """The second look; None in a guide without."""
        return self._looks[self.picture.telling] if self._looks else None

    @cached_property
    def _looks(self) -> list[Looks]:
        """The second look at each frame; none in a guide without."""
        stack = self.models.stack
        if stack is None:
            return []
        return stack.look_closer_all(self.picture.images, self.models.network)

    @cached_property
    def seen(self) -> np.ndarray | None:
        """What is seen of the subject, (1, n_words); None in a guide without a second look."""
        if not self._looks:
            return None
        return pool_scores(np.stack([score_subject(each) for each in self._subjects]))[None]

    @cached_property
    def map(self) -> np.ndarray | None:
        """The map of the subject, (1, MAP_SIZE); None in a guide without a second look."""
        if not self._looks:
            return None
        return map_subject(self._subjects[self.picture.telling])[None]

    @cached_property
    def _subjects(self) -> list[SeenSubject | None]:
        return [
            see_subject(np.asarray(image), looks.subject)
            for image, looks in zip(self.picture.images, self._looks, strict=True)
        ]

    @cached_property
    def _first(self) -> Outputs:
        """What the network says of the first look, of a clip on average."""
        if self.picture.clip is None:
            return self.see("whole")[0]
        return pool_outputs(self.models.network.see(self.picture.images))

    @cached_property
    def row(self) -> np.ndarray:
        """What it is compared by, (1, n_columns), as the specimens have theirs."""
        models = self.models
        embedding = self._first.embedding
        if models.stack is not None:
            images = self.picture.images
            each = np.repeat(embedding, len(images), axis=0)
            row = pool_rows(models.stack.describe(images, each, self._looks))[None]
        else:
            row = normalise_rows(embedding)
        if row.shape[1] != models.rows.shape[1]:
            raise GuideError(
                f"The network gives {row.shape[1]} numbers and the guide has "
                f"{models.rows.shape[1]}; use the network that the guide was built with."
            )
        return row

    @cached_property
    def nearest(self) -> np.ndarray:
        """The specimens that look most like it, nearest first."""
        nearest: np.ndarray = self.models.nearest.find(self.row, N_NEIGHBOURS)[0]
        return nearest

    @cached_property
    def is_stranger(self) -> bool:
        """Whether it is less like the specimens than nearly all of them are like others."""
        familiarity = self.models.familiarity
        if familiarity is None:
            return False
        kind = self.kinds[0].name if self.kinds else None
        measured = familiarity.measure(self.row, self.models.rows, self.nearest, kind)
        return measured < familiarity.least

    @cached_property
    def is_empty(self) -> bool:
        """Whether no subject stands out as one does in nearly all specimens."""
        least = self.models.least_subject
        if least is None or self.looks is None:
            return False
        return bool(self.looks.subject.confidence < least)

    @cached_property
    def word_scores(self) -> np.ndarray:
        """How far it shows each word of the guide, (n_words,).

        What the network says is read as for the specimens, together with what it says of the
        nearest ones; what the picture and its subject show is measured. The owner's words, which
        a new image lacks, are what detectors say that were trained on the annotated specimens;
        words without a good detector are those that most of its nearest specimens show. Taught
        words are what was learnt of them.
        """
        models, said = self.models, self._said
        chances, near = None, None
        if said is not None and models.said is not None:
            chances = softmax(said, axis=1)
            near = [softmax(np.asarray(models.said[self.nearest]), axis=1)]
        measured = models.word_model.transform(chances, self.properties, seen=self.seen, near=near)
        borrowed = models.attributes[self.nearest].mean(axis=0)
        is_measured = np.array([s in WordModel.MEASURED for s in measured.sources], dtype=bool)
        scores: np.ndarray = np.where(is_measured, np.nan_to_num(measured.scores[0]), borrowed)
        place = {name: j for j, name in enumerate(measured.names)}
        if models.vocabulary is not None:
            own = self.see("whole")[0].embedding
            told = models.vocabulary.tell_new(own, models.embeddings(self.nearest))
            for name, source in zip(measured.names, measured.sources, strict=True):
                if source == VOCABULARY:
                    scores[place[name]] = told.get(name, 0.0)
        if models.annotation is not None:
            detected = models.annotation.detect(self.row)[0]
            for name, score in zip(models.annotation.names, detected, strict=True):
                if name in place:
                    scores[place[name]] = score
        for name, source in zip(measured.names, measured.sources, strict=True):
            lesson = models.lessons.get(name)
            if source == TAUGHT and lesson is not None and lesson.is_enough:
                scores[place[name]] = models.learn(lesson).score(self.row)
        return scores

    @cached_property
    def _said(self) -> np.ndarray | None:
        """What the network says of it, (1, n_classes), as of the specimens."""
        logits = self._first.logits
        if logits is None or not self._looks:
            return logits
        said = [say_of_both(logits[0], looks, self.models.network) for looks in self._looks]
        return pool_logarithms(np.stack(said))[None]

    @cached_property
    def kinds(self) -> tuple[NamedKind, ...]:
        """Every kind with its probability, most probable first; () without a key."""
        key = self.models.key
        if key is None:
            return ()
        probability = key.predict_proba(self.row)[0]
        order = np.argsort(-probability, kind="stable")
        return tuple(NamedKind(str(key.classes_[k]), float(probability[k])) for k in order)


def look_together(sightings: Sequence[Sighting]) -> None:
    """Show pictures to the network as many at once as it is best shown, before more is asked.

    Each sighting keeps what is said of it. On the processor one picture at a time is as quick, and
    nothing is done.
    """
    if not sightings or sightings[0].models.network.n_at_once == 1:
        return
    models = sightings[0].models
    network, still = models.network, [each for each in sightings if each.picture.clip is None]
    for start in range(0, len(still), network.n_at_once):
        some = still[start : start + network.n_at_once]
        outputs = network.see([each.image for each in some], cells=network.stride_px is not None)
        for each, own in zip(some, outputs.split(), strict=True):
            each._seen["whole"] = own
    if models.stack is not None:
        frames = [image for each in sightings for image in each.picture.images]
        looks = iter(models.stack.look_closer_all(frames, network))
        for each in sightings:
            each._looks = list(islice(looks, len(each.picture.images)))


def describe_subject(subject: Subject) -> FoundSubject:
    """Return what is told of a subject."""
    x0, y0, x1, y1 = (round(float(side), 4) for side in subject.box)
    return FoundSubject((x0, y0, x1, y1), round(subject.confidence, 4), len(subject.boxes))


def _read_picture(source: Any) -> Picture:
    """Return a picture or a clip from a path, bytes, Pillow image or array; one that is read
    already as it is."""
    if isinstance(source, Picture):
        return source
    if isinstance(source, (bytes, str, os.PathLike)):
        try:
            return read_picture_or_clip(source, at_least_px=LARGE_PX)
        except UnreadableImageError as error:
            if isinstance(source, bytes):
                raise
            raise UnreadableImageError(f"{os.fspath(source)!r} cannot be used: {error}.") from None
    try:
        image = Image.fromarray(to_rgb_array(source))
    except CollectionError as error:
        raise UnreadableImageError(str(error)) from None
    return Picture(image, *image.size)

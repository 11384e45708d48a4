"""Every error and warning class of the package.

::

    FieldguideError                 something that a person can put right; one sentence
    ├── InvalidArgument             an argument outside what is allowed; a ValueError too
    │   └── TooFewWindows           fewer windows with contrast than words that were asked for
    ├── CollectionError             a folder, sidecar or array that cannot be read as a collection
    │   └── UnreadableImageError    one image file that cannot be read (counted, listed, skipped)
    ├── EmbedderError               a network file that is missing, altered or of the wrong shape
    ├── EditError                   an edit of a guide that cannot be made
    ├── ClusterError                workers of a scheduler that cannot be reached or do not fit
    ├── ModelError                  a model that cannot be saved, or a saved one that is damaged
    │   └── OtherFormError          a saved one with other fields than those of this version
    └── GuideError                  a guide folder that is missing, damaged or of another version
    FieldguideWarning               something that worked, but not as well as it could
"""


class FieldguideError(Exception):
    """Something that a person can put right. The message is one sentence that says how."""


class InvalidArgument(FieldguideError, ValueError):
    """An argument outside what is allowed. The message names the argument and its owner."""


class TooFewWindows(InvalidArgument):
    """More words asked for than the images have windows with contrast."""


class CollectionError(FieldguideError):
    """A folder, sidecar or set of arrays that cannot be read as a collection."""


class UnreadableImageError(CollectionError):
    """One image file that cannot be read. The message is the reason alone, without the path.

    Attributes
    ----------
    passing : bool
        Whether the reason is of the moment, such as a missing permission: try again later.
    """

    def __init__(self, *args: object, passing: bool = False) -> None:
        super().__init__(*args)
        self.passing = passing


class EmbedderError(FieldguideError):
    """A network file that is missing, altered, or not of the shape that we can use."""


class ModelError(FieldguideError, ValueError):
    """A model that cannot be saved, or a saved one that is damaged. The message names the field."""


class OtherFormError(ModelError):
    """A saved model with other fields than this version writes: of another version, or damaged."""


class GuideError(FieldguideError):
    """A guide folder that is missing, damaged, or written by a version that we cannot read."""


class EditError(FieldguideError):
    """An edit of a guide that cannot be made: an unknown verb, target or value."""


class ClusterError(FieldguideError):
    """A scheduler that cannot be reached, or a worker that would not give the same answers."""


class FieldguideWarning(UserWarning):
    """Something that worked, but not as well as it could."""

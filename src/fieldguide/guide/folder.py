"""The files of a guide's folder, and how they are read.

::

    guide.json              format version, edition, settings, seed, versions, fingerprint, accuracy
    editions/N/             what one build computed; the one that guide.json names is the guide
        contents.json       the names of its files
        catalogue.sqlite    specimens, attributes, branches, kinds, files that were skipped
        features/*.npy      embedding, logits, properties, attributes, rows, …: a row per specimen
        models/             key.safetensors + key.json, words.json, stack.safetensors + stack.json,
                            annotation.safetensors + annotation.json, visual_words.json,
                            vocabulary.safetensors + vocabulary.json,
                            owner.safetensors + owner.json, of an attention tree
                            key_plan.safetensors + key_plan.json,
                            familiarity.safetensors + familiarity.json,
                            of a large collection nearest.safetensors + nearest.json,
                            marks.safetensors + marks.json, places.safetensors + places.json
    pictures/               thumbnails, named by the digest of the image; marks/, words/
    build.journal           while a build is under way

editions.py says how they come and go. Guides of format 1 had the files of the edition in the folder
itself, and models in other forms: the next build takes over their measurements.
"""

import os
from collections.abc import Callable
from pathlib import Path
from reprlib import repr as shorten
from typing import Any, Protocol, TypeVar

import numpy as np
from safetensors.numpy import load_file, save_file

from fieldguide._files import encode_json, open_regular, parse_json, read_regular
from fieldguide.errors import GuideError, OtherFormError
from fieldguide.guide.validation import UnsoundError, check_earlier, check_files, check_info

Model = TypeVar("Model")

FORMAT = 3
EDITIONS = "editions"
INFO = "guide.json"
CATALOGUE = "catalogue.sqlite"
KEY = "models/key"
KEY_PLAN = "models/key_plan"
FAMILIARITY = "models/familiarity"
OWNER = "models/owner"
WORDS = "models/words.json"
TEXTS = "models/vocabulary"
STACK = "models/stack"
ANNOTATION = "models/annotation"
VISUAL_WORDS = "models/visual_words.json"
MOVEMENT = "models/movement.json"
# All that a guide of format 1 may have had in its folder besides guide.json and pictures.
FIRST_FORMAT = (
    *(CATALOGUE, WORDS, VISUAL_WORDS),
    *(f"features/{n}.npy" for n in ("embedding", "logits", "properties", "attributes", "rows")),
    *(
        f"models/{model}.{suffix}"
        for model in ("key", "stack", "annotation", "marks", "places")
        for suffix in ("json", "safetensors")
    ),
)


class NewFiles(Protocol):
    """Gives places for the files of an edition that is being written."""

    def new(self, name: str) -> Path:
        """Return where to write a file."""


def edition_folder(root: Path, number: int) -> Path:
    """Return where the files of an edition are."""
    return root / EDITIONS / str(number)


def find_edition(root: Path, info: dict[str, Any]) -> Path:
    """Return where the files of the guide are that ``info`` describes."""
    return root if info["format"] == 1 else edition_folder(root, info["edition"])


def write_model(
    draft: NewFiles, name: str, arrays: dict[str, np.ndarray], settings: dict[str, Any]
) -> None:
    """Write a fitted model: its arrays as safetensors, the rest as JSON."""
    contiguous = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
    save_file(contiguous, draft.new(f"{name}.safetensors"))
    write_record(draft, f"{name}.json", settings)


def write_estimator(draft: NewFiles, name: str, estimator: Any) -> None:
    """Write a fitted estimator; how many threads it used belongs to the machine."""
    write_model(draft, name, *estimator.set_params(n_jobs=1).to_state())


def write_record(draft: NewFiles, name: str, value: dict[str, Any]) -> None:
    """Write a JSON file of an edition."""
    draft.new(name).write_bytes(encode_json(value))


def read_model(
    folder: Path,
    name: str,
    what: str,
    make: Callable[[dict[str, np.ndarray], dict[str, Any]], Model],
) -> Model:
    """Return what ``make`` makes of the arrays and settings of a model; ``what`` names it."""
    path = folder / f"{name}.safetensors"
    try:
        os.close(open_regular(path))
        return make(load_file(path), parse_json(read_regular(folder / f"{name}.json")))
    except OtherFormError as error:
        raise GuideError(
            f"The file {str(path)!r} with the {what} was written by another version "
            f"({str(error).rstrip('.')}); run the same 'fieldguide build' again: the images are "
            "not measured again."
        ) from None
    except MemoryError:
        raise
    except Exception as error:  # what reads a chapter raises nearly anything on a damaged file
        reason = " ".join(str(error).split()).rstrip(".")[:300] or type(error).__name__
        raise GuideError(
            f"The {what} {str(path)!r} cannot be read ({reason}); build the guide again."
        ) from None


def feature_file(name: str) -> str:
    """Return the address of a feature matrix inside the guide."""
    return f"features/{name}.npy"


def read_info(folder: Path, *, older: bool = False) -> dict[str, Any]:
    """Return guide.json of a whole guide.

    ``older`` takes guides of the first format too: their models cannot be read any more, their
    measurements can.
    """
    if not folder.is_dir():
        raise GuideError(
            f"There is no guide {str(folder)!r}; make one with 'fieldguide build FOLDER --out "
            f"{folder}'."
        )
    try:
        check_files(folder)
        info: dict[str, Any] = parse_json(read_regular(folder / INFO))
        version = info["format"]
    except FileNotFoundError:
        if (folder / "build.journal").exists():
            raise GuideError(
                f"The build of {str(folder)!r} was interrupted; run the same 'fieldguide build' "
                "again and it goes on where it stopped."
            ) from None
        raise GuideError(f"{str(folder)!r} is not a guide: it has no {INFO}.") from None
    except UnsoundError as error:
        raise GuideError(f"The guide {str(folder)!r} cannot be opened: {error}.") from None
    except OSError as error:
        why = error.strerror or str(error)
        raise GuideError(f"{INFO} of {str(folder)!r} cannot be read ({why}).") from None
    except (ValueError, TypeError, KeyError):
        raise GuideError(f"{INFO} of {str(folder)!r} is damaged; build the guide again.") from None
    if type(version) is int and version in range(1, FORMAT) and not older:
        raise GuideError(
            f"The guide {str(folder)!r} was built by an earlier version; run the same 'fieldguide "
            "build' again: it takes over what was measured, as far as that still holds."
        )
    if type(version) is not int or version not in range(1, FORMAT + 1):
        raise GuideError(
            f"The guide {str(folder)!r} has format {shorten(version)} and this version reads "
            f"{FORMAT}; use the version that wrote it, or build another guide of the images."
        )
    try:
        (check_info if version == FORMAT else check_earlier)(info)
        if version > 1:
            check_files(folder, find_edition(folder, info))
    except UnsoundError as error:
        raise GuideError(
            f"The guide {str(folder)!r} is damaged ({error}); build it again."
        ) from None
    return info


def stamp_info(folder: Path) -> tuple[int, int, int] | None:
    """Return what changes when another edition becomes the guide; None where there is none."""
    try:
        status = (folder / INFO).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def read_features(folder: Path, name: str, n_rows: int, n_columns: int | None = None) -> np.ndarray:
    """Memory-map a feature matrix; it must have a row per specimen, and so many columns."""
    path = folder / feature_file(name)
    try:
        os.close(open_regular(path))
        array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy raises nearly anything on a damaged header
        reason = " ".join(str(error).split())[:200]
        raise GuideError(
            f"{str(path)!r} cannot be read ({reason}); build the guide again."
        ) from None
    fits = array.ndim == 2 and len(array) == n_rows and array.dtype == np.float32
    if not fits or n_columns not in (None, array.shape[1]):
        raise GuideError(f"{str(path)!r} does not fit the catalogue; build the guide again.")
    return array


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file of a guide holds."""
    try:
        values = parse_json(read_regular(path))
    except (OSError, ValueError) as error:
        raise GuideError(
            f"{str(path)!r} cannot be read ({error}); build the guide again."
        ) from None
    if not isinstance(values, dict):
        raise GuideError(f"{str(path)!r} does not hold what it should; build the guide again.")
    return values

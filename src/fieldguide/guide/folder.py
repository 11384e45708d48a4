"""The files of a guide's folder, and how they are read.

::

    guide.json              format version, edition, settings, seed, versions, fingerprint, accuracy
    editions/N/             what one build computed; the one that guide.json names is the guide
        contents.json       the names of its files
        catalogue.sqlite    specimens, attributes, branches, kinds, files that were skipped
        features/*.npy      embedding, logits, properties, attributes, rows: a row per specimen
        models/             key.safetensors + key.json, words.json, stack.safetensors + stack.json,
                            annotation.safetensors + annotation.json, visual_words.json,
                            owner.safetensors + owner.json, of an attention tree
                            key_plan.safetensors + key_plan.json,
                            familiarity.safetensors + familiarity.json,
                            marks.safetensors + marks.json, places.safetensors + places.json
    pictures/               thumbnails, named by the digest of the image; marks/, words/
    build.journal           while a build is under way

editions.py says how they come and go. Guides of format 1 had the files of the edition in the folder
itself, and models in other forms: the next build takes over their measurements.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from fieldguide._files import encode_json
from fieldguide.errors import GuideError

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
STACK = "models/stack"
ANNOTATION = "models/annotation"
VISUAL_WORDS = "models/visual_words.json"
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
        settings = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        return make(load_file(path), settings)
    except (SafetensorError, KeyError, ValueError, TypeError, OSError, RecursionError) as error:
        raise GuideError(
            f"The {what} {str(path)!r} cannot be read ({str(error).rstrip('.')}); build the guide "
            "again."
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
        info = json.loads((folder / INFO).read_text(encoding="utf-8"))
        version = info["format"]
    except FileNotFoundError:
        if (folder / "build.journal").exists():
            raise GuideError(
                f"The build of {str(folder)!r} was interrupted; run the same 'fieldguide build' "
                "again and it goes on where it stopped."
            ) from None
        raise GuideError(f"{str(folder)!r} is not a guide: it has no {INFO}.") from None
    except (OSError, ValueError, TypeError, KeyError):
        raise GuideError(f"{INFO} of {str(folder)!r} is damaged; build the guide again.") from None
    if version in range(1, FORMAT) and not older:
        raise GuideError(
            f"The guide {str(folder)!r} was built by an earlier version; run the same 'fieldguide "
            "build' again: the images are not measured again."
        )
    if version not in range(1, FORMAT + 1):
        raise GuideError(
            f"The guide {str(folder)!r} has format {version!r} and this version reads {FORMAT}; "
            "use the version that wrote it, or build another guide of the images."
        )
    if version > 1 and not (isinstance(info.get("edition"), int) and info["edition"] > 0):
        raise GuideError(f"{INFO} of {str(folder)!r} is damaged; build the guide again.")
    return info


def stamp_info(folder: Path) -> tuple[int, int, int] | None:
    """Return what changes when another edition becomes the guide; None where there is none."""
    try:
        status = (folder / INFO).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def read_features(folder: Path, name: str, n_rows: int) -> np.ndarray:
    """Memory-map a feature matrix and check that it has a row per specimen."""
    path = folder / feature_file(name)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise GuideError(
            f"{str(path)!r} cannot be read ({error}); build the guide again."
        ) from None
    if array.ndim != 2 or len(array) != n_rows or array.dtype != np.float32:
        raise GuideError(f"{str(path)!r} does not fit the catalogue; build the guide again.")
    return array


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file of a guide holds."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GuideError(
            f"{str(path)!r} cannot be read ({error}); build the guide again."
        ) from None
    if not isinstance(values, dict):
        raise GuideError(f"{str(path)!r} does not hold what it should; build the guide again.")
    return values

"""The files of a guide's folder, and how they are replaced all at once.

::

    guide.json              format version, settings, seed, versions, fingerprint, accuracy
    catalogue.sqlite        specimens, attributes, branches, kinds, files that were skipped
    features/*.npy          embedding, logits, properties, attributes, rows: a row per specimen
    models/                 key.safetensors + key.json, words.json, stack.safetensors + stack.json,
                            annotation.safetensors + annotation.json, visual_words.json,
                            marks.safetensors + marks.json
                            places.safetensors + places.json
    pictures/               thumbnails, named by the digest of the image
    build.journal           while a build is under way

A build writes the new files into ``.next/``. When all are there, ``guide.json`` is taken away,
the others are moved into place, and the new ``guide.json`` comes last: a folder with a
``guide.json`` is always a whole guide.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from fieldguide._files import replacing, write_json
from fieldguide.errors import GuideError

Model = TypeVar("Model")

FORMAT = 1
STAGE = ".next"
INFO = "guide.json"
CATALOGUE = "catalogue.sqlite"
KEY = "models/key"
WORDS = "models/words.json"
STACK = "models/stack"
ANNOTATION = "models/annotation"
VISUAL_WORDS = "models/visual_words.json"
MARKS = "models/marks"
PLACES = "models/places"


def write_model(
    folder: Path, name: str, arrays: dict[str, np.ndarray], settings: dict[str, Any]
) -> None:
    """Write a fitted model: its arrays as safetensors, the rest as JSON."""
    with replacing(folder / f"{name}.safetensors") as temporary:
        save_file({key: np.ascontiguousarray(array) for key, array in arrays.items()}, temporary)
    write_json(folder / f"{name}.json", settings)


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
    except (SafetensorError, KeyError, ValueError, TypeError, OSError) as error:
        raise GuideError(
            f"The {what} {str(path)!r} cannot be read ({error}); build the guide again."
        ) from None


def feature_file(name: str) -> str:
    """Return the address of a feature matrix inside the guide."""
    return f"features/{name}.npy"


def read_info(folder: Path) -> dict[str, Any]:
    """Return guide.json of a whole guide of a version that we can read."""
    if not folder.is_dir():
        raise GuideError(
            f"There is no guide {str(folder)!r}; make one with 'fieldguide build FOLDER --out "
            f"{folder}'."
        )
    try:
        info = json.loads((folder / INFO).read_text(encoding="utf-8"))
        version = info["format"]
    except FileNotFoundError:
        if (folder / "build.journal").exists() or (folder / STAGE).exists():
            raise GuideError(
                f"The build of {str(folder)!r} was interrupted; run the same 'fieldguide build' "
                "again and it goes on where it stopped."
            ) from None
        raise GuideError(f"{str(folder)!r} is not a guide: it has no {INFO}.") from None
    except (OSError, ValueError, TypeError, KeyError):
        raise GuideError(f"{INFO} of {str(folder)!r} is damaged; build the guide again.") from None
    if version != FORMAT:
        raise GuideError(
            f"The guide {str(folder)!r} has format {version!r} and this version reads {FORMAT}; "
            "build it again, or use the version that wrote it."
        )
    return info


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


def start_stage(folder: Path) -> Path:
    """Return an empty stage for new files."""
    stage = folder / STAGE
    shutil.rmtree(stage, ignore_errors=True)
    for part in ("features", "models"):
        (stage / part).mkdir(parents=True)
    return stage


def publish(folder: Path, info: dict[str, Any]) -> None:
    """Move everything from the stage into place; ``info`` becomes guide.json."""
    stage = folder / STAGE
    write_json(stage / INFO, info)
    (folder / INFO).unlink(missing_ok=True)
    for part in ("features", "models"):
        shutil.rmtree(folder / part, ignore_errors=True)
        os.replace(stage / part, folder / part)
    os.replace(stage / CATALOGUE, folder / CATALOGUE)
    os.replace(stage / INFO, folder / INFO)
    stage.rmdir()


def remove_unused_pictures(folder: Path, used: set[str]) -> None:
    """Delete thumbnails that no specimen names any more."""
    for path in (folder / "pictures").glob("*/*"):
        if path.relative_to(folder).as_posix() not in used:
            path.unlink(missing_ok=True)

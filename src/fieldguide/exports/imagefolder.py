"""The Hugging Face imagefolder: pictures, and what is known of each in ``metadata.jsonl``.

``datasets.load_dataset("imagefolder", data_dir=OUT)`` reads it. The pictures are the guide's own
views (JPEG, up to 1024 px, without any metadata of the camera), or the originals where
``--images`` says where they are.
"""

import json
import shutil
from collections.abc import Callable
from functools import cached_property
from pathlib import Path, PurePosixPath

from fieldguide.errors import FieldguideError
from fieldguide.exports.order import Order
from fieldguide.exports.specimen_rows import list_rows
from fieldguide.guide import Specimen
from fieldguide.site.export import copy_picture, write_folder

METADATA = "metadata.jsonl"


def write(order: Order) -> Path:
    """Write the folder, or bring an earlier one up to date."""
    return write_pictures(order, ImageFolder(order))


def write_pictures(order: Order, folder: "ImageFolder") -> Path:
    """Write a folder of pictures, or bring an earlier one up to date."""
    return write_folder(
        order.guide,
        order.target,
        folder,
        overwrite=order.overwrite,
        progress=order.progress,
    )


class ImageFolder:
    """The pictures by the numbers of their specimens, and the file that describes them."""

    form, first = "imagefolder", METADATA

    def __init__(self, order: Order) -> None:
        self.order = order

    @cached_property
    def specimens(self) -> list[Specimen]:
        """All specimens, in their order."""
        return list(self.order.list_specimens("listing pictures"))

    def list_names(self) -> list[str]:
        """Return the name of every file."""
        return [*map(self._name, self.specimens), METADATA]

    def write(self, work: Path, progress: Callable[[str, int, int], None] | None) -> None:
        """Write every file below ``work``."""
        report = progress or (lambda *_: None)
        with open(work / METADATA, "w", encoding="utf-8", newline="\n") as file:
            for specimen, row in zip(self.specimens, list_rows(self.order), strict=True):
                line = {"file_name": self._name(specimen), **row._asdict()}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        for n_done, specimen in enumerate(self.specimens, start=1):
            self._copy(specimen, work)
            report("copying pictures", n_done, len(self.specimens))

    def _name(self, specimen: Specimen) -> str:
        has_original = self.order.images is not None
        suffix = PurePosixPath(specimen.path).suffix.lower() if has_original else ".jpg"
        return f"images/{specimen.id:06d}{suffix}"

    def _copy(self, specimen: Specimen, work: Path) -> None:
        name, images = self._name(specimen), self.order.images
        if images is None:
            copy_picture(self.order.guide, specimen.picture, work, name)
            return
        source = (images / specimen.path).resolve()
        if not source.is_relative_to(images.resolve()) or not source.is_file():
            raise FieldguideError(
                f"There is no {specimen.path!r} in {str(images)!r}; give `images` the folder that "
                "the guide was built from, or leave it out for the guide's own views."
            )
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, work / name)

"""Add the images of a folder to a guide that stands, without the images that it was built from.

The new edition is built from a collection of both: the specimens of the guide, as its catalogue
has them, and the images of the folder, as if this one had been copied over the first. Nothing that
the guide has measured is measured again, and new images are described by what the guide has learnt
to describe the others by. The tree, the words and the marks are of all specimens; the key learns
new kinds without being trained again where it can (:mod:`fieldguide.guide.key_growth`).

Where a picture of the first images is needed after all, it is the one that the guide keeps.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fieldguide._check import check_choice
from fieldguide.collection import Collection, Item, Picture, Taken, read_picture
from fieldguide.errors import CollectionError, FieldguideError, GuideError, UnreadableImageError
from fieldguide.features.network import split_builtin
from fieldguide.guide import folder as files
from fieldguide.guide.build import build_guide, check_target
from fieldguide.guide.catalogue import Catalogue
from fieldguide.guide.found_kinds import are_found
from fieldguide.guide.key_choice import KEYS
from fieldguide.guide.measure import Measured
from fieldguide.guide.owner import Owned, open_owned
from fieldguide.guide.rows import open_stack
from fieldguide.guide.shelf import has_content
from fieldguide.guide.views import Specimen
from fieldguide.guide.workspace import Progress, Settings, name_measuring

KINDS = ("auto", "parent", "top")


@dataclass(frozen=True, eq=False)
class Joined(Collection):
    """The specimens of a guide and new images, ordered by path."""

    kept: dict[str, tuple[Path, str]] = field(default_factory=dict)  # picture and digest, by path
    added: Collection | None = None
    rows: dict[str, int] = field(default_factory=dict)  # in ``added``, by path

    def part(self, indices: Sequence[int]) -> "Joined":
        """Return some of the images as a small collection that other processes can be given."""
        items = tuple(self.items[i] for i in indices)
        paths = [item.path for item in items]
        new = [path for path in paths if path in self.rows]
        return Joined(
            self.name,
            items,
            max_pixels=self.max_pixels,
            frames_per_s=self.frames_per_s,
            kept={path: self.kept[path] for path in paths if path in self.kept},
            added=None if self.added is None else self.added.part([self.rows[p] for p in new]),
            rows={path: k for k, path in enumerate(new)},
        )

    def picture(self, i: int, *, at_least_px: int = 0) -> tuple[Picture, str]:
        """Decode a new image, or the picture that the guide keeps of a specimen."""
        path = self.items[i].path
        if path in self.rows:
            assert self.added is not None
            return self.added.picture(self.rows[path], at_least_px=at_least_px)
        file, digest = self.kept[path]
        return read_picture(file, max_pixels=self.max_pixels, at_least_px=at_least_px), digest

    def digest(self, i: int) -> str | None:
        """Return the digest of a new image, or of a specimen."""
        path = self.items[i].path
        if path not in self.rows:
            return self.kept[path][1] if path in self.kept else None
        assert self.added is not None
        return self.added.digest(self.rows[path])

    def taken(self, i: int) -> Taken | None:
        """Return when and where a new image was taken; the pictures that a guide keeps say
        nothing."""
        path = self.items[i].path
        if path not in self.rows:
            return None
        assert self.added is not None
        return self.added.taken(self.rows[path])


def add_to_guide(
    out: Path,
    folder: Path,
    *,
    kinds: str = "auto",
    embedder: tuple[str, ...] = (),
    n_jobs: int = -1,
    progress: Progress,
) -> None:
    """Add the images of ``folder`` to the guide in ``out``."""
    check_choice("fieldguide add", "kinds", kinds, KINDS)
    info = files.read_info(out)
    edition = files.find_edition(out, info)
    open_stack(edition, info)  # it is refused where it is damaged, not learnt again
    bursts = (info.get("labels") or {}).get("bursts", False)
    added = list_images(folder, kinds, find_max_pixels(info), bursts=bursts)
    check_target(added, out)
    # To a guide without labels more pictures without labels may come.
    named = added if are_found(info) else name_after_folder(added)
    collection = join_collections(out, edition, info, named)
    settings = _settings_of(info, embedder=embedder, n_jobs=n_jobs, adds_to=info["edition"])
    build_guide(collection, out, settings, progress)


def repeat_settings(out: Path, *, n_jobs: int) -> Settings:
    """Return the settings that a guide was built with; the usual ones where there is none."""
    try:
        info = files.read_info(out)
    except GuideError:
        return Settings(n_jobs=n_jobs)
    builtin = split_builtin(info["settings"]["embedder"])
    if builtin is None:
        raise FieldguideError(
            f"The guide {str(out)!r} was built with the network {info['settings']['embedder']!r}; "
            "bring it up to date with 'fieldguide build' and --embedder."
        )
    return _settings_of(info, embedder=builtin, n_jobs=n_jobs)


def _settings_of(
    info: dict[str, Any], *, embedder: tuple[str, ...], n_jobs: int, adds_to: int | None = None
) -> Settings:
    """Return the settings that guide.json tells."""
    said = info["settings"]
    return Settings(
        seed=info["seed"],
        embedder=embedder,
        n_jobs=n_jobs,
        title=info["title"],
        features=said["features_asked"],
        key=find_asked_key(info),
        kernel=said.get("kernel", "linear"),
        key_cost=said.get("key_cost"),
        key_loss=said.get("key_loss"),
        key_words=said.get("key_words", False),
        tree=info["tree"]["asked"],
        marks=said.get("marks", True),
        places=said.get("places", said.get("marks", True)),
        adds_to=adds_to,
    )


def find_max_pixels(info: dict[str, Any]) -> int:
    """Return how large images may be; GuideError where they would be measured otherwise now."""
    said = str(info.get("measure_settings"))
    max_pixels = said.rpartition(" ")[2]
    if not max_pixels.isdecimal() or said != name_measuring(info["embedder"], int(max_pixels)):
        raise GuideError(
            "This guide was measured by another version, so new images cannot be compared with its "
            "specimens; build it again from all images."
        )
    return int(max_pixels)


def list_images(folder: Path, kinds: str, max_pixels: int, *, bursts: bool = False) -> Collection:
    """Return the images of a folder; one with an image, or an error."""
    added = Collection.from_folder(folder, kinds=kinds, max_pixels=max_pixels, bursts=bursts)
    if not added.items and added.skipped:
        path, reason = added.skipped[0]
        raise CollectionError(
            f"None of the {len(added.skipped)} files in {added.name!r} can be used ({path}: "
            f"{reason}); give a folder with readable images."
        )
    return added


def name_after_folder(added: Collection) -> Collection:
    """Return the images with the name of their folder as their kind, where no other names one."""
    assert added.folder is not None
    if any(item.kind is not None for item in added.items):
        return added
    folder = Path(os.path.abspath(added.folder))
    name = folder.name
    if not name or name.encode("utf-8", "replace").decode() != name:
        raise CollectionError(
            f"The folder {str(folder)!r} has no name that can be a kind; put the images into "
            "sub-folders that are named after their kinds."
        )
    return replace(
        added,
        items=tuple(
            replace(
                item,
                path=f"{name}/{item.path}",
                kind=name,
                burst=tuple(f"{name}/{path}" for path in item.burst),
            )
            for item in added.items
        ),
        skipped=tuple((f"{name}/{path}", reason) for path, reason in added.skipped),
        folder=folder.parent,
    )


def find_asked_key(info: dict[str, Any]) -> str:
    """Return the key that a guide was asked for, by the name that a build takes."""
    names = {key.__name__: name for name, key in KEYS.items()}
    said = info["settings"]
    return said.get("key_asked") or names.get(said.get("key"), Settings.key)


def join_collections(out: Path, edition: Path, info: dict[str, Any], added: Collection) -> Joined:
    """Return the specimens of a guide and new images as one collection.

    An image whose path the guide has is the same specimen if its content is the same, and refused
    if it is not.
    """
    n = info["n_specimens"]
    owned = open_owned(edition, n)
    catalogue = Catalogue(edition / files.CATALOGUE)
    try:
        specimens = catalogue.specimens(range(n))
        measured = [catalogue.measured(i, {}) for i in range(n)]
        failed = catalogue.failed()
    finally:
        catalogue.close()
    check_pictures(out, specimens)
    new = find_new(added, {record.path: record for record in measured}, failed)
    items = {
        record.path: Item(
            record.path, None if are_found(info) else specimen.kind, words, record.stamp, caption
        )
        for record, specimen, words, caption in zip(
            measured, specimens, owned.keywords, owned.captions, strict=True
        )
    }
    skipped = {}
    for file, reason in failed.items():
        path, _, stamp = file.partition("\0")
        if stamp:
            items[path] = Item(path, stamp=stamp)
        else:
            skipped[path] = reason
    items |= {added.items[row].path: added.items[row] for row in new}
    ordered = tuple(items[path] for path in sorted(items))
    skipped |= {path: reason for path, reason in added.skipped if path not in items}
    is_first = len(new) == len(added.items)  # not a folder that was added before and has grown
    return Joined(
        name=info["source"],
        items=ordered,
        attributes=_spread_attributes(owned, measured, ordered),
        attribute_names=owned.names,
        skipped=tuple(pair for pair in skipped.items() if pair[0] not in items),
        others=_add_counts(info["other_files"], added.others if is_first else {}),
        n_captions=info["n_captions"] + (added.n_captions if is_first else 0),
        kinds_because=info["kinds_because"],
        max_pixels=added.max_pixels,
        kept={
            record.path: (out / specimen.picture, record.digest)
            for record, specimen in zip(measured, specimens, strict=True)
        },
        added=added,
        rows={added.items[row].path: row for row in new},
    )


def check_pictures(out: Path, specimens: Sequence[Specimen]) -> None:
    """Refuse a guide that has lost pictures: they are made of images that are not at hand."""
    for specimen in specimens:
        for address in (specimen.thumbnail, specimen.picture):
            if not has_content(out / address):
                raise GuideError(
                    f"The guide has lost the picture {address!r} of {specimen.path!r}; build it "
                    "again from its images, which makes it anew."
                )


def find_new(added: Collection, known: dict[str, Measured], failed: Iterable[str]) -> list[int]:
    """Return the rows of the images that the guide does not know yet.

    ``known`` are its specimens by path, ``failed`` the files that it could not read, as path, NUL,
    stamp.
    """
    new = []
    for row, item in enumerate(added.items):
        same = known.get(item.path)
        if same is None and f"{item.path}\0{item.stamp}" not in failed:
            new.append(row)
        elif same is not None and not _is_same(added, row, same):
            raise CollectionError(
                f"The guide has a specimen {item.path!r} already, and the image of that name in "
                f"{added.name!r} is another; rename it, or build the guide again from all images."
            )
    if added.items and not new:
        n = len(added.items)
        raise CollectionError(f"The guide knows all {n} images in {added.name!r} already.")
    return new


def _is_same(added: Collection, row: int, known: Measured) -> bool:
    """Whether an image is a specimen: the file has not changed, or its content is the same."""
    if added.items[row].stamp == known.stamp:
        return True
    try:
        return added.picture(row)[1] == known.digest
    except UnreadableImageError:
        return False


def _spread_attributes(
    owned: Owned, measured: Sequence[Measured], items: Sequence[Item]
) -> np.ndarray | None:
    """Return the attributes of all items; those of new ones are not known."""
    if owned.attributes is None:
        return None
    place = {item.path: row for row, item in enumerate(items)}
    spread = np.full((len(items), len(owned.names)), np.nan, dtype=owned.attributes.dtype)
    spread[[place[record.path] for record in measured]] = owned.attributes
    return spread


def _add_counts(known: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    counts = Counter(known) + Counter(more)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

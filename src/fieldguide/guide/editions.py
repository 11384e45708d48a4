"""Editions: every build writes a folder of its own, and one switch makes it the guide.

::

    guide.json          says which edition is the guide; replacing this one file publishes it
    editions/7/         what one build computed; its contents.json lists the files
    pictures/           thumbnails, by the digest of the image; editions share them
    build.journal       while a build is under way: see journal.py

At every moment the folder holds the old guide or the new one. An edition does not change once it
is the guide, and it stays until the build after the next, for whoever has it open.

Whatever is deleted stands on a list of names that we wrote: the contents.json of an edition, or
the journal of the build. Other files in the folder of a guide, at any level, are never touched.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fieldguide._files import encode_json, parse_json, read_regular, remove_listed, sync
from fieldguide.errors import GuideError
from fieldguide.guide import folder as files
from fieldguide.guide.catalogue import Catalogue
from fieldguide.guide.journal import FILE_NAME, Journal, is_journal
from fieldguide.guide.measure import picture_names
from fieldguide.guide.shelf import PART_NAMES, Shelf
from fieldguide.guide.validation import UnsoundError, check_files

CONTENTS = "contents.json"
_MADE_BY = "fieldguide"


def check_folder(out: Path) -> None:
    """Refuse a folder that a guide must not be written to.

    It may be missing, empty, or ours: with our guide.json, our journal, or an edition of ours.
    """
    if out.exists() and not out.is_dir():
        raise GuideError(f"{str(out)!r} is a file; choose a folder for the guide.")
    if not out.exists() or not any(out.iterdir()):
        return
    try:
        check_files(out)
    except UnsoundError as error:
        raise GuideError(
            f"A guide cannot be written to {str(out)!r}: {error}; choose another folder."
        ) from None
    info = _read_object(out / files.INFO)
    version = info.get("format")
    if isinstance(version, int) and version > files.FORMAT:
        raise GuideError(
            f"{str(out)!r} holds a guide of format {version}, and this version writes "
            f"{files.FORMAT}; use the version that wrote it, or choose another folder."
        )
    is_ours = isinstance(version, int) and "fingerprint" in info
    if not (is_ours or is_journal(out / FILE_NAME) or any(_list_editions(out))):
        raise GuideError(
            f"{str(out)!r} holds other files; choose an empty or a new folder for the guide."
        )


class Draft:
    """The edition that a build is writing. Every name is noted in the journal before its file.

    Parameters
    ----------
    root : Path
        Folder of the guide.
    journal : Journal
        Of the build. An edition that an earlier, interrupted build began is begun anew.
    """

    def __init__(self, root: Path, journal: Journal) -> None:
        self.root = root
        self._journal = journal
        self._before = _read_object(root / files.INFO)
        number = journal.edition()
        if number is not None and number == self._before.get("edition"):
            self._clean()  # that build was killed just after the switch
            number = None
        if number is None:
            number = (find_number(self._before) or 0) + 1
            while os.path.lexists(files.edition_folder(root, number)):  # somebody else's
                number += 1
            journal.start_edition(number)
        self.number = number
        self.folder = files.edition_folder(root, number)
        remove_listed(root, journal.noted(self._own))
        self._names: set[str] = set()
        self.shelf = Shelf(root, self._make_room(*PART_NAMES))

    @property
    def _own(self) -> str:
        return f"{files.edition_folder(Path(), self.number).as_posix()}/"

    def new(self, name: str) -> Path:
        """Return where to write a file of this edition; one of that name is gone."""
        if name in self._names:
            (self.folder / name).unlink(missing_ok=True)
        (path,) = self._make_room(name)
        return path

    def _make_room(self, *names: str) -> list[Path]:
        self._journal.note(*(self._own + name for name in names))
        self._names.update(names)
        paths = [self.folder / name for name in names]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        return paths

    def publish(self, info: dict[str, Any], pictures: Iterable[str]) -> None:
        """Make this edition the guide, and delete what only older ones use.

        Parameters
        ----------
        info : dict
            Becomes guide.json.
        pictures : iterable of str
            Addresses of pictures that are no specimen's.
        """
        remove_listed(self.folder, PART_NAMES)
        names = sorted(self._names.difference(PART_NAMES))
        listed = {"made_by": _MADE_BY, "files": names, "pictures": sorted(pictures)}
        self.new(CONTENTS).write_bytes(encode_json(listed))
        new_info = self.new(files.INFO)
        version = {
            "format": files.FORMAT,
            "edition": self.number,
            "previous_edition": find_number(self._before),
        }
        new_info.write_bytes(encode_json({**info, **version}))
        written = [self.folder / name for name in (*names, CONTENTS, files.INFO)]
        for path in (*written, *{path.parent for path in written}):
            sync(path)
        if self._before.get("format") == 1:
            self._journal.note(*files.FIRST_FORMAT)
        os.replace(new_info, self.root / files.INFO)
        sync(self.root)
        self._clean()

    def _clean(self) -> None:
        """Delete what neither the guide nor the edition before it uses."""
        info = _read_object(self.root / files.INFO)
        kept = {find_number(info), find_number(info, "previous_edition")}
        every = _list_editions(self.root)
        old = [n for n in every if n not in kept]
        try:
            used = {name for n in every if n in kept for name in _list_pictures(self.root, n)}
            written = {name for n in old for name in _list_pictures(self.root, n)}
            remove_listed(self.root, (written | self._journal.pictures()) - used)
        except GuideError:
            pass  # an edition that cannot be read: pictures stay
        for n in old:
            folder = files.edition_folder(self.root, n)
            # The list goes last: whoever is killed here is cleaned up after by the next build.
            remove_listed(folder, _read_contents(self.root, n)["files"])
            remove_listed(self.root, [(folder / CONTENTS).relative_to(self.root).as_posix()])
        if info.get("format") == files.FORMAT:
            remove_listed(self.root, set(self._journal.noted()).intersection(files.FIRST_FORMAT))


def find_number(info: dict[str, Any], name: str = "edition") -> int | None:
    """Return the number of an edition that guide.json names; None where it names none."""
    number = info.get(name)
    return number if isinstance(number, int) and number > 0 else None


def _list_editions(root: Path) -> list[int]:
    """Return the editions that are whole, published or not."""
    try:
        names = os.listdir(root / files.EDITIONS)
    except OSError:
        return []
    numbers = [int(name) for name in names if name.isdecimal() and name.isascii()]
    return sorted(n for n in numbers if _read_contents(root, n)["files"])


def _read_contents(root: Path, number: int) -> dict[str, list[str]]:
    """Return the names that an edition wrote; none where its list is missing or not ours."""
    read = _read_object(files.edition_folder(root, number) / CONTENTS)
    parts = {part: read.get(part) for part in ("files", "pictures")}
    is_ours = read.get("made_by") == _MADE_BY and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names)
        for names in parts.values()
    )
    return parts if is_ours else {"files": [], "pictures": []}  # type: ignore[return-value]


def _list_pictures(root: Path, number: int) -> set[str]:
    """Return the addresses of all pictures of an edition."""
    catalogue = Catalogue(files.edition_folder(root, number) / files.CATALOGUE)
    try:
        thumbnails = {name for pair in catalogue.thumbnails() for name in picture_names(*pair)}
    finally:
        catalogue.close()
    return thumbnails.union(_read_contents(root, number)["pictures"])


def _read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; {} where there is none."""
    try:
        value = parse_json(read_regular(path))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}

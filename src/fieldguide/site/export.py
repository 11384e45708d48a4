"""The static export: every page, style, script and picture of a guide in one folder.

The folder opens from a file address and from any web server, with no program behind it. Like every
export that is a folder (:func:`write_folder`), it is written beside its place under a temporary
name. A new folder gets its name when it is whole; into one that stands, the files are moved one by
one, and those of the earlier export that are no longer needed go. ``fieldguide-site.json`` lists
the names that an export wrote: other files in the folder, such as ``.git`` or ``CNAME``, are never
touched.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from fieldguide._files import encode_json, parse_json, read_regular, remove_listed, write_bytes
from fieldguide._languages import ENGLISH
from fieldguide.errors import FieldguideError
from fieldguide.guide.shelf import is_address, open_file
from fieldguide.site.chapter_pages import list_assets, list_chapter_pictures
from fieldguide.site.render import Renderer

if TYPE_CHECKING:
    from fieldguide.guide import Guide

MARKER = "fieldguide-site.json"  # says that a folder is an export, and which names it wrote
FIRST = "index.html"
_BLOCK = 1024  # specimens read together

Progress = Callable[[str, int, int], None]


class Content(Protocol):
    """What an export that is a folder holds, and how it is written."""

    form: str  # name of the format; an earlier export of another one is not written over
    first: str  # the file to open, which comes last to its place

    def list_names(self) -> list[str]:
        """Return the name of every file, relative to the folder of the export."""

    def write(self, work: Path, progress: Progress | None) -> None:
        """Write every file below ``work``."""


def export_site(
    guide: "Guide",
    target: Path | str,
    *,
    overwrite: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    language: str = ENGLISH,
) -> Path:
    """Write a guide as a folder of static pages.

    Parameters
    ----------
    guide : Guide
    target : path
        The folder to make, or an earlier export to bring up to date. Files in it that no export
        wrote stay as they are.
    overwrite : bool
        Write into a folder that has files in it and is no export, and replace files that no
        export wrote where they have the name of a page. The others stay.
    progress : callable, optional
        Called with (what is being done, how many are done, how many there are).
    language : str
        The language of the pages: ``"en"``, or that of a catalogue.

    Returns
    -------
    Path
        The page to open: ``target / "index.html"``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fieldguide import Collection, Guide
    >>> greys = [np.full((48, 48, 3), v, dtype=np.uint8) for v in (10, 20, 30, 220, 230, 240)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     collection = Collection.from_arrays(greys, list("dddlll"))
    ...     guide = Guide.build(collection, Path(folder, "guide"))
    ...     page = export_site(guide, Path(folder, "site"))
    ...     page.name, page.exists()
    ('index.html', True)
    """
    return write_folder(
        guide, target, _Site(guide, language), overwrite=overwrite, progress=progress
    )


def write_folder(
    guide: "Guide",
    target: Path | str,
    content: Content,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write an export that is a folder; return the file to open. See :func:`export_site`."""
    target = Path(os.path.abspath(Path(target).expanduser()))
    _check_target(guide, target, overwrite, content.form)
    names = content.list_names()
    earlier = _read_marker(target) if _read_form(target) == content.form else None
    if not overwrite:
        _check_names(target, names, earlier)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        work.chmod(0o755)
        content.write(work, progress)
        if target.exists():
            _move_into(work, target, content, earlier or [])
        else:
            _write_marker(work, names, content.form)
            os.rename(work, target)
    finally:
        remove_listed(work, [*names, MARKER])
        with suppress(OSError):  # it has got its name, or something foreign was put there
            work.rmdir()
    return target / content.first


def _check_target(guide: "Guide", target: Path, overwrite: bool, form: str) -> None:
    home = Path(guide.folder).resolve()
    place = target.resolve()
    if home == place or home.is_relative_to(place):
        raise FieldguideError(
            f"The export would be written over the guide at {target.name!r}; choose another folder."
        )
    is_export = _read_form(target) == form
    if place.is_relative_to(home) and (
        place.parent != home or not (is_export or place.name == "site")
    ):
        raise FieldguideError(
            f"{target.name!r} lies among the guide's own files; "
            "choose a folder outside the guide, or 'site' directly inside it."
        )
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise FieldguideError(
            f"{target.name!r} is a file or a link, not a folder; choose another place."
        )
    if target.is_dir() and any(target.iterdir()) and not (is_export or overwrite):
        raise FieldguideError(
            f"{target.name!r} has files in it that are not an earlier export; "
            "choose an empty folder, or say overwrite to write beside them."
        )


def _check_names(target: Path, names: list[str], earlier: list[str] | None) -> None:
    """Refuse to replace a file that no export wrote."""
    if earlier is None:  # no export, or one of a version that kept no list
        return
    own = {*earlier, MARKER}
    for name in names:
        if name not in own and os.path.lexists(target / name):
            raise FieldguideError(
                f"{name!r} in {target.name!r} was not written by an export; move it away, or say "
                "overwrite to replace it."
            )


def _read_marker(target: Path) -> list[str] | None:
    """Return the names that an export wrote into a folder; None where it is not known."""
    try:
        names = parse_json(read_regular(target / MARKER))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return names if is_list else None


def _read_form(target: Path) -> str | None:
    """Return the format of an earlier export, the site's where none is said; None without one."""
    try:
        said = parse_json(read_regular(target / MARKER))
        return str(said.get("format", _Site.form))
    except (OSError, ValueError, AttributeError):
        return None


def _write_marker(folder: Path, names: list[str], form: str) -> None:
    said = {"made_by": "fieldguide", "format": form, "files": sorted(names)}
    write_bytes(folder / MARKER, encode_json(said))


def _move_marker(work: Path, target: Path, names: list[str], form: str) -> None:
    """Write the list of names beside the export first: who is killed leaves nothing in it."""
    _write_marker(work, names, form)
    os.replace(work / MARKER, target / MARKER)


def _move_into(work: Path, target: Path, content: Content, earlier: list[str]) -> None:
    """Move the files of ``work`` to ``target``, and delete those of the earlier export alone.

    Until all have moved, the list holds the names of both: an export that is killed here is
    brought up to date by the next.
    """
    inside, names, first = target.resolve(), content.list_names(), content.first
    for folder in {(inside / name).parent for name in names}:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.resolve() != folder:
            raise FieldguideError(
                f"{folder.name!r} in {target.name!r} is a link to another folder; remove the link."
            )
    _move_marker(work, inside, sorted({*names, *earlier}), content.form)
    for name in [*(n for n in names if n != first), first]:
        os.replace(work / name, inside / name)
    remove_listed(target, set(earlier).difference(names))
    _move_marker(work, inside, names, content.form)


class _Site:
    """Everything that an export of a guide holds, and how it is written."""

    form, first = "site", FIRST

    def __init__(self, guide: "Guide", language: str) -> None:
        self._guide = guide
        self._renderer = Renderer(guide, live=False, language=language)
        self._assets = list_assets()
        self._pictures = _used_pictures(guide)

    def list_names(self) -> list[str]:
        """Return the name of every file, relative to the folder of the export."""
        assets = [f"assets/{name}" for name in self._assets]
        return [*assets, *self._pictures, *self._renderer.addresses()]

    def write(self, work: Path, progress: Progress | None) -> None:
        """Write every file below ``work``."""
        total = len(self._assets) + len(self._pictures) + len(self._renderer.book)
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress("writing the pages", done, total)

        def make_room(name: str) -> Path:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            return work / name

        for name, path in self._assets.items():
            shutil.copyfile(path, make_room(f"assets/{name}"))
            advance()
        for address, html in self._renderer.pages():
            make_room(address).write_text(html, encoding="utf-8", newline="\n")
            advance()
        for address in self._pictures:
            copy_picture(self._guide, address, work)
            advance()


def _used_pictures(guide: "Guide") -> list[str]:
    words = [word.picture for word in guide.visual_words]
    used: dict[str, None] = dict.fromkeys(
        [*words, *guide.movements.list_pictures(), *list_chapter_pictures(guide)]
    )
    # A kind whose specimens are all excluded has a picture of one until the next build.
    shown = {i for kind in guide.kinds for i in kind.exemplars}
    shown |= set(range(guide.n_specimens)) - guide.overlay.excluded
    ids = sorted(shown)
    for start in range(0, len(ids), _BLOCK):
        for specimen in guide.specimens(ids[start : start + _BLOCK]):
            used |= dict.fromkeys(specimen.pictures)
    return list(used)


def copy_picture(guide: "Guide", address: str, work: Path, name: str = "") -> None:
    """Copy a picture of a guide below ``work``, under its own address or another name."""
    source = open_file(Path(guide.folder), address)
    place = Path(os.path.normpath(work / (name or address)))
    is_link = source is None and os.path.lexists(Path(guide.folder) / address)
    if is_link or not is_address(address) or not place.is_relative_to(work):
        raise FieldguideError(
            f"The guide lists a picture that is a link, or outside its own folder ({address!r}); "
            "build it again."
        )
    if source is None:
        raise FieldguideError(
            f"A picture of the guide is missing ({address!r}); build the guide again."
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    # A copy: who edits a picture of the export must not change that of the guide.
    with source, open(place, "wb") as copy:
        shutil.copyfileobj(source, copy)

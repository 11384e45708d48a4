"""The static export: every page, style, script and picture of a guide in one folder.

The folder opens from a file address and from any web server, with no program behind it. It is
written beside its place under a temporary name and renamed when it is whole: a reader finds the
old export or the new one. Pictures are hard links to those of the guide where the disk allows
it, and copies elsewhere.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fieldguide.errors import FieldguideError
from fieldguide.site.marks import list_mark_pictures
from fieldguide.site.render import ASSETS, Renderer

if TYPE_CHECKING:
    from fieldguide.guide import Guide

MARKER = "fieldguide-site.json"  # says that a folder is an export, and may be replaced by one
_BLOCK = 1024  # specimens read together


def export_site(
    guide: "Guide",
    target: Path | str,
    *,
    overwrite: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Path:
    """Write a guide as a folder of static pages.

    Parameters
    ----------
    guide : Guide
    target : path
        The folder to make. An earlier export is replaced; any other folder with something in
        it is refused unless ``overwrite`` is given.
    overwrite : bool
        Replace a folder that is not an export. Everything in it is lost.
    progress : callable, optional
        Called with (what is being done, how many are done, how many there are).

    Returns
    -------
    Path
        The page to open: ``target / "index.html"``.
    """
    target = Path(os.path.abspath(Path(target).expanduser()))
    _check_target(guide, target, overwrite)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        work.chmod(0o755)
        _write_site(guide, work, progress)
        _put_in_place(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target / "index.html"


def _check_target(guide: "Guide", target: Path, overwrite: bool) -> None:
    home = Path(guide.folder).resolve()
    place = target.resolve()
    if home == place or home.is_relative_to(place):
        raise FieldguideError(
            f"The export would replace the guide itself at {target.name!r}; choose another folder."
        )
    if place.is_relative_to(home) and place.parent != home:
        raise FieldguideError(
            f"{target.name!r} lies among the guide's own files; "
            "choose a folder outside the guide, or 'site' directly inside it."
        )
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise FieldguideError(
            f"{target.name!r} is a file or a link, not a folder; choose another place."
        )
    is_export = (target / MARKER).is_file()
    if place.parent == home and not is_export and place.name != "site":
        raise FieldguideError(
            f"{target.name!r} lies among the guide's own files; "
            "choose a folder outside the guide, or 'site' directly inside it."
        )
    if target.is_dir() and any(target.iterdir()) and not (is_export or overwrite):
        raise FieldguideError(
            f"{target.name!r} has files in it that are not an earlier export; "
            "choose an empty folder, or say overwrite to replace it."
        )


def _write_site(
    guide: "Guide", work: Path, progress: Callable[[str, int, int], None] | None
) -> None:
    renderer = Renderer(guide, live=False)
    assets = sorted(path for path in ASSETS.iterdir() if path.is_file())
    pictures = _used_pictures(guide)
    total = len(renderer.book) + len(assets) + len(pictures)
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress("writing the pages", done, total)

    for folder in ("assets", "branch", "kind", "specimen"):
        (work / folder).mkdir()
    for asset in assets:
        shutil.copyfile(asset, work / "assets" / asset.name)
        advance()
    for address, html in renderer.pages():
        (work / address).write_text(html, encoding="utf-8", newline="\n")
        advance()
    root = (Path(guide.folder) / "pictures").resolve()
    for address in pictures:
        _place_picture(guide, address, root, work)
        advance()
    marker = {"made_by": "fieldguide", "pages": len(renderer.book), "specimens": guide.n_specimens}
    (work / MARKER).write_text(json.dumps(marker, indent=2) + "\n", encoding="utf-8")


def _used_pictures(guide: "Guide") -> list[str]:
    words = [word.picture for word in guide.visual_words]
    used: dict[str, None] = dict.fromkeys([*words, *list_mark_pictures(guide)])
    for start in range(0, guide.n_specimens, _BLOCK):
        block = range(start, min(start + _BLOCK, guide.n_specimens))
        for specimen in guide.specimens(list(block)):
            used[specimen.thumbnail] = None
            used[specimen.picture] = None
    return list(used)


def _place_picture(guide: "Guide", address: str, root: Path, work: Path) -> None:
    source = (Path(guide.folder) / address).resolve()
    place = Path(os.path.normpath(work / address))
    if not source.is_relative_to(root) or not place.is_relative_to(work):
        raise FieldguideError(
            f"The guide lists a picture outside its own folder ({address!r}); build it again."
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        try:
            os.link(source, place)
        except FileNotFoundError:
            raise
        except OSError:  # another disk, or one without hard links
            shutil.copyfile(source, place)
    except FileNotFoundError:
        raise FieldguideError(
            f"A picture of the guide is missing ({address!r}); build the guide again."
        ) from None


def _put_in_place(work: Path, target: Path) -> None:
    """Rename ``work`` to ``target``; what was there goes only once the new folder stands."""
    if not target.exists():
        os.rename(work, target)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
    old = aside / target.name
    os.rename(target, old)
    try:
        os.rename(work, target)
    except BaseException:
        os.rename(old, target)
        aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)

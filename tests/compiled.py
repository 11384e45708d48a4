"""What numba has compiled, for a copy of the package elsewhere."""

import shutil
from pathlib import Path

import numba
from numba.core.caching import _CacheLocator

import fieldguide

SOURCE = Path(fieldguide.__file__).parent.parent


def copy_compiled(source: Path, cache: Path) -> str | None:
    """Give a copy of the package what was compiled so far; return where, None beside the source.

    It is kept by the path of the source, for files of the same time. Only for speed: what is
    missing is compiled anew.
    """
    if not numba.config.CACHE_DIR:
        return None
    for folder in [path for path in SOURCE.rglob("*") if path.is_dir()]:
        kept, copy = (
            _CacheLocator.get_suitable_cache_subpath(str(path / "module.py"))
            for path in (folder, source / folder.relative_to(SOURCE))
        )
        if (Path(numba.config.CACHE_DIR) / kept).is_dir():
            ignore = shutil.ignore_patterns("*.tmp.*")  # that another test is writing
            shutil.copytree(Path(numba.config.CACHE_DIR) / kept, cache / copy, ignore=ignore)
    return str(cache)

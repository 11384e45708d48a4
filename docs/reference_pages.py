"""Write the pages that list every public name, one for each package; Sphinx fills them in.

A public name is one that a package lists in ``__all__``; errors are all those of
``fieldguide.errors``. The names are read from the packages, so that none can be forgotten.
"""

import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path
from typing import Any

import fieldguide


@cache
def list_packages() -> list[str]:
    """Return the packages with public names, the one at the top first."""
    inner = [
        module.name
        for module in pkgutil.iter_modules(fieldguide.__path__, "fieldguide.")
        if not module.name.rpartition(".")[2].startswith("_")
        and (module.ispkg or module.name == "fieldguide.errors")
    ]
    return ["fieldguide", *(name for name in inner if list_names(name))]


def list_names(package: str) -> list[str]:
    """Return the public names of a package."""
    module = importlib.import_module(package)
    if package == "fieldguide.errors":
        return [name for name, value in vars(module).items() if inspect.isclass(value)]
    return list(getattr(module, "__all__", ()))


def find_home(package: str, name: str) -> str:
    """Return the package that describes a name: the one that made it, if it lists it."""
    value = getattr(importlib.import_module(package), name)
    maker = ".".join(getattr(value, "__module__", package).split(".")[:2])
    return maker if maker in list_packages() and name in list_names(maker) else package


def write_reference(folder: Path) -> None:
    """Write a page for each package, and one that leads to them."""
    folder.mkdir(exist_ok=True)
    packages = list_packages()
    for package in packages:
        _write(folder / f"{package}.rst", _page_of(package))
    _write(folder / "index.rst", _index_of(packages))


def _page_of(package: str) -> str:
    module = importlib.import_module(package)
    summary = inspect.getdoc(module) or ""
    parts = [_title(package, "="), f".. currentmodule:: {package}", summary]
    names = sorted(list_names(package))
    own = [name for name in names if find_home(package, name) == package]
    for title in ("Estimators", "Functions", "Classes", "Values"):
        if group := [name for name in own if _group_of(getattr(module, name)) == title]:
            parts.append(_title(title, "-"))
            entries = "\n".join(f"   {name}" for name in group)
            parts.append(f".. autosummary::\n   :toctree: names\n   :nosignatures:\n\n{entries}")
    if elsewhere := [name for name in names if name not in own]:
        parts.append(_title("From other packages", "-"))
        parts.extend(_link_to(package, name) for name in elsewhere)
    return "\n\n".join(parts) + "\n"


def _group_of(value: Any) -> str:
    if hasattr(value, "fit"):
        return "Estimators"
    if inspect.isroutine(value):
        return "Functions"
    return "Classes" if inspect.isclass(value) else "Values"


def _link_to(package: str, name: str) -> str:
    return f"- :py:obj:`{name} <{find_home(package, name)}.{name}>`"


def _index_of(packages: list[str]) -> str:
    entries = "\n".join(f"   {package}" for package in packages)
    return (
        f"{_title('Reference of the library', '=')}\n\n"
        "Every public name, from its docstring.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{entries}\n"
    )


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}"


def _write(path: Path, text: str) -> None:
    """Write a page, unless it is there as it is: Sphinx reads again what is newer."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")

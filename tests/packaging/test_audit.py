"""What is installed has a licence that we can use, and no flaw that is known to us."""

from tests.packaging import audit
from tests.packaging.audit import Package


def test_nothing_that_is_installed_or_allowed_is_known_to_be_flawed():
    packages = audit.list_packages()
    assert {"numpy", "pillow", "starlette", "h11", "protobuf"} <= {p.name for p in packages}
    assert audit.find_flaws(packages) == []
    assert audit.find_bad_licences(packages) == []
    assert audit.find_low_floors(audit.read_requirements()) == []


def test_a_flaw_a_floor_and_a_licence_are_seen():
    assert audit.find_flaws([Package("starlette", "0.45.0", "BSD-3-Clause")])
    assert audit.find_low_floors(["starlette>=0.40"])
    assert audit.find_bad_licences([Package("x", "1", "AGPL-3.0-only")])
    assert audit.find_bad_licences([Package("x", "1", "not said")])

import re
import subprocess
import sys
from pathlib import Path

import pytest

import fieldguide

ROOT = Path(__file__).parent.parent


def test_exported_names_resolve_and_are_documented():
    text = "".join(
        p.read_text(encoding="utf-8") for p in [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    )
    for name in fieldguide.__all__:
        assert getattr(fieldguide, name).__doc__
        assert re.search(rf"\b{name}\b", text), f"{name} is not in README or CHANGELOG"
    assert set(fieldguide.__all__) <= set(dir(fieldguide))
    assert re.match(r"\d+\.\d+", fieldguide.__version__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = fieldguide.Nonsense


def test_import_is_light():
    code = (
        "import sys, fieldguide, fieldguide.datasets; "
        "heavy = ('numpy', 'sklearn', 'scipy', 'numba', 'onnxruntime', 'skimage', 'PIL'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

"""Exports of guides that tests share."""

from pathlib import Path

import pytest

from fieldguide.exports import FORMATS, Order, export_guide


@pytest.fixture
def export(tmp_path):
    """Write a guide in a format; return the file or folder that was written."""

    def write(guide, name, **options) -> Path:
        target = tmp_path / f"out-{name}{FORMATS[name].suffix}"
        export_guide(Order(guide, target, **options), name)
        return target

    return write

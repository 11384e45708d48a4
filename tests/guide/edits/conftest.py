"""Guides to edit: copies of one that is built once."""

import shutil

import pytest

from fieldguide.collection import Collection
from fieldguide.guide import Guide

QUICK = {"key": "ova", "features": "deep", "marks": False, "places": False, "n_jobs": 1}


@pytest.fixture
def edited(flat_guide, tmp_path) -> Guide:
    """A guide of 24 simple pictures that a test may edit."""
    shutil.copytree(flat_guide.folder, tmp_path / "guide")
    return Guide.open(tmp_path / "guide")


@pytest.fixture
def rebuild(blobs):
    """Build a guide of these pictures again."""

    def rebuild(guide):
        return Guide.build(Collection.from_arrays(*blobs, name="shapes"), guide.folder, **QUICK)

    return rebuild

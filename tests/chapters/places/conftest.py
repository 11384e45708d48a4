import copy

import pytest
from tests.chapters.places.corners import locate_corner


@pytest.fixture(scope="session")
def located_guide(hostile_guide):
    """A guide of hostile names that knows where half of its marks are."""
    guide = copy.copy(hostile_guide)
    guide.locate = locate_corner
    return guide

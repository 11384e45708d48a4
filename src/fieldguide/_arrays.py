"""Types in the signatures of compiled functions, whose docstrings tell the shapes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Int = int | np.integer[Any]
Float = float | np.floating[Any]
Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]  # the state of a random generator

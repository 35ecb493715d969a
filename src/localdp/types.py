"""Types used all over the package: arrays, named by what they hold, and the callback that shows progress."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
"""Numbers, usually one for each item."""

Counts = NDArray[np.int64]
"""Numbers of reports or users, one for each item."""

Indices = NDArray[np.int64]
"""Indices of items in the domain, usually one for each user."""

Places = NDArray[np.intp]
"""Positions in another array."""

Flags = NDArray[np.bool_]
"""True or false for each element of another array."""

Rows = NDArray[np.uint8]
"""Reports as they travel: one row of bytes for each user."""

Words = NDArray[np.uint64]
"""64-bit words: random words, packed bits, or elements of a field."""

Progress = Callable[[int, int], object]
"""A function `progress(done, total)` that is called now and then during long work."""

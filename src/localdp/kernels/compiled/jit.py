"""Compile loops so that they release the interpreter's lock and their machine code is kept between runs.

Numba keeps machine code as long as *the file of the loop* stays the same. A loop must therefore use nothing from
another file, neither a constant nor a compiled function, since a change there would go unnoticed. Constants of a
definition are passed as arguments. `tests/kernels/test_compiled.py` checks this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numpy.typing import NDArray


def compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop when it is first called."""
    try:
        return numba.njit(loop, nogil=True, cache=True)
    except RuntimeError:  # there is no folder to keep the machine code in
        return numba.njit(loop, nogil=True)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view, so that Numba compiles one signature for arrays that may be written and those that may not."""
    view = array.view()
    view.setflags(write=False)
    return view

"""Real frequencies to try things on, shipped as spectra: how many items have each frequency.

Every user holds one item, so the spectrum is all that an experiment needs. Where each one comes from, and that
`kosarak` is a stand-in and not the real file, is said in `note` and in `spectra/README.md`.

>>> load("retail")
<retail: 16470 items, 908576 users>
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidInputError

_NOTES = {
    "retail": (
        "Retail Market Basket (Brijs et al., KDD 1999; FIMI repository), whole: the sales of every product of "
        "a Belgian supermarket, the second data set of Jia & Gong."
    ),
    "kosarak-100k": (
        "The first 100,000 sessions of Kosarak (F. Bodon; FIMI repository): clicks on the pages of a Hungarian "
        "news portal."
    ),
    "kosarak": (
        "A surrogate of the size of the whole of Kosarak, NOT the real file: extrapolated from the first 100,000 "
        "sessions with a Poisson mixture; its top counts agree with the published ones within 1%."
    ),
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """The frequency of every item, most frequent first, and where it comes from."""

    name: str
    frequencies: NDArray[np.int64]
    note: str

    @property
    def n(self) -> int:
        """How many users there are."""
        return int(self.frequencies.sum())

    @property
    def d(self) -> int:
        """How many items there are."""
        return self.frequencies.size

    def __repr__(self) -> str:
        return f"<{self.name}: {self.d} items, {self.n} users>"


def load(name: str) -> Dataset:
    """One of the data sets that ship with the package: "retail", "kosarak-100k" or "kosarak"."""
    if name not in _NOTES:
        raise InvalidInputError(f"there is no data set {name!r}; there are {', '.join(_NOTES)}")
    lines = files(__name__).joinpath("spectra", f"{name}.csv").read_text("ascii").splitlines()[1:]
    spectrum = np.array([line.split(",") for line in lines], np.int64)
    return Dataset(name, np.repeat(spectrum[:, 0], spectrum[:, 1])[::-1].copy(), _NOTES[name])

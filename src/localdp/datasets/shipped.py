"""The data sets that ship with the package, stored as spectra: the number of items with each frequency."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from localdp.datasets.dataset import Dataset
from localdp.errors import InvalidInputError

NOTES = {
    "retail": (
        "Retail Market Basket (Brijs et al., KDD 1999; FIMI repository), whole: the sales of every product of "
        "a Belgian supermarket, the second data set of Jia & Gong."
    ),
    "kosarak-100k": (
        "The first 100,000 sessions of Kosarak (F. Bodon; FIMI repository): clicks on the pages of a Hungarian "
        "news portal."
    ),
    "kosarak": (
        "NOT the real file: a surrogate as large as the complete Kosarak data, extrapolated from the first 100,000 "
        "sessions with a smooth Poisson mixture; its ten largest counts are theirs, scaled up, within 3%."
    ),
}


def load(name: str) -> Dataset:
    """One of the data sets that ship with the package: "retail", "kosarak-100k" or "kosarak".

    >>> load("kosarak-100k").frequencies[:3]
    array([60690, 45682, 36525])
    """
    if name not in NOTES:
        raise InvalidInputError(f"there is no data set {name!r}; there are {', '.join(NOTES)}")
    lines = files("localdp.datasets").joinpath("spectra", f"{name}.csv").read_text("ascii").splitlines()[1:]
    spectrum = np.array([line.split(",") for line in lines], np.int64)
    return Dataset(name, np.repeat(spectrum[:, 0], spectrum[:, 1])[::-1].copy(), NOTES[name], name == "kosarak")

"""Real frequencies to try things on: those that ship with the package, and those in your files.

Every user holds one item, so a spectrum (how many items have each frequency) is all that an experiment needs. Where
each one comes from, and that `kosarak` is a stand-in and not the real file, is said in `note` and in
`spectra/README.md`.

>>> load("retail")
<retail: 16470 items, 908576 users>
"""

from localdp.datasets.dataset import Dataset
from localdp.datasets.fimi import read
from localdp.datasets.shipped import load

__all__ = ["Dataset", "load", "read"]

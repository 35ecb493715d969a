"""True frequencies for experiments: three data sets that ship with the package, and your own files.

Every user holds one item, so an experiment needs only the spectrum of a data set: the number of items with each
frequency. `note` and `spectra/README.md` say where each data set comes from. `kosarak` is a surrogate, not the real
file.

>>> load("retail")
<retail: 16470 items, 908576 users>
"""

from localdp.datasets.dataset import Dataset
from localdp.datasets.fimi import read
from localdp.datasets.shipped import load

__all__ = ["Dataset", "load", "read"]

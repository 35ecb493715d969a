"""The inner loops compiled by Numba, in one file for each file of definitions in `localdp.kernels`.

A twin gives bit for bit what its definition gives. Where it cannot serve the arguments it returns `NotImplemented`, and
the definition does the work. Only this folder knows Numba; `localdp.kernels.dispatch` loads it.
"""

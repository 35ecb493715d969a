"""CALIBRATE: the posterior of every item's true frequency, given its noisy estimate and a prior.

`base` says what every posterior can be asked. `nodes` chooses the frequencies that sums visit, `posterior` computes the
posteriors of all items, and `cumulative` reads quantiles and intervals off them. `sums` adds frequencies up.
"""

"""CALIBRATE: the posterior of every item's true frequency, given its noisy estimate and a prior."""

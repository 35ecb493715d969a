"""What a trusted shuffler would make of epsilon: a certified bound from above, and an attack from below.

>>> import localdp as ldp
>>> round(ldp.amplified(ldp.Plan(1_000, "llh", epsilon=4.0), n=100_000, delta=1e-6).upper, 4)
0.0784
"""

from localdp.amplification.amplified import Amplified, amplified, certified, rounded_up

__all__ = ["Amplified", "amplified", "certified", "rounded_up"]

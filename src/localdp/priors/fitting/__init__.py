"""How priors are learnt from noisy estimates: the noise, the binned estimates, and the solvers."""

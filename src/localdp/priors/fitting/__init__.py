"""How priors are learnt from noisy estimates: the noise, the estimates as they are fitted to, and the solvers."""

"""The inner loops of Perturb, Aggregate and Calibrate on plain arrays, and how they run on all processors.

| files | what they do |
|---|---|
| `biased_bits`, `rare_bits`, `subsets` | draw the noise of a report |
| `counting`, `walsh_hadamard`, `local_hash`, `linear_hash`, `galois_field` | hash items, count what reports support |
| `quadrature`, `cubics` | sum over frequencies, and interpolate between them |
| `dispatch`, `compiled` | choose between NumPy and the twins that Numba compiles |
| `chunks`, `threads` | cut the work into pieces and share it between threads |
"""

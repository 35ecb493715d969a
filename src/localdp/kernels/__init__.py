"""The inner loops of Perturb, Aggregate and Calibrate on plain arrays, and the code that runs them on all processors.

| files | what they do |
|---|---|
| `biased_bits`, `rare_bits`, `subsets` | draw the noise of a report |
| `local_hash`, `linear_hash`, `galois_field` | hash items, and count the items that hashed reports support |
| `counting`, `walsh_hadamard` | count bits and integers, and transform the counts |
| `debias` | turn counts into unbiased frequencies |
| `quadrature`, `cubics` | choose the nodes of sums over frequencies; interpolate |
| `dispatch`, `compiled` | choose between NumPy and the twins that Numba compiles |
| `chunks`, `threads` | cut the work into chunks and share them between threads |
"""

"""Fair random bits, and probabilities as whole numbers to compare them with: every mechanism uses both."""

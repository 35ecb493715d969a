"""Fair random bits, and probabilities as whole numbers: what every mechanism draws from."""

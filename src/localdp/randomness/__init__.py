"""The source of fair random bits, and probabilities stored as whole numbers.

Every mechanism draws random numbers from `keystream` and compares them with the whole numbers of `thresholds`.
"""

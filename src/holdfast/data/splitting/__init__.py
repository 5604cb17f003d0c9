"""Splitting a data set: what belongs together, how much goes where, and both sides alike."""

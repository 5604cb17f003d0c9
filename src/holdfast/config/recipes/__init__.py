"""Configs of our own for the common models, to be filled in from the data."""

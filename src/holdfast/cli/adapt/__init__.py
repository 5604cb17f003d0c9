"""`holdfast adapt`."""

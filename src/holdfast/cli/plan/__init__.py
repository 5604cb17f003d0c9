"""`holdfast plan`."""

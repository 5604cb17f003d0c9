"""`holdfast check`."""

"""`holdfast search`."""

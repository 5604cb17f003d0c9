"""`holdfast weights`."""

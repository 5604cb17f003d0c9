"""`holdfast new`."""

"""`holdfast cloud`."""

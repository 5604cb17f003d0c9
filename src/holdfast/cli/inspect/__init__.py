"""`holdfast inspect`."""

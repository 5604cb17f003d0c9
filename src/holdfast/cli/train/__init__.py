"""`holdfast train`."""

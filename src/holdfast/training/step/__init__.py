"""One training step and all that it changes."""

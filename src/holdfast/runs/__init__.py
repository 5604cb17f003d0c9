"""The run directory: what was trained, how far it came and what happened on the way."""

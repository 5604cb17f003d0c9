"""A look at all of a data set: what is in it, what is left out, and why."""

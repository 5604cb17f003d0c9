"""The capsule: all that made one step, in one file, to be looked at anywhere."""

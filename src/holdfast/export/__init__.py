"""A trained detector as a file for other programs, proved against the detector it came from."""

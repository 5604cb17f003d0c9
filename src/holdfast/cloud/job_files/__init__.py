"""The files that run a training elsewhere, one module for each kind."""

"""Weights in and out: the OD API's checkpoints, Keras weight files and Holdfast's own."""

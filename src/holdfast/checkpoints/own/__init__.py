"""Holdfast's own checkpoints: written whole or not at all, read by the paths of variables."""

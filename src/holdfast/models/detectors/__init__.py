"""Whole detectors."""

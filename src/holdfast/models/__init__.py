"""Detectors: backbone + neck + head, and what they give."""

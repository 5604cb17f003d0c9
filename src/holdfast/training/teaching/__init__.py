"""Distillation: a student learns from what a trained detector says about the same images."""

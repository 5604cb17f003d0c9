"""Losses of classes, boxes and heatmaps, and the choice of anchors that count: pure functions."""

"""Losses of classes and boxes, and the choice of anchors that count: pure functions."""

"""Boxes, anchors, matching, coding and suppression: pure functions."""

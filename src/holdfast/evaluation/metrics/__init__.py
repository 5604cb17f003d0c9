"""Metrics of detections, by the OD API's names."""

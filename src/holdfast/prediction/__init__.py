"""Use a trained or exported detector: images in, detections, pictures and JSON out."""

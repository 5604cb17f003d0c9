"""Before and after the network: images to inputs, predictions to detections."""

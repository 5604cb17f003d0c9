"""Where the time and memory of a step go, from TensorFlow's own profiler."""

"""What a training outlives: no memory, signals, bad numbers."""

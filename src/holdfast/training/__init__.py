"""Training: the step, the loop, and the parts they are made of."""

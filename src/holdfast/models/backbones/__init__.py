"""Networks that turn images into features."""

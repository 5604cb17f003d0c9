"""TFRecord files: found, listed, read, split."""

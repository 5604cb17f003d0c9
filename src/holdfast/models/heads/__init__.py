"""Parts that turn features into box encodings and class logits."""

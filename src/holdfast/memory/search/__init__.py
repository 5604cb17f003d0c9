"""Settings that fit into memory."""

"""The peak memory of a traced step, predicted."""

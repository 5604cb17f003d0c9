"""Names: where the OD API's checkpoints keep each variable of a detector."""

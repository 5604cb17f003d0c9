"""What a run records about how it learns, beside its losses."""

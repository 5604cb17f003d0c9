"""pipeline.config files and label maps as typed values."""

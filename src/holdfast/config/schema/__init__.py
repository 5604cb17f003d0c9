"""Every message of the pipeline.config as a frozen dataclass, one file per block."""

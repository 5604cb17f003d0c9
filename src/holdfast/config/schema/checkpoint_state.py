"""The file `checkpoint` that TensorFlow writes beside checkpoints, to name the latest."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.config.schema.message import Message


@dataclass(frozen=True, kw_only=True, repr=False)
class CheckpointState(Message):
    """Which checkpoints there are."""

    model_checkpoint_path: str = ""  # the latest
    all_model_checkpoint_paths: tuple[str, ...] = ()
    all_model_checkpoint_timestamps: tuple[float, ...] = ()
    last_preserved_timestamp: float = 0.0

"""What a training takes from the checkpoint that it starts from."""

from __future__ import annotations

from typing import Any

from holdfast.config.schema.train import TrainConfig


def loading_kind(train: TrainConfig) -> Any:
    """Say what to take from the checkpoint; unset it means what the OD API makes of it.

    >>> loading_kind(TrainConfig(from_detection_checkpoint=True))
    'detection'
    """
    if train.fine_tune_checkpoint_type:
        return train.fine_tune_checkpoint_type
    if train.load_all_detection_checkpoint_vars:
        return "full"
    return "detection" if train.from_detection_checkpoint else "classification"

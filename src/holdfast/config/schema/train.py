"""Training settings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from holdfast.config.schema.message import Deprecated, Message, UInt32
from holdfast.config.schema.optimizer import Optimizer
from holdfast.config.schema.preprocessor import PreprocessingStep


class CheckpointVersion(IntEnum):
    """The checkpoint format to restore from."""

    UNKNOWN = 0
    V1 = 1
    V2 = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainConfig(Message):
    """Batch, length, optimizer, augmentation and the checkpoint to start from."""

    deprecated: ClassVar[Deprecated] = {
        "from_detection_checkpoint": 'use fine_tune_checkpoint_type: "detection"',
        "batch_queue_capacity": "the input pipeline sizes its buffers itself",
        "num_batch_queue_threads": "the input pipeline adapts to the cores",
        "prefetch_queue_capacity": "the input pipeline sizes its buffers itself",
        "max_number_of_boxes": "set max_number_of_boxes in train_input_reader",
    }

    batch_size: UInt32 = 32
    data_augmentation_options: tuple[PreprocessingStep, ...] = ()
    sync_replicas: bool = False
    keep_checkpoint_every_n_hours: float = 10000.0
    optimizer: Optimizer | None = None
    gradient_clipping_by_norm: float = 0.0
    fine_tune_checkpoint: str = ""
    fine_tune_checkpoint_type: str = ""
    fine_tune_checkpoint_version: CheckpointVersion = CheckpointVersion.V1
    from_detection_checkpoint: bool = False
    load_all_detection_checkpoint_vars: bool = False
    run_fine_tune_checkpoint_dummy_computation: bool = True
    num_steps: UInt32 = 0
    startup_delay_steps: float = 15.0
    bias_grad_multiplier: float = 0.0
    update_trainable_variables: tuple[str, ...] = ()
    freeze_variables: tuple[str, ...] = ()
    replicas_to_aggregate: int = 1
    batch_queue_capacity: int = 150
    num_batch_queue_threads: int = 8
    prefetch_queue_capacity: int = 5
    merge_multiple_label_boxes: bool = False
    use_multiclass_scores: bool = False
    add_regularization_loss: bool = True
    max_number_of_boxes: int = 100
    unpad_groundtruth_tensors: bool = True
    retain_original_images: bool = False
    use_bfloat16: bool = False
    summarize_gradients: bool = False

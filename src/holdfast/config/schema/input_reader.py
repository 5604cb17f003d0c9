"""Where the data is and how it is read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from holdfast.config.schema.message import Deprecated, Message, OneOfs, UInt32


class InstanceMaskType(IntEnum):
    """How masks are stored in the records."""

    DEFAULT = 0
    NUMERICAL_MASKS = 1
    PNG_MASKS = 2


class InputType(IntEnum):
    """The kind of example in the records."""

    INPUT_DEFAULT = 0
    TF_EXAMPLE = 1
    TF_SEQUENCE_EXAMPLE = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class InputReader(Message):
    """One data set: files, label map, and what to load."""

    oneofs: ClassVar[OneOfs] = {
        "input_reader": (
            "tf_record_input_reader",
            "external_input_reader",
        ),
    }
    deprecated: ClassVar[Deprecated] = {
        "queue_capacity": "the input pipeline sizes its buffers itself",
        "min_after_dequeue": "use shuffle_buffer_size",
        "prefetch_size": "the input pipeline sizes its buffers itself",
        "num_parallel_map_calls": "the input pipeline adapts to the cores",
    }

    name: str = ""
    label_map_path: str = ""
    shuffle: bool = True
    shuffle_buffer_size: UInt32 = 2048
    filenames_shuffle_buffer_size: UInt32 = 100
    num_epochs: UInt32 = 0
    sample_1_of_n_examples: UInt32 = 1
    num_readers: UInt32 = 64
    num_parallel_batches: UInt32 = 8
    num_prefetch_batches: int = 2
    queue_capacity: UInt32 = 2000
    min_after_dequeue: UInt32 = 1000
    read_block_length: UInt32 = 32
    prefetch_size: UInt32 = 512
    num_parallel_map_calls: UInt32 = 64
    drop_remainder: bool = True
    num_additional_channels: int = 0
    num_keypoints: UInt32 = 0
    keypoint_type_weight: tuple[float, ...] = ()
    max_number_of_boxes: int = 100
    load_multiclass_scores: bool = False
    load_context_features: bool = False
    load_context_image_ids: bool = False
    load_instance_masks: bool = False
    mask_type: InstanceMaskType = InstanceMaskType.NUMERICAL_MASKS
    load_dense_pose: bool = False
    load_track_id: bool = False
    load_keypoint_depth_features: bool = False
    use_display_name: bool = False
    include_source_id: bool = False
    input_type: InputType = InputType.TF_EXAMPLE
    frame_index: int = -1
    use_keypoint_label_map: bool = False
    tf_record_input_reader: TFRecordInputReader | None = None
    external_input_reader: ExternalInputReader | None = None
    sample_from_datasets_weights: tuple[float, ...] = ()
    expand_labels_hierarchy: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class TFRecordInputReader(Message):
    """Paths or globs of TFRecord files."""

    input_path: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class ExternalInputReader(Message):
    """A reader registered by other code."""

"""Turn the config's blocks into parts of the input pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from functools import partial
from typing import Any

from holdfast.config.label_map import ids_by_text
from holdfast.config.schema import image_resizer as resizers
from holdfast.config.schema.input_reader import InputReader, InstanceMaskType
from holdfast.config.schema.label_map import StringIntLabelMap
from holdfast.config.schema.message import Message
from holdfast.config.schema.preprocessor import PreprocessingStep
from holdfast.data import resize
from holdfast.data.augment import AUGMENTATIONS, Crop, CropPad, FixedAspectRatioCrop
from holdfast.data.pipeline import Augment
from holdfast.data.resize import Resized
from holdfast.data.sample import Tensor
from holdfast.data.sources.tfrecord import MaskFormat, RecordLayout
from holdfast.errors import HoldfastError

_OPERATIONS: dict[str, type] = {
    "ssd_random_crop": Crop,
    "ssd_random_crop_pad": CropPad,
    "ssd_random_crop_fixed_aspect_ratio": FixedAspectRatioCrop,
    "ssd_random_crop_pad_fixed_aspect_ratio": Crop,
}


def build_augmentations(steps: Sequence[PreprocessingStep]) -> list[Augment]:
    """Make the functions of `data_augmentation_options`, in their order."""
    return list(_augmentations(steps))


def _augmentations(steps: Sequence[PreprocessingStep]) -> Iterator[Augment]:
    for step in steps:
        name = step.which("preprocessing_step")
        if name is None:
            raise HoldfastError(
                "A data_augmentation_options block names no augmentation.",
                fix="Name one, e.g. random_horizontal_flip { }, or remove the block.",
            )
        keywords = _keywords(getattr(step, name))
        if operations := keywords.get("operations"):
            kind = _OPERATIONS[name]
            keywords["operations"] = tuple(kind(**_keywords(each)) for each in operations)
        yield partial(AUGMENTATIONS[name], **keywords)


def build_resizer(config: resizers.ImageResizer) -> Callable[[Tensor, Tensor], Resized]:
    """Make the resizer: a function of image and masks."""
    chosen = config.chosen("image_resizer_oneof")
    keywords = _keywords(chosen) if chosen is not None else {}
    match chosen:
        case resizers.FixedShapeResizer():
            return partial(resize.fixed_shape, **keywords)
        case resizers.KeepAspectRatioResizer():
            return partial(resize.keep_aspect_ratio, **keywords)
        case resizers.ConditionalShapeResizer():
            return partial(resize.conditional_shape, **keywords)
        case resizers.PadToMultipleResizer():
            return partial(resize.pad_to_multiple, **keywords)
        case resizers.IdentityResizer():
            return resize.identity
    raise HoldfastError(
        "image_resizer chooses no resizer.",
        fix="Write for example image_resizer { fixed_shape_resizer { height: 320 width: 320 } }",
    )


def build_layout(reader: InputReader, label_map: StringIntLabelMap | None) -> RecordLayout:
    """Say what to read from the records of an input reader."""
    masks = None
    if reader.load_instance_masks:
        is_png = reader.mask_type is InstanceMaskType.PNG_MASKS
        masks = MaskFormat.PNG if is_png else MaskFormat.NUMERICAL
    return RecordLayout(
        class_ids=_class_ids(label_map) if label_map is not None else None,
        known_ids=tuple(item.id for item in label_map.item) if label_map is not None else None,
        masks=masks,
        num_keypoints=reader.num_keypoints,
    )


def _class_ids(label_map: StringIntLabelMap) -> dict[str, int]:
    """Map every text that records may use: names and display names, as the OD API looks up both."""
    texts = ids_by_text(label_map, use_display_name=True) | ids_by_text(label_map)
    return {text: number for text, number in texts.items() if text}


def _keywords(message: Message) -> dict[str, Any]:
    """Give the set fields; unset ones keep the part's own defaults. Enums go by name."""
    values = {name: getattr(message, name) for name in message.fields_set if message.has(name)}
    return {
        name: value.name if isinstance(value, IntEnum) else value for name, value in values.items()
    }

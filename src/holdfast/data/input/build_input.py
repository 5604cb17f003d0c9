"""Turn the config's blocks into parts of the input pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from holdfast.config.facts.input_sizes import InputShape, input_shape
from holdfast.config.facts.learned_fields import learned_fields
from holdfast.config.facts.networks import detector_of
from holdfast.config.keywords import set_keywords
from holdfast.config.label_map import ids_by_text
from holdfast.config.part_choices import PartChoice
from holdfast.config.paths import Base, find_files
from holdfast.config.schema import image_resizer as resizers
from holdfast.config.schema.input_reader import InputReader, InstanceMaskType
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.preprocessor import PreprocessingStep
from holdfast.config.schema.train import TrainConfig
from holdfast.config.validate.readers import unsupported_settings
from holdfast.data.augment import AUGMENTATIONS, Crop, CropPad, FixedAspectRatioCrop
from holdfast.data.input import resize
from holdfast.data.input.budget import DEFAULT_BUDGET_BYTES
from holdfast.data.input.pipeline import Augment, Pipeline
from holdfast.data.input.resize import Resized
from holdfast.data.input.training_input import InputSettings, training_pipeline
from holdfast.data.records import data_files
from holdfast.data.records.label_map_files import open_label_map
from holdfast.data.records.record_shapes import first_examples, mask_format, num_keypoints
from holdfast.data.sample import Tensor
from holdfast.data.sources.record_masks import MaskFormat
from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey.inspection import Records, records_of
from holdfast.data.survey.statistics import Statistics
from holdfast.errors import ConfigError, HoldfastError

_OPERATIONS: dict[str, type] = {
    "ssd_random_crop": Crop,
    "ssd_random_crop_pad": CropPad,
    "ssd_random_crop_fixed_aspect_ratio": FixedAspectRatioCrop,
    "ssd_random_crop_pad_fixed_aspect_ratio": Crop,
}


def build_training_input(
    config: TrainEvalPipelineConfig,
    records: Records,
    statistics: Statistics,
    *,
    seed: int = 0,
    budget_bytes: int = DEFAULT_BUDGET_BYTES,
    truth_fields: frozenset[str] = frozenset(),
) -> Pipeline:
    """Make the training input of a config from its records and their statistics.

    truth_fields: optional fields of the ground truth to deliver, such as masks, beside those that
    the config itself asks for. Boxes, classes and weights always are.
    """
    train = config.train_config or TrainConfig()
    reader = config.train_input_reader or InputReader()
    detector = detector_of(config.model) if config.model else None
    if config.model is None or detector is None or detector.image_resizer is None:
        fix = "Write model { ssd { num_classes: … image_resizer { … } … } }."
        raise HoldfastError("The config has no detector with an image_resizer.", fix=fix)
    shape = input_shape(config.model, train.batch_size) or largest_image(statistics)
    steps = train.data_augmentation_options
    doubles = any(step.which("preprocessing_step") == "random_self_concat_image" for step in steps)
    settings = InputSettings(
        batch_size=train.batch_size,
        num_classes=detector.num_classes,
        height=shape.height,
        width=shape.width,
        has_fixed_shape=shape.fixed,
        shuffles=reader.shuffle,
        shuffle_records=reader.shuffle_buffer_size if reader.has("shuffle_buffer_size") else None,
        seed=seed,
        budget_bytes=budget_bytes,
        boxes_factor=4 if doubles else 1,
        truth_fields=truth_fields | learned_fields(detector),
    )
    return training_pipeline(
        records,
        statistics,
        settings,
        resize=build_resizer(detector.image_resizer),
        augmentations=build_augmentations(steps, config.parts),
    )


def largest_image(statistics: Statistics) -> InputShape:
    """Give the shape that holds every image, where the resizer sets no limit."""
    sizes = statistics.image_sizes
    if sizes is None:
        return InputShape(1, 1, fixed=False)
    return InputShape(int(sizes.height.maximum), int(sizes.width.maximum), fixed=False)


def open_reader(
    reader: InputReader,
    folder: Path,
    *,
    name: str = "train_input_reader",
    label_map: StringIntLabelMap | None = None,
) -> Records:
    """Find the records that a reader names, and its label map unless one is given.

    folder: where the config lies; relative paths are looked up there after the working directory.
    """
    if problems := tuple(unsupported_settings(reader, name)):
        raise ConfigError(name, problems)
    patterns = reader.tf_record_input_reader.input_path if reader.tf_record_input_reader else ()
    if not patterns:
        fix = "Write tf_record_input_reader { input_path: … }."
        raise HoldfastError(f"{name} names no TFRecord files.", fix=fix)
    if label_map is None and reader.label_map_path:
        label_map = open_label_map(_find(reader.label_map_path, folder)[0])
    found = dict.fromkeys(file for pattern in patterns for file in _find(pattern, folder))
    layout = build_layout(reader, label_map)
    _refuse_other_shapes(list(found), layout, name)
    return records_of(list(found), label_map, layout)


def _refuse_other_shapes(files: list[str], layout: RecordLayout, name: str) -> None:
    """Refuse settings by which no record could be read: masks and keypoints of another form."""
    if layout.masks is None and not layout.num_keypoints:
        return
    examples = first_examples(files)
    stored = mask_format(examples)
    if layout.masks is not None and stored not in (None, layout.masks):
        types = {MaskFormat.PNG: "PNG_MASKS", MaskFormat.NUMERICAL: "NUMERICAL_MASKS"}
        raise HoldfastError(
            f"{name}.mask_type is {types[layout.masks]}, and the records hold {types[stored]}.",
            fix=f"Set {name}.mask_type: {types[stored]}.",
        )
    points = num_keypoints(examples)
    if layout.num_keypoints and points not in (0, layout.num_keypoints):
        raise HoldfastError(
            f"{name}.num_keypoints is {layout.num_keypoints}, and the objects in the records have "
            f"{points}.",
            fix=f"Set {name}.num_keypoints: {points}.",
        )


def _find(pattern: str, folder: Path) -> list[str]:
    found = find_files(pattern, folder)
    is_remote = found.base is Base.REMOTE
    paths = data_files.glob(pattern) if is_remote else [str(file) for file in found.files]
    if not paths:
        raise HoldfastError(f"{pattern} leads to no file.", fix="Check the path in the config.")
    return paths


def build_augmentations(
    steps: Sequence[PreprocessingStep], choices: Iterable[PartChoice] = ()
) -> list[Augment]:
    """Make the functions of `data_augmentation_options`, in their order, then users' own."""
    own = [
        partial(AUGMENTATIONS[choice.name], **dict(choice.keywords))
        for choice in choices
        if choice.kind == "augmentation"
    ]
    return [*_augmentations(steps), *own]


def _augmentations(steps: Sequence[PreprocessingStep]) -> Iterator[Augment]:
    for step in steps:
        name = step.which("preprocessing_step")
        if name is None:
            raise HoldfastError(
                "A data_augmentation_options block names no augmentation.",
                fix="Name one, e.g. random_horizontal_flip { }, or remove the block.",
            )
        keywords = set_keywords(getattr(step, name))
        if operations := keywords.get("operations"):
            kind = _OPERATIONS[name]
            keywords["operations"] = tuple(kind(**set_keywords(each)) for each in operations)
        yield partial(AUGMENTATIONS[name], **keywords)


def build_resizer(config: resizers.ImageResizer) -> Callable[[Tensor, Tensor], Resized]:
    """Make the resizer: a function of image and masks."""
    chosen = config.chosen("image_resizer_oneof")
    keywords = set_keywords(chosen) if chosen is not None else {}
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

"""The changes that another resolution asks for."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.facts.input_sizes import indivisible_levels, input_shape, smallest_side
from holdfast.config.facts.networks import detector_of
from holdfast.config.schema import image_resizer as resizers
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import HoldfastError
from holdfast.projects.adapting.field_change import FieldChange, change, changed

AS_ASKED = "As asked for."


def parse_resolution(text: str) -> tuple[int, int]:
    """Read `640` or `480x640`: height and width.

    >>> parse_resolution("640"), parse_resolution("480x640")
    ((640, 640), (480, 640))
    """
    height, times, width = text.lower().partition("x")
    parts = [part.strip() for part in ((height, width) if times else (height, height))]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise HoldfastError(
            f"{text!r} is not a resolution.",
            fix="Write a number, such as 640, or height x width, such as 480x640.",
        )
    return int(parts[0]), int(parts[1])


def input_changes(
    config: TrainEvalPipelineConfig, resolution: tuple[int, int]
) -> Iterator[FieldChange]:
    """Resize images to another height and width, also where an augmentation does."""
    assert config.model is not None
    detector, kind = detector_of(config.model), config.model.which("model")
    resizer = detector.image_resizer if detector is not None else None
    place = f"model.{kind}.image_resizer"
    changes: list[FieldChange] = []
    height, width = resolution
    match resizer.chosen("image_resizer_oneof") if resizer is not None else None:
        case resizers.FixedShapeResizer():
            inner = f"{place}.fixed_shape_resizer"
            changes += change(config, f"{inner}.height", height, AS_ASKED)
            changes += change(config, f"{inner}.width", width, AS_ASKED)
        case resizers.KeepAspectRatioResizer() as keep:
            inner, shorter = f"{place}.keep_aspect_ratio_resizer", min(resolution)
            if height == width and keep.min_dimension != keep.max_dimension:
                shorter = round(height * keep.min_dimension / keep.max_dimension)
            why = AS_ASKED if shorter == height else "In proportion to the longer side."
            changes += change(config, f"{inner}.min_dimension", shorter, why)
            changes += change(config, f"{inner}.max_dimension", max(resolution), AS_ASKED)
        case _:
            fixed = resizers.FixedShapeResizer(height=height, width=width)
            new = resizers.ImageResizer(fixed_shape_resizer=fixed)
            why = "As asked for; the resizer there was has no resolution to set."
            changes += change(config, place, new, why)
    _refuse_wrong_size(changed(config, changes))
    yield from changes
    yield from _augmentation_changes(config, max(resolution))


def _augmentation_changes(config: TrainEvalPipelineConfig, side: int) -> Iterator[FieldChange]:
    """Let augmentations that make images of a size make them of the new one."""
    options = config.train_config.data_augmentation_options if config.train_config else ()
    for index, each in enumerate(options):
        scaled = each.random_scale_crop_and_pad_to_square
        if scaled is not None and scaled.has("output_size") and scaled.output_size != side:
            place = f"train_config.data_augmentation_options[{index}]"
            yield FieldChange(
                path=f"{place}.random_scale_crop_and_pad_to_square.output_size",
                before=scaled.output_size,
                after=side,
                why="It makes images of the network's input size.",
            )


def _refuse_wrong_size(config: TrainEvalPipelineConfig) -> None:
    """Refuse a resolution that the network cannot take, and name the nearest that it can."""
    assert config.model is not None
    shape = input_shape(config.model)
    if shape is None:
        return
    if min(shape.height, shape.width) < (least := smallest_side(config.model)):
        raise HoldfastError(
            f"The network takes no input of {shape.height} x {shape.width}.",
            fix=f"Give sides of at least {least}.",
        )
    for wrong in indivisible_levels(config.model, shape):
        sizes = [each for each in (wrong.smaller_input, wrong.larger_input) if each]
        raise HoldfastError(
            f"The network takes no side of {wrong.input_size}: its maps could not be added.",
            fix=f"Give {' or '.join(map(str, sizes))}.",
        )

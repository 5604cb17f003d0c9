"""Fill a recipe in: the text of a pipeline.config, with comments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import resources
from string import Template
from textwrap import indent

from holdfast.config.decode import decode
from holdfast.config.encode import encode
from holdfast.config.recipes.recipe import Recipe
from holdfast.config.recipes.schedule import FEWEST_STEPS, MOST_STEPS, Schedule
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.config.schema.train import CheckpointVersion, TrainConfig

# Boxes and detections of an image that the OD API makes room for, unless told otherwise.
DEFAULT_BOXES = 100


@dataclass(frozen=True, kw_only=True)
class Start:
    """The weights that a training starts from."""

    checkpoint: str
    kind: str  # fine_tune_checkpoint_type
    version: CheckpointVersion
    reason: str  # for the kind


@dataclass(frozen=True, kw_only=True)
class Filling:
    """What a recipe needs to know about the data."""

    num_classes: int
    num_images: int  # to train on
    most_boxes: int  # of one image
    schedule: Schedule
    train_reader: InputReader
    eval_reader: InputReader | None  # None: nothing is held out
    start: Start | None  # None: random weights


def fill(recipe: Recipe, filling: Filling) -> str:
    """Write the pipeline.config of a recipe."""
    parts = [_header(recipe, filling)]
    parts.append(_model_text(recipe, filling.num_classes, filling.most_boxes))
    parts.append(_training_text(recipe, filling))
    if filling.eval_reader is not None:
        reader = _reader_text(filling.eval_reader, filling.most_boxes)
        parts.append(_template("evaluation.config").substitute(eval_reader=reader))
    return "".join(parts)


def recipe_model(recipe: Recipe, num_classes: int) -> DetectionModel:
    """Give the network of a recipe alone."""
    text = _model_text(recipe, num_classes, DEFAULT_BOXES)
    decoded = decode(text, TrainEvalPipelineConfig)
    assert not decoded.problems
    assert decoded.message.model is not None
    return decoded.message.model


def _template(name: str) -> Template:
    return Template(resources.files(__package__).joinpath(name).read_text("utf-8"))


def _header(recipe: Recipe, filling: Filling) -> str:
    classes = f"{filling.num_classes} class{'' if filling.num_classes == 1 else 'es'}"
    return (
        f"# {recipe.title}. Published with {recipe.coco_map:g} % mAP on COCO.\n"
        f"# Filled in for {filling.num_images} training images of {classes}. The fields are those "
        "of the TensorFlow\n# Object Detection API.\n\n"
    )


def _model_text(recipe: Recipe, num_classes: int, most_boxes: int) -> str:
    room = max(DEFAULT_BOXES, math.ceil(most_boxes / 100) * 100)
    return _template(recipe.template).substitute(
        recipe.sizes, num_classes=num_classes, input_size=recipe.input_size, max_detections=room
    )


def _training_text(recipe: Recipe, filling: Filling) -> str:
    schedule = filling.schedule
    return _template("training.config").substitute(
        batch_size=schedule.batch_size,
        num_steps=schedule.num_steps,
        steps_reason=_steps_reason(schedule, filling.num_images),
        start=indent(_start_text(recipe, filling.start), "  "),
        augmentation=Template(recipe.augmentation).substitute(input_size=recipe.input_size),
        rate_reason=_rate_reason(recipe, schedule),
        learning_rate=f"{schedule.learning_rate:.4g}",
        warmup_learning_rate=f"{schedule.warmup_learning_rate:.4g}",
        warmup_steps=schedule.warmup_steps,
        train_reader=_reader_text(filling.train_reader, filling.most_boxes),
    )


def _steps_reason(schedule: Schedule, num_images: int) -> str:
    bound = {FEWEST_STEPS: ", the fewest steps that are set", MOST_STEPS: ", the most that are set"}
    limit = bound.get(schedule.num_steps, "")
    return f"About {schedule.epochs_text} epochs of the {num_images} training images{limit}."


def _rate_reason(recipe: Recipe, schedule: Schedule) -> str:
    published = recipe.published
    return (
        f"Published: {published.learning_rate:g} for a batch of {published.batch_size}. In "
        f"proportion, that is {schedule.learning_rate:.4g} for {schedule.batch_size}."
    )


def _start_text(recipe: Recipe, start: Start | None) -> str:
    if start is not None:
        values = TrainConfig(
            fine_tune_checkpoint=start.checkpoint,
            fine_tune_checkpoint_type=start.kind,
            fine_tune_checkpoint_version=start.version,
        )
        return f"# {start.reason}\n{encode(values)}".rstrip()
    return (
        "# It starts from random weights. Weights trained on COCO need far fewer images: unpack\n"
        f"#   {recipe.archive}\n"
        "# and uncomment these lines:\n"
        f'# fine_tune_checkpoint: "{recipe.zoo_checkpoint}"\n'
        '# fine_tune_checkpoint_type: "detection"\n'
        f"# fine_tune_checkpoint_version: {recipe.checkpoint_version}"
    )


def _reader_text(reader: InputReader, most_boxes: int) -> str:
    if most_boxes > DEFAULT_BOXES:
        reader = reader.replace(max_number_of_boxes=most_boxes)
    return indent(encode(reader), "  ").rstrip()

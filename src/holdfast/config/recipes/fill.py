"""Fill a recipe in: the text of a pipeline.config, with comments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import resources
from string import Template
from textwrap import indent, wrap

from holdfast.config.recipes.recipe import Recipe, Trained
from holdfast.config.recipes.schedule import Schedule
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import CheckpointVersion, TrainConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.encode import encode

# Boxes and detections of an image that the OD API makes room for, unless told otherwise.
DEFAULT_BOXES = 100
_TOTAL_OF_TWO_STAGES = 300  # detections of an image
_LINE = 96  # columns
PUBLISHED_INPUT = "The size that the network was published with."


@dataclass(frozen=True, kw_only=True)
class Start:
    """The weights that a training starts from."""

    checkpoint: str
    kind: str  # fine_tune_checkpoint_type
    version: CheckpointVersion
    reason: str  # for the kind
    of_keras: bool = False  # whether it is a classifier that Keras trained

    @property
    def is_detector(self) -> bool:
        """Whether all but what predicts is trained already."""
        return self.kind != "classification"


def trained_by(start: Start | None) -> Trained:
    """Say what of a network the weights bring that it starts from; None: random ones."""
    if start is None:
        return Trained.NOTHING
    return Trained.DETECTOR if start.is_detector else Trained.BACKBONE


@dataclass(frozen=True, kw_only=True)
class FittedAnchors:
    """Anchors chosen for a data set instead of the published ones."""

    generator: AnchorGenerator
    reason: str


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
    input_reason: str = PUBLISHED_INPUT  # for the recipe's input size
    anchors: FittedAnchors | None = None  # None: the published ones


def fill(recipe: Recipe, filling: Filling) -> str:
    """Write the pipeline.config of a recipe."""
    parts = [_header(recipe, filling)]
    parts.append(
        _model_text(
            recipe,
            filling.num_classes,
            most_boxes=filling.most_boxes,
            input_reason=filling.input_reason,
            start=filling.start,
            anchors=filling.anchors,
        )
    )
    parts.append(_training_text(recipe, filling))
    if filling.eval_reader is not None:
        reader = _reader_text(filling.eval_reader, filling.most_boxes)
        metrics = _MASK_METRICS if recipe.stages == 3 else ""
        text = _template("evaluation.config").substitute(eval_reader=reader, more_metrics=metrics)
        parts.append(text)
    return "".join(parts)


def recipe_model(recipe: Recipe, num_classes: int) -> DetectionModel:
    """Give the network of a recipe alone."""
    text = _model_text(recipe, num_classes)
    decoded = decode(text, TrainEvalPipelineConfig)
    assert not decoded.problems
    assert decoded.message.model is not None
    return decoded.message.model


def _template(name: str) -> Template:
    return Template(resources.files(__package__).joinpath(name).read_text("utf-8"))


def _header(recipe: Recipe, filling: Filling) -> str:
    classes = f"{filling.num_classes} class{'' if filling.num_classes == 1 else 'es'}"
    return (
        f"# {recipe.network}. Published with {recipe.coco_map:g} % mAP on COCO.\n"
        f"# Filled in for {filling.num_images} training images of {classes}. The fields are those "
        "of the TensorFlow\n# Object Detection API.\n\n"
    )


def _model_text(
    recipe: Recipe,
    num_classes: int,
    *,
    most_boxes: int = DEFAULT_BOXES,
    input_reason: str = PUBLISHED_INPUT,
    start: Start | None = None,
    anchors: FittedAnchors | None = None,
) -> str:
    room = max(DEFAULT_BOXES, math.ceil(most_boxes / 100) * 100)
    of_keras = start is not None and start.of_keras
    return _template(recipe.template).substitute(
        recipe.sizes,
        num_classes=num_classes,
        input_size=recipe.input_size,
        input_reason=_comment(input_reason, 4),
        shorter_pixels=recipe.shorter_pixels,
        max_detections=room,
        total_detections=max(room, _TOTAL_OF_TWO_STAGES),
        anchors=_anchors_text(recipe, anchors),
        decay=_DECAY,
        # Keras' ResNets, other than the OD API's, have these.
        activation="RELU" if of_keras else "RELU_6",
        epsilon=recipe.keras_epsilon if of_keras else "0.001",
        **_batch_norm(recipe, start),
    )


_MASK_METRICS = '  metrics_set: "coco_mask_metrics"\n'
_DECAY = 0.97  # of batch-norm statistics


def _batch_norm(recipe: Recipe, start: Start | None) -> dict[str, str]:
    """Say how the batch norms of the network under the head are trained."""
    # Two stages are trained on single images: a classifier's statistics are better than theirs.
    is_frozen = start is not None and (start.is_detector or recipe.stages > 1)
    if is_frozen:
        reason = "Statistics stay those of the checkpoint: small batches would only add noise."
    elif recipe.stages > 1:
        reason = "Random weights need statistics of their own; those of a checkpoint would stay."
    else:
        reason = "Statistics are averages over some 30 batches: published ones need far more steps."
    return {
        "batch_norm": "train: false" if is_frozen else f"train: true decay: {_DECAY}",
        "is_frozen": str(is_frozen).lower(),
        "trains_statistics": str(not is_frozen).lower(),
        "batch_norm_reason": _comment(reason, recipe.batch_norm_margin),
    }


def _anchors_text(recipe: Recipe, anchors: FittedAnchors | None) -> str:
    if anchors is None:
        return indent(recipe.anchors, "    ")
    generator = indent(encode(anchors.generator), "      ").rstrip()
    field = "anchor_generator" if recipe.stages == 1 else "first_stage_anchor_generator"
    return f"{_comment(anchors.reason, 4)}\n    {field} {{\n{generator}\n    }}"


def _training_text(recipe: Recipe, filling: Filling) -> str:
    schedule = filling.schedule
    return _template("training.config").substitute(
        batch_size=schedule.batch_size,
        batch_reason=_comment(_batch_reason(filling.start), 2),
        num_steps=schedule.num_steps,
        steps_reason=_comment(_steps_reason(schedule, filling.num_images), 2),
        start=indent(_start_text(recipe, filling.start), "  "),
        augmentation=Template(recipe.augmentation).substitute(input_size=recipe.input_size),
        optimizer=_ADAM if recipe.published.is_of_adam else _MOMENTUM,
        rate_reason=_comment(_rate_reason(recipe, filling), 2),
        averaged_steps=schedule.averaged_steps,
        average_decay=f"{1 - 1 / schedule.averaged_steps:.4g}",
        learning_rate=f"{schedule.learning_rate:.4g}",
        warmup_learning_rate=f"{schedule.warmup_learning_rate:.4g}",
        warmup_steps=schedule.warmup_steps,
        train_reader=_reader_text(filling.train_reader, filling.most_boxes),
    )


_CLASSIFIER = "a classifier that was trained on ImageNet,"  # where the zoo has no detector
_MOMENTUM = "momentum_optimizer {\n      momentum_optimizer_value: 0.9"
_ADAM = "adam_optimizer {\n      epsilon: 1e-7  # as published"


def _batch_reason(start: Start | None) -> str:
    if start is not None and start.is_detector:
        return "Few images: more and smaller steps learn better. The learning rate is scaled along."
    return "`holdfast plan` says what fits into memory. Scale the learning rate along."


def _steps_reason(schedule: Schedule, num_images: int) -> str:
    return f"About {schedule.epochs_text} epochs of the {num_images} training images."


def _rate_reason(recipe: Recipe, filling: Filling) -> str:
    schedule = filling.schedule
    rate, reason = recipe.rate(trained_by(filling.start))
    return (
        f"{reason}: {rate.learning_rate:g} for a batch of {rate.batch_size}. {rate.rule}, that is "
        f"{schedule.learning_rate:.4g} for {schedule.batch_size}."
    )


def _start_text(recipe: Recipe, start: Start | None) -> str:
    if start is not None:
        values = TrainConfig(
            fine_tune_checkpoint=start.checkpoint,
            fine_tune_checkpoint_type=start.kind,
            fine_tune_checkpoint_version=start.version,
        )
        return f"{_comment(start.reason)}\n{encode(values)}".rstrip()
    return (
        "# The training starts from random weights, which takes thousands of images. From weights\n"
        "# trained on COCO, a few hundred are enough: run `holdfast new` again with\n"
        "#   --pretrained\n"
        f"# which fetches {recipe.zoo or _CLASSIFIER}\n"
        "# and also sets learning rate, batch norm and steps for it."
    )


def _comment(text: str, margin: int = 0) -> str:
    """Write a text as a comment, in lines behind a margin."""
    mark = " " * margin + "# "
    return "\n".join(wrap(text, _LINE, initial_indent=mark, subsequent_indent=mark))


def _reader_text(reader: InputReader, most_boxes: int) -> str:
    if most_boxes > DEFAULT_BOXES:
        reader = reader.replace(max_number_of_boxes=most_boxes)
    return indent(encode(reader), "  ").rstrip()

"""Blocks without which the OD API cannot build or train."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.fields import field_specs
from holdfast.config.schema.message import Message
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.ssd import Ssd
from holdfast.errors import Problem

# In the order of a usual config. Of a block that is a choice, one member must be set.
_REQUIRED: dict[type[Message], tuple[str, ...]] = {
    Ssd: (
        "num_classes",
        "image_resizer",
        "feature_extractor.type",
        "box_coder",
        "matcher",
        "similarity_calculator",
        "box_predictor",
        "anchor_generator",
        "loss.localization_loss",
        "loss.classification_loss",
    ),
    FasterRcnn: (
        "num_classes",
        "image_resizer",
        "feature_extractor.type",
        "first_stage_anchor_generator",
        "second_stage_box_predictor",
    ),
    CenterNet: (
        "num_classes",
        "image_resizer",
        "feature_extractor.type",
        "object_center_params.classification_loss",
    ),
}


def check_required(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield an error for each block that is missing."""
    yield from _lacking(config, "model", "")
    if config.model is not None and (name := config.model.which("model")):
        detector = config.model.chosen("model")
        for path in _REQUIRED.get(type(detector), ()):
            yield from _lacking(detector, path, f"model.{name}")
    yield from _lacking(config, "train_config.optimizer", "")
    optimizer = config.train_config.optimizer if config.train_config else None
    if optimizer is not None and (chosen := optimizer.which("optimizer")):
        yield from _lacking(optimizer, f"{chosen}.learning_rate", "train_config.optimizer")
    yield from _lacking(config, "train_input_reader", "")


def _lacking(message: Message, path: str, parent: str) -> Iterator[Problem]:
    """Yield an error if nothing is set at the path, or a choice there is not made."""
    name, _, rest = path.partition(".")
    place = f"{parent}.{name}" if parent else name
    if not message.has(name):
        missing = f"{parent}.{path}" if parent else path
        yield Problem(path=missing, message="it is missing", fix=_how_to_write(message, path))
        return
    value = getattr(message, name)
    if rest:
        yield from _lacking(value, rest, place)
        return
    for oneof, members in value.oneofs.items() if isinstance(value, Message) else ():
        if value.which(oneof) is None:
            yield Problem(
                path=place,
                message="nothing is chosen in it",
                fix=f"set one of {', '.join(members)}",
            )


def _how_to_write(message: Message, path: str) -> str:
    name, _, rest = path.partition(".")
    if rest:
        return f"add `{name} {{ {rest} … }}`"
    is_block = field_specs(type(message))[name].message is not None
    return f"add `{name} {{ … }}`" if is_block else f"add `{name}: …`"

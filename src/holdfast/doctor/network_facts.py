"""What a config says about layers, whatever the family of its detector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.config.facts.networks import Detector
from holdfast.config.schema.box_predictor import (
    ConvolutionalBoxPredictor,
    WeightSharedConvolutionalBoxPredictor,
)
from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.message import Message
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.post_processing import PostProcessing
from holdfast.config.schema.ssd import Ssd
from holdfast.config.schema.walk import walk

Head = ConvolutionalBoxPredictor | WeightSharedConvolutionalBoxPredictor


class Placed(NamedTuple):
    """A part of the config, and its path."""

    path: str
    message: Message


def parts_of_kind(model: DetectionModel, *kinds: type[Message]) -> Iterator[Placed]:
    """Yield the messages of some types, wherever in the model they are."""
    for field in walk(model, "model"):
        if isinstance(field.value, kinds):
            yield Placed(field.path, field.value)


def trains_batch_norm(detector: Detector) -> bool:
    """Tell whether batch norm uses and follows the statistics of batches."""
    match detector:
        case Ssd():
            return not detector.freeze_batchnorm
        case FasterRcnn(feature_extractor=features):
            return features is not None and features.batch_norm_trainable
        case CenterNet():
            return True


def single_stage_head(detector: Detector) -> tuple[str, Head] | None:
    """Give the head of a single-stage detector, and its name in box_predictor."""
    if not isinstance(detector, Ssd) or detector.box_predictor is None:
        return None
    name = detector.box_predictor.which("box_predictor_oneof")
    head = detector.box_predictor.chosen("box_predictor_oneof")
    return (name, head) if name is not None and isinstance(head, Head) else None


def post_processing(detector: Detector) -> tuple[str, PostProcessing] | None:
    """Give what is done with the detector's scores and boxes, and its field."""
    match detector:
        case Ssd(post_processing=settings) if settings is not None:
            return "post_processing", settings
        case FasterRcnn(second_stage_post_processing=settings) if settings is not None:
            return "second_stage_post_processing", settings
    return None

"""Turn the config's blocks on the network into the parts of a detector of two stages."""

from __future__ import annotations

from holdfast.config.facts.extractors import Extractor
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.models.detectors.two_stage.two_stage_network import TwoStageNetwork


def build_two_stage_network(config: FasterRcnn, known: Extractor) -> TwoStageNetwork:
    """Make all parts with weights; known: what the config's `type` stands for."""
    raise NotImplementedError

"""How much of the network the checkpoint fills that a training starts from."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.checkpoints.report import Report
from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.config.facts.loading_kind import loading_kind
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_detector import build_detector


class StartWeights(NamedTuple):
    """What was loaded from a checkpoint, or why nothing was."""

    prefix: str
    kind: str
    report: Report | None
    problem: str  # "" if something was loaded


def matched_weights(config: TrainEvalPipelineConfig, prefix: str) -> StartWeights:
    """Build the network and load the checkpoint, as a training does."""
    kind = loading_kind(config.train_config or TrainConfig())
    detector = build_detector(config)
    try:
        report = load_checkpoint(detector, prefix, kind=kind)
    except HoldfastError as error:
        return StartWeights(prefix, kind, None, error.message)
    return StartWeights(prefix, kind, report, "")

"""Configs of trainings of seconds, for the families beyond SSD."""

from __future__ import annotations

from typing import Any

from tests.models.detectors.center_net.small_centers import BOXES, HOURGLASS, MASKS, center_net
from tests.models.detectors.small_configs import small_stages
from tests.models.detectors.two_stage.tiny_network import TINY

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.overrides import apply_overrides
from holdfast.models.backbones.split_networks import SPLIT_NETWORKS

FAMILIES = ("faster_rcnn", "mask_rcnn", "center_net")
SIDE = 64


def family_config(family: str, training: TrainEvalPipelineConfig) -> TrainEvalPipelineConfig:
    """Put a detector of a family in the place of the one that a training has."""
    overrides: dict[str, Any] = {}
    if family == "center_net":
        tasks = BOXES + MASKS
        model = center_net(tasks, HOURGLASS, size=(SIDE, SIDE), num_classes=4).model
        # With a batch norm that is frozen, an hourglass begins with losses in the thousands.
        overrides["train_config.gradient_clipping_by_norm"] = 1.0
    else:
        SPLIT_NETWORKS["inception_v2"] = TINY
        model = small_stages(family, SIDE, SIDE).model
        overrides["model.faster_rcnn.num_classes"] = 4
    if family != "faster_rcnn":
        for reader in ("train_input_reader", "eval_input_reader[0]"):
            overrides[f"{reader}.load_instance_masks"] = True
            overrides[f"{reader}.mask_type"] = "PNG_MASKS"
    config, problems = apply_overrides(training.replace(model=model), overrides)
    assert not problems, problems
    return config

"""What the OD API called the parts of a detector, so that its checkpoints can be read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LegacyNames:
    """The parts of a detector by the names that decide what its variables are called.

    TF1 and TF2 names of one network are told apart by the checkpoint, not here.
    """

    backbone: str  # a name of the registry of backbones: "mobilenet_v2", "resnet50_v1"
    neck: str  # "ssd_layers", "fpn", "bifpn"; "" where there is none
    head: str  # "convolutional", "weight_shared", "second_stage"

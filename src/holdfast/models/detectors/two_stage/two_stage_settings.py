"""How a two-stage detector is made, without its weights."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.models.detectors.two_stage.first_stage import FirstStage
from holdfast.models.detectors.two_stage.mask_stage import MaskStage
from holdfast.models.detectors.two_stage.second_stage import SecondStage
from holdfast.models.inference.preprocessing import Preprocessing


@dataclass(frozen=True, kw_only=True)
class TwoStageSettings:
    """How proposals, regions, masks and detections of a two-stage detector are made."""

    num_classes: int
    preprocessing: Preprocessing
    first: FirstStage
    second: SecondStage | None  # None: proposals are all there is
    masks: MaskStage | None = None
    crop_size: int = 14
    pool_kernel_size: int = 2
    pool_stride: int = 2
    pad_to_multiple: int = 1  # the network pads its input at the bottom and right

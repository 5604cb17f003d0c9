"""All parts with weights of a detector of two stages, and how they fit together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras

from holdfast.models.backbones.backbone import Backbone
from holdfast.models.heads.region_box import RegionBoxHead
from holdfast.models.heads.region_mask import RegionMaskHead
from holdfast.models.heads.region_proposal import RegionProposalHead
from holdfast.models.part_names import LegacyNames


@dataclass(frozen=True, kw_only=True)
class TwoStageNetwork:
    """The parts in the order in which an image passes them; all are called with training=...

    B images, R regions: those of the first image, then those of the next.
    """

    backbone: Backbone  # (B, H, W, 3) -> maps, finest first: one, or those of a pyramid
    proposal_head: RegionProposalHead  # maps -> RegionProposalOutput
    region_extractor: keras.layers.Layer  # cropped, pooled (R, h, w, C) -> (R, h', w', C')
    box_head: RegionBoxHead  # (R, h', w', C') -> RegionBoxOutput
    mask_head: RegionMaskHead | None  # (R, h', w', C') -> (R, num_classes or 1, height, width)
    legacy: LegacyNames

    def parts(self) -> dict[str, Any]:
        """Give the parts by the names that checkpoints know them by."""
        named = {
            "backbone": self.backbone,
            "proposal_head": self.proposal_head,
            "region_extractor": self.region_extractor,
            "box_head": self.box_head,
            "mask_head": self.mask_head,
        }
        return {name: part for name, part in named.items() if part is not None}

"""A backbone with a feature pyramid on it, as one part: detectors of two stages crop its maps."""

from __future__ import annotations

from typing import Any

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones.backbone import Backbone
from holdfast.models.features import Feature
from holdfast.models.necks.fpn import Fpn


class PyramidBackbone(Backbone):
    """Run the blocks of a backbone, then the pyramid on its features.

    Blocks stay this part's own, so that each can be rematerialized.
    """

    def __init__(self, base: Backbone, neck: Fpn, **keywords: Any) -> None:
        chosen = [endpoint.name for endpoint in base.endpoints]
        super().__init__(
            base.blocks, base.endpoints, chosen, keras_is_bgr=base.keras_is_bgr, **keywords
        )
        self.neck = neck

    @property
    def features(self) -> tuple[Feature, ...]:
        """What comes out."""
        return self.neck.features

    @property
    def keras_order(self) -> list[keras.layers.Layer]:
        """The layers that TF2 checkpoints count: those of the pyramid have names of their own."""
        return self.blocks

    def call(self, images: Tensor, training: bool = False) -> list[Tensor]:
        features = super().call(images, training=training)
        return list(self.neck(features, training=training))

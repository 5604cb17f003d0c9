"""The feature maps the head looks at: their sizes and their anchors."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.config.facts.anchor_counts import anchors_per_location
from holdfast.config.facts.backbone_sizes import backbone_sizes
from holdfast.config.facts.extractors import Extractor
from holdfast.config.facts.input_sizes import InputShape, halve
from holdfast.config.facts.networks import network_of
from holdfast.config.schema.model import DetectionModel


class FeatureMap(NamedTuple):
    """One map the head looks at."""

    level: int
    height: int
    width: int
    anchors_per_location: int  # 0 for CenterNet, and where the anchor generator has no layer

    @property
    def stride(self) -> int:
        """Pixels of the input between two neighboring locations."""
        return 1 << self.level

    @property
    def anchors(self) -> int:
        """Anchors on the whole map."""
        return self.height * self.width * self.anchors_per_location


def feature_maps(model: DetectionModel, shape: InputShape) -> tuple[FeatureMap, ...]:
    """List the maps of an input of this shape, finest first; () where the network is unknown."""
    network = network_of(model)
    if network is None:
        return ()
    return tuple(
        FeatureMap(
            level=level,
            height=_side(network.known, shape.height, level),
            width=_side(network.known, shape.width, level),
            anchors_per_location=anchors_per_location(network.generator, layer),
        )
        for layer, level in enumerate(network.levels)
    )


def _side(known: Extractor, size: int, level: int) -> int:
    if known.neck == "upsampling":  # transposed convolutions from stride 32 back to 4
        return halve(size, 5) * 8
    unpadded = backbone_sizes(known.backbone).unpadded[:level]
    for lost in unpadded:
        size = (size - lost - 1) // 2
    return halve(size, level - len(unpadded))

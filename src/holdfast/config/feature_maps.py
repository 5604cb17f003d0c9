"""The feature maps the head looks at: their sizes and their anchors."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.config.anchor_counts import anchors_per_location
from holdfast.config.input_sizes import InputShape, halve
from holdfast.config.legacy_names import Extractor
from holdfast.config.network import network_of
from holdfast.config.schema.model import DetectionModel


class FeatureMap(NamedTuple):
    """One map the head looks at."""

    level: int
    height: int
    width: int
    anchors_per_location: int  # 0 for CenterNet, and where the anchor generator has no layer

    @property
    def stride(self) -> int:
        """Pixels of the input between two neighbouring locations."""
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
    match known.backbone:
        case "inception_v3":  # 3x3 kernels without padding; two more stand before halvings 2 and 3
            for lost in (0, 2, 2, 0, 0)[:level]:
                size = (size - lost - 1) // 2
            return halve(size, max(level - 5, 0))
        case "nasnet" | "pnasnet":  # the first convolution is not padded
            return halve((size - 1) // 2, level - 1)
    return halve(size, level)

"""How many anchors a generator makes, and whether they fit the network's feature maps."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.config.facts.networks import LARGEST_LEVEL, network_of
from holdfast.config.schema import anchor_generator as anchors
from holdfast.config.schema.model import DetectionModel


class AnchorMismatch(NamedTuple):
    """A network and an anchor generator that do not fit together."""

    levels: tuple[int, ...]  # of the network's feature maps
    layers: int  # of the anchor generator
    strides: tuple[int, int] | None  # height, width of its first layer; None: it follows the maps

    @property
    def trains(self) -> bool:
        """True: the OD API trains, with anchors in wrong places; False: it refuses."""
        return len(self.levels) == self.layers


def anchor_layers(generator: anchors.AnchorGenerator) -> int:
    """Count the feature maps an anchor generator expects."""
    match generator.chosen("anchor_generator_oneof"):
        case anchors.SsdAnchorGenerator(scales=scales, num_layers=layers):
            return min(layers, len(scales)) if scales else layers
        case anchors.MultiscaleAnchorGenerator(min_level=first, max_level=last):
            return max(0, last - first + 1)
        case anchors.FlexibleGridAnchorGenerator(anchor_grid=grids):
            return len(grids)
        case anchors.GridAnchorGenerator():
            return 1
    return 0


def anchors_per_location(generator: anchors.AnchorGenerator, layer: int) -> int:
    """Count the anchors at one location of a layer; 0 beyond the generator's last layer.

    Lists left empty stay empty, as in the OD API: without aspect_ratios a grid or a multiscale
    generator has no anchors at all.
    """
    if layer >= anchor_layers(generator):
        return 0
    match generator.chosen("anchor_generator_oneof"):
        case anchors.SsdAnchorGenerator(reduce_boxes_in_lowest_layer=True) if layer == 0:
            return 3
        case anchors.SsdAnchorGenerator() as ssd:
            return len(ssd.aspect_ratios) + (ssd.interpolated_scale_aspect_ratio > 0)
        case anchors.MultiscaleAnchorGenerator(aspect_ratios=ratios, scales_per_octave=scales):
            return len(ratios) * scales
        case anchors.FlexibleGridAnchorGenerator(anchor_grid=grids):
            return len(grids[layer].base_sizes)
        case anchors.GridAnchorGenerator(aspect_ratios=ratios, scales=scales):
            return len(ratios) * len(scales)
    return 0


def anchor_mismatch(model: DetectionModel) -> AnchorMismatch | None:
    """Compare the network's feature maps with the anchor generator's layers; None if they fit."""
    network = network_of(model)
    if network is None or network.generator.which("anchor_generator_oneof") is None:
        return None
    strides = _first_strides(network.generator)
    mismatch = AnchorMismatch(network.levels, anchor_layers(network.generator), strides)
    expected = {(1 << level, 1 << level) for level in network.levels[:1]}
    aligned = strides is None or strides in expected
    return None if mismatch.trains and aligned else mismatch


def _first_strides(generator: anchors.AnchorGenerator) -> tuple[int, int] | None:
    """Give the strides that must equal the network's; other generators spread over any map."""
    match generator.chosen("anchor_generator_oneof"):
        case anchors.MultiscaleAnchorGenerator(min_level=level):
            stride = 1 << min(max(level, 0), LARGEST_LEVEL)
            return stride, stride
        case anchors.GridAnchorGenerator(height_stride=height, width_stride=width):
            return height, width
    return None

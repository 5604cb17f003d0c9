"""Feature pyramids."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.config.schema.message import Message


@dataclass(frozen=True, kw_only=True, repr=False)
class FeaturePyramidNetworks(Message):
    """Levels and depth of an FPN."""

    min_level: int = 3
    max_level: int = 7
    additional_layer_depth: int = 256


@dataclass(frozen=True, kw_only=True, repr=False)
class BidirectionalFeaturePyramidNetworks(Message):
    """Levels, depth and repetitions of a BiFPN."""

    min_level: int = 3
    max_level: int = 7
    num_iterations: int = 0
    num_filters: int = 0
    combine_method: str = "fast_attention"
    use_native_resize_op: bool = False

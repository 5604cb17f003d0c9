"""A backbone: a chain of blocks of which some outputs are features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras

from holdfast.errors import HoldfastError, nearest
from holdfast.geometry.tensor import Tensor
from holdfast.models.features import Feature
from holdfast.models.layers.block import Block


class Endpoint(NamedTuple):
    """A place in the chain where a feature can be taken."""

    name: str  # as the OD API calls it
    block: str  # after which block
    feature: Feature
    is_inner: bool = False  # what the block returns second: its inner, expanded activation


class Backbone(Block):
    """Run blocks one after the other and return the features at the chosen endpoints, in order.

    A block is a layer `block(inputs, training=...)` that returns its output, or (output, inner
    activation). Blocks behind the last chosen endpoint are left out.

    keras_is_bgr: whether keras.applications trained this network on blue, green, red, where the
    OD API feeds it red, green, blue.
    """

    def __init__(
        self,
        blocks: Sequence[keras.layers.Layer],
        endpoints: Sequence[Endpoint],
        chosen: Sequence[str],
        *,
        keras_is_bgr: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.keras_is_bgr = keras_is_bgr
        known = {endpoint.name: endpoint for endpoint in endpoints}
        for name in chosen:
            if name not in known:
                raise HoldfastError(
                    f"The backbone has no endpoint {name!r}.",
                    fix=f"Known: {', '.join(nearest(name, known) or known)}.",
                )
        self.endpoints = [known[name] for name in chosen]
        names = [block.name for block in blocks]
        last = max(names.index(endpoint.block) for endpoint in self.endpoints)
        self.blocks = list(blocks[: last + 1])

    @property
    def features(self) -> tuple[Feature, ...]:
        """What comes out."""
        return tuple(endpoint.feature for endpoint in self.endpoints)

    def call(self, images: Tensor, training: bool = False) -> list[Tensor]:
        outputs: dict[tuple[str, bool], Tensor] = {}
        current = images
        for block in self.blocks:
            result = block(current, training=training)
            current, inner = result if isinstance(result, tuple) else (result, None)
            outputs |= {(block.name, False): current, (block.name, True): inner}
        return [outputs[endpoint.block, endpoint.is_inner] for endpoint in self.endpoints]


class WholeBackbone(Backbone):
    """A backbone that holds the rest of its network too, without running it.

    The OD API's checkpoints have the layers behind the last endpoint, and its regularization loss
    counts them.
    """

    def __init__(
        self,
        blocks: Sequence[keras.layers.Layer],
        endpoints: Sequence[Endpoint],
        chosen: Sequence[str],
        **keywords: Any,
    ) -> None:
        super().__init__(blocks, endpoints, chosen, **keywords)
        self.idle_blocks = list(blocks[len(self.blocks) :])

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        channels = max(self.features).channels
        current = keras.KerasTensor((None, None, None, channels), dtype=self.compute_dtype)
        for block in self.idle_blocks:
            current = block(current)

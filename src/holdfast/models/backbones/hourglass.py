"""Hourglass networks (arXiv:1603.06937): down to a coarse map and up again, once or twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.features import Feature
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.necks.resampling import upsample_to


@dataclass(frozen=True, kw_only=True)
class HourglassPlan:
    """The shape of a network; the first entries are of the finest stage."""

    channels: tuple[int, ...]
    num_units: tuple[int, ...]
    stem_channels: int
    num_hourglasses: int = 1


HOURGLASSES = {
    10: HourglassPlan(channels=(64, 64), num_units=(1, 1), stem_channels=32),
    20: HourglassPlan(channels=(96, 96, 144), num_units=(1, 2, 2), stem_channels=48),
    32: HourglassPlan(channels=(96, 96, 144, 144), num_units=(2, 2, 2, 2), stem_channels=48),
    52: HourglassPlan(
        channels=(128, 128, 192, 192, 192, 256), num_units=(2, 2, 2, 2, 2, 4), stem_channels=64
    ),
    104: HourglassPlan(
        channels=(256, 256, 384, 384, 384, 512),
        num_units=(2, 2, 2, 2, 2, 4),
        stem_channels=128,
        num_hourglasses=2,
    ),
}


class Hourglass(Block):
    """Give one map of stride 4 of each hourglass; the last one is the best.

    Its units are all its own, whatever stage they belong to, so that each can be rematerialized by
    itself. They are named as in the OD API's checkpoints, with dots for slashes.
    """

    keras_is_bgr = False

    def __init__(self, plan: HourglassPlan, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.plan = plan
        self.units = list(_units(plan, _settings()))

    @property
    def features(self) -> tuple[Feature, ...]:
        """What comes out."""
        return (Feature(4, self.plan.channels[0]),) * self.plan.num_hourglasses

    def call(self, images: Tensor, training: bool = False) -> list[Tensor]:
        units = {unit.name: partial(unit, training=training) for unit in self.units}
        current = units["downsample_input.conv_block"](images)
        current = units["downsample_input.residual_block"](current)
        outputs = []
        for number in range(self.plan.num_hourglasses):
            decoded = _stage(units, f"hourglass_network.{number}", current)
            outputs.append(units[f"output_conv.{number}"](decoded))
            if number + 1 < self.plan.num_hourglasses:
                merged = units[f"intermediate_conv1.{number}"](current)
                merged = merged + units[f"intermediate_conv2.{number}"](outputs[-1])
                current = units[f"intermediate_residual.{number}"](keras.ops.relu(merged))
        return outputs


class HourglassUnit(Block):
    """Add to the input what two 3x3 convolutions make of it."""

    def __init__(
        self,
        channels: int,
        *,
        settings: LayerSettings,
        strides: int = 1,
        has_projection: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        convolution = partial(
            Convolution, channels, settings=settings, padding="explicit", use_bias=False
        )
        self.first = convolution(3, strides=strides, name="conv_block")
        self.second = convolution(3, has_activation=False, name="second")
        self.skip = None
        if has_projection:
            self.skip = convolution(1, strides=strides, has_activation=False, name="skip")

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        residual = self.second(self.first(inputs, training=training), training=training)
        carried = inputs if self.skip is None else self.skip(inputs, training=training)
        return keras.ops.relu(carried + residual)


def _stage(units: dict[str, Any], stage: str, inputs: Tensor) -> Tensor:
    """Encode, go through the stages inside, decode; add what was kept at full size."""
    kept = _chain(units, f"{stage}.encoder_block1", inputs)
    shrunk = _chain(units, f"{stage}.encoder_block2", inputs)
    inner = f"{stage}.inner_block"
    if f"{inner}.0.encoder_block1.0" in units:
        coarse = _stage(units, f"{inner}.0", shrunk)
    else:
        coarse = _chain(units, inner, shrunk)
    decoded = _chain(units, f"{stage}.decoder_block", coarse)
    return kept + upsample_to(decoded, kept, 2)


def _chain(units: dict[str, Any], prefix: str, current: Tensor) -> Tensor:
    number = 0
    while (name := f"{prefix}.{number}") in units:
        current = units[name](current)
        number += 1
    return current


def _units(plan: HourglassPlan, settings: LayerSettings) -> Iterator[Block]:
    first = plan.channels[0]
    convolution = partial(Convolution, settings=settings, padding="explicit", use_bias=False)
    unit = partial(HourglassUnit, settings=settings)
    yield convolution(plan.stem_channels, 7, strides=2, name="downsample_input.conv_block")
    yield unit(first, strides=2, has_projection=True, name="downsample_input.residual_block")
    for number in range(plan.num_hourglasses):
        stage = f"hourglass_network.{number}"
        yield from _stage_units(plan.channels, plan.num_units, stage, settings)
        yield convolution(first, 3, name=f"output_conv.{number}")
    for number in range(plan.num_hourglasses - 1):
        for name in ("intermediate_conv1", "intermediate_conv2"):
            yield convolution(first, 1, has_activation=False, name=f"{name}.{number}")
        yield unit(first, name=f"intermediate_residual.{number}")


def _stage_units(
    channels: Sequence[int], counts: Sequence[int], stage: str, settings: LayerSettings
) -> Iterator[Block]:
    """Make the units of a stage and of those inside it."""
    outer, inner, count = channels[0], channels[1], counts[0]
    unit = partial(HourglassUnit, settings=settings)
    for number in range(count):
        yield unit(outer, name=f"{stage}.encoder_block1.{number}")
    for number in range(count):
        is_first = number == 0
        yield unit(
            inner,
            strides=2 if is_first else 1,
            has_projection=is_first,
            name=f"{stage}.encoder_block2.{number}",
        )
    if len(channels) > 2:
        yield from _stage_units(channels[1:], counts[1:], f"{stage}.inner_block.0", settings)
    else:
        for number in range(counts[1]):
            yield unit(inner, name=f"{stage}.inner_block.{number}")
    for number in range(count):
        is_last = number == count - 1
        yield unit(
            outer if is_last else inner,
            has_projection=is_last and count > 1 and outer != inner,
            name=f"{stage}.decoder_block.{number}",
        )


def _settings() -> LayerSettings:
    return LayerSettings(
        activation="relu",
        # The OD API gives PyTorch's momentum to Keras, where it means that statistics are mostly
        # those of the last batch.
        batch_norm=BatchNormSettings(momentum=0.1, epsilon=1e-5),
        kernel_initializer=keras.initializers.GlorotUniform(),
    )

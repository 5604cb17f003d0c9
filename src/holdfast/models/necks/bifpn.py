"""Bidirectional feature pyramid network (BiFPN) of EfficientDet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import keras
from keras import ops

from holdfast.geometry.tensor import Tensor
from holdfast.models.features import Feature
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.models.layers.fake_quantization import fake_quantizer, quantized
from holdfast.models.layers.quantization_clock import quantization
from holdfast.models.layers.quantized_convolution import activation_quantizer
from holdfast.models.layers.separable import Separable
from holdfast.models.necks.resampling import upsample_to

CombineMethod = Literal["sum", "weighted_sum", "attention", "fast_attention"]

# Keeps a node finite whose weights have all become 0 (EfficientDet, arXiv 1911.09070, section 3.3).
EPSILON = 1e-4


class BiFpn(Block):
    """Pass features down and up a pyramid several times (EfficientDet, arXiv 1911.09070, figure 2).

    num_coarse_levels maps of half the size each are first pooled from the coarsest feature.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        *,
        depth: int,
        num_coarse_levels: int,
        num_iterations: int,
        settings: LayerSettings,
        combine_method: CombineMethod = "fast_attention",
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        levels = [feature.level for feature in features]
        top = levels[-1] + num_coarse_levels
        self.input_names = [_up(0, level) for level in levels]
        self.plans = list(_plans(levels[0], levels[-1], top, num_iterations))
        self.output_names = [plan.name for plan in self.plans[-(top + 1 - levels[0]) :]]
        level_of = dict(zip(self.input_names, levels, strict=True))
        level_of |= {plan.name: plan.level for plan in self.plans}
        self.nodes = [
            FusionNode(
                [_Source(name in self.input_names, level_of[name]) for name in plan.sources],
                level=plan.level,
                depth=depth,
                combine_method=combine_method,
                settings=settings,
                name=plan.name,
            )
            for plan in self.plans
        ]
        self.features = tuple(Feature(2**level, depth) for level in range(levels[0], top + 1))

    def call(self, features: Sequence[Tensor], training: bool = False) -> list[Tensor]:
        maps = dict(zip(self.input_names, features, strict=True))
        for plan, node in zip(self.plans, self.nodes, strict=True):
            maps[plan.name] = node([maps[name] for name in plan.sources], training=training)
        return [maps[name] for name in self.output_names]


class _Source(NamedTuple):
    is_backbone: bool  # its channels are the backbone's: it is projected
    level: int


class FusionNode(Block):
    """Bring maps to one level, combine them, then activate and convolve.

    A node of one source only brings it to the level. Of several, the first is at that level.
    """

    def __init__(
        self,
        sources: Sequence[_Source],
        *,
        level: int,
        depth: int,
        combine_method: CombineMethod,
        settings: LayerSettings,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.steps = [source.level - level for source in sources]
        self.projections = [
            Convolution(
                depth, 1, settings=settings, has_activation=False, name=f"projection_{index}"
            )
            if source.is_backbone
            else None
            for index, source in enumerate(sources)
        ]
        self.pool = keras.layers.MaxPooling2D(3, strides=2, padding="same", name="pool")
        self.is_fused = len(sources) > 1
        if self.is_fused:
            self.fusion = Fusion(combine_method, num_maps=len(sources), name="fusion")
            self.activation = keras.activations.get(settings.activation)
            self.act_quant = activation_quantizer(settings.activation, "act_quant")
            self.convolution = Separable(
                depth, 3, settings=settings, has_activation=False, name="convolution"
            )

    def call(self, inputs: Sequence[Tensor], training: bool = False) -> Tensor:
        maps: list[Tensor] = []
        for feature, projection, step in zip(inputs, self.projections, self.steps, strict=True):
            if projection is not None:
                feature = projection(feature, training=training)
            if step < 0:
                feature = self.pool(feature)
            elif step > 0:
                feature = upsample_to(feature, maps[0], factor=2)
            maps.append(feature)
        if not self.is_fused:
            return maps[0]
        fused = self.fusion(maps, training=training)
        if self.act_quant is not None:
            return self.convolution(self.act_quant(fused, training=training), training=training)
        return self.convolution(self.activation(fused), training=training)


class Fusion(keras.layers.Layer):
    """Add maps, each times a learned weight.

    num_maps: how many, which matters in a quantized network: each product and sum is rounded.
    """

    def __init__(
        self, combine_method: CombineMethod, *, num_maps: int = 0, **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        self.combine_method = combine_method
        self.combine_weights = None
        numbers = range(num_maps if quantization() is not None else 0)
        self.product_quants = [fake_quantizer(f"product_quant_{number}") for number in numbers]
        self.sum_quants = [fake_quantizer(f"sum_quant_{number}") for number in numbers[1:]]

    def build(self, input_shapes: Sequence[tuple[int | None, ...]]) -> None:
        if self.combine_method != "sum":
            self.combine_weights = self.add_weight(
                (len(input_shapes), 1),
                "ones",
                trainable=self.combine_method != "attention",
                autocast=False,  # EPSILON would drown in half precision
                name="combine_weights",
            )

    def call(self, inputs: Sequence[Tensor], training: bool = False) -> Tensor:
        if self.product_quants:
            return self._rounded_sum(inputs, training)
        if self.combine_weights is None:
            return sum(inputs[1:], start=inputs[0])
        weights = ops.cast(self._weights(), self.compute_dtype)
        return sum(weights[index] * feature for index, feature in enumerate(inputs))

    def _rounded_sum(self, inputs: Sequence[Tensor], training: bool) -> Tensor:
        products = list(inputs)
        if self.combine_weights is not None:
            weights = ops.cast(self._weights(), self.compute_dtype)
            products = [
                quantized(product_quant, weights[index] * feature, training=training)
                for index, (product_quant, feature) in enumerate(
                    zip(self.product_quants, inputs, strict=True)
                )
            ]
        total = products[0]
        for sum_quant, product in zip(self.sum_quants, products[1:], strict=True):
            total = quantized(sum_quant, total + product, training=training)
        return total

    def _weights(self) -> Tensor:
        weights = ops.convert_to_tensor(self.combine_weights)  # (inputs, 1)
        match self.combine_method:
            case "attention":
                # The OD API takes the softmax over the axis of size 1: every weight is always 1.
                return ops.ones_like(weights)
            case "fast_attention":
                positive = ops.relu(weights)
                return positive / (ops.sum(positive) + EPSILON)
            case _:
                return weights


class _Plan(NamedTuple):
    """A node and where its inputs come from, the one of its own level first."""

    name: str
    level: int
    sources: tuple[str, ...]


def _plans(bottom: int, top_input: int, top: int, num_iterations: int) -> Iterator[_Plan]:
    for level in range(top_input + 1, top + 1):
        yield _Plan(_up(0, level), level, (_up(0, level - 1),))
    for iteration in range(1, num_iterations + 1):
        yield from _iteration(bottom, top, iteration)


def _iteration(bottom: int, top: int, iteration: int) -> Iterator[_Plan]:
    def before(level: int) -> str:
        # The finest level has no upward node: its downward one is what the next iteration gets.
        passes_down = level == bottom and iteration > 1
        return (_down if passes_down else _up)(iteration - 1, level)

    above = before(top)
    for level in range(top - 1, bottom - 1, -1):
        yield _Plan(_down(iteration, level), level, (before(level), above))
        above = _down(iteration, level)
    below = above
    for level in range(bottom + 1, top + 1):
        across = (_down(iteration, level),) if level < top else ()
        yield _Plan(_up(iteration, level), level, (before(level), *across, below))
        below = _up(iteration, level)


def _up(iteration: int, level: int) -> str:
    return f"up_{iteration}_level_{level}"


def _down(iteration: int, level: int) -> str:
    return f"down_{iteration}_level_{level}"

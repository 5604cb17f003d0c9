"""The unit that every network here is made of: a convolution, its normalization, its activation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import keras

from holdfast.geometry.tensor import Tensor
from holdfast.models.layers.batch_norm import BatchNormSettings, FusedBatchNorm
from holdfast.models.layers.block import Block
from holdfast.models.layers.penalty import Penalty
from holdfast.models.layers.quantized_convolution import (
    activation_quantizer,
    depthwise_convolution,
    full_convolution,
)
from holdfast.models.layers.recomputation import kernel_first

Kind = Literal["full", "depthwise"]
Padding = Literal["same", "explicit", "valid"]


@dataclass(frozen=True, kw_only=True)
class LayerSettings:
    """What the convolutions of one part of a network share: `conv_hyperparams` in a config."""

    activation: str | None = "relu6"  # a name of keras.activations
    batch_norm: BatchNormSettings | None = field(default_factory=BatchNormSettings)
    kernel_initializer: keras.initializers.Initializer = field(
        default_factory=lambda: keras.initializers.TruncatedNormal(stddev=0.09)
    )
    l2: float = 0.0  # the loss is l2 * sum(w^2) / 2, as the OD API counts
    l1: float = 0.0
    regularizes_depthwise: bool = True
    forces_bias: bool = False  # a bias beside batch norm's beta

    @property
    def use_bias(self) -> bool:
        """A bias is superfluous before a normalization that has its own."""
        return self.forces_bias or self.batch_norm is None or not self.batch_norm.center

    def regularizer(self) -> keras.regularizers.Regularizer | None:
        """Make the penalty on a kernel; None without one."""
        if not self.l1 and not self.l2:
            return None
        return Penalty(l1=self.l1, l2=self.l2)

    def initializer(self) -> keras.initializers.Initializer:
        """Make a fresh initializer: one instance would give all kernels of a shape equal values."""
        return self.kernel_initializer.clone()


class Convolution(Block):
    """Convolve, normalize, activate.

    kind: "full", or "depthwise" (filters are the input's channels, `filters` is None). padding:
    "same" as TensorFlow, which pads depending on the input's size; "explicit" the same on both
    sides, whatever the size, for square kernels; "valid". rounds_output: in a quantized network;
    not where a normalization follows elsewhere.
    """

    def __init__(
        self,
        filters: int | None,
        kernel_size: int | tuple[int, int],
        *,
        settings: LayerSettings,
        kind: Kind = "full",
        strides: int = 1,
        dilation: int = 1,
        padding: Padding = "same",
        has_batch_norm: bool = True,
        has_activation: bool = True,
        use_bias: bool | None = None,
        bias_initializer: Any = "zeros",
        rounds_output: bool = True,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.margin = None
        if padding == "explicit" and isinstance(kernel_size, int) and kernel_size > 1:
            self.margin = _margin(kernel_size, dilation)
        self.convolution = _convolution_layer(
            kind,
            settings,
            filters=filters,
            kernel_size=kernel_size,
            strides=strides,
            dilation_rate=dilation,
            padding="valid" if self.margin else padding.replace("explicit", "same"),
            use_bias=_needs_bias(settings, has_batch_norm) if use_bias is None else use_bias,
            bias_initializer=bias_initializer,
        )
        self.batch_norm = None
        if has_batch_norm and settings.batch_norm is not None:
            self.batch_norm = FusedBatchNorm(settings.batch_norm, name="batch_norm")
        activation = settings.activation if has_activation else None
        self.activation = keras.activations.get(activation)
        self.act_quant = activation_quantizer(activation, "act_quant") if rounds_output else None

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        if self.margin is not None:
            inputs = keras.ops.pad(inputs, [(0, 0), self.margin, self.margin, (0, 0)])
        outputs = kernel_first(self.convolution, inputs)
        if self.batch_norm is not None:
            outputs = self.batch_norm(outputs, training=training)
        if self.act_quant is not None:
            return self.act_quant(outputs, training=training)
        return self.activation(outputs)


def _needs_bias(settings: LayerSettings, has_batch_norm: bool) -> bool:
    return settings.use_bias if has_batch_norm else True


def _margin(kernel_size: int, dilation: int) -> tuple[int, int]:
    total = (kernel_size - 1) * dilation
    return total // 2, total - total // 2


def _convolution_layer(
    kind: Kind, settings: LayerSettings, *, filters: int | None, **keywords: Any
) -> keras.layers.Layer:
    of_depth = settings.regularizer() if settings.regularizes_depthwise else None
    match kind:
        case "full":
            return full_convolution()(
                filters,
                kernel_initializer=settings.initializer(),
                kernel_regularizer=settings.regularizer(),
                name="convolution",
                **keywords,
            )
        case "depthwise":
            return depthwise_convolution()(
                depthwise_initializer=settings.initializer(),
                depthwise_regularizer=of_depth,
                name="convolution",
                **keywords,
            )

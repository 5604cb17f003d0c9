"""The layer settings of the mobile networks: their own, and what of a config's they take over."""

from __future__ import annotations

from dataclasses import replace

import keras

from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import LayerSettings


def default_settings(*, regularizes_depthwise: bool = True) -> LayerSettings:
    """Make the settings that the OD API gives the mobile networks if a config does not."""
    return LayerSettings(
        activation="relu6",
        batch_norm=_default_batch_norm(),
        kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.09),
        l2=4e-5,
        regularizes_depthwise=regularizes_depthwise,
    )


def with_own_normalization(settings: LayerSettings, activation: str) -> LayerSettings:
    """Keep of a config what reaches the TF1 MobileNet V2 and V3.

    Their definition fixes the activation and that each convolution has a batch norm with beta and
    gamma, whatever the config says. Initializer, regularizer, decay and epsilon are the config's.
    """
    batch_norm = settings.batch_norm or _default_batch_norm()
    return replace(
        settings, activation=activation, batch_norm=replace(batch_norm, center=True, scale=True)
    )


def _default_batch_norm() -> BatchNormSettings:
    return BatchNormSettings(momentum=0.9997, epsilon=1e-3)

"""MobileNet V3 large and small in the form for detection (arXiv:1905.02244)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from holdfast.errors import HoldfastError
from holdfast.models.backbones import mobile_settings
from holdfast.models.backbones.backbone import Backbone
from holdfast.models.backbones.backbone_spec import SlimNames, backbone
from holdfast.models.backbones.channels import rounded
from holdfast.models.backbones.inverted_residuals import Unit, inverted_residuals
from holdfast.models.backbones.mobile_settings import with_own_normalization
from holdfast.models.layers.convolution import LayerSettings

FIRST_CHANNELS = 16
SQUEEZE = 4  # the squeezed channels are a fourth of the expanded ones


class LayerRow(NamedTuple):
    """A row of Table 1 or 2 of the paper."""

    kernel_size: int
    expansion: float  # of the channels of the input
    channels: int
    is_gated: bool  # SE in the paper
    activation: str  # NL in the paper
    strides: int


# The rows behind stride 16, and the convolution after them, have half of the paper's channels: so
# does its detector (section 6.3).
LARGE = [
    LayerRow(3, 1, 16, False, "relu", 1),
    LayerRow(3, 4, 24, False, "relu", 2),
    LayerRow(3, 3, 24, False, "relu", 1),
    LayerRow(5, 3, 40, True, "relu", 2),
    LayerRow(5, 3, 40, True, "relu", 1),
    LayerRow(5, 3, 40, True, "relu", 1),
    LayerRow(3, 6, 80, False, "hard_silu", 2),
    LayerRow(3, 2.5, 80, False, "hard_silu", 1),
    LayerRow(3, 184 / 80, 80, False, "hard_silu", 1),
    LayerRow(3, 184 / 80, 80, False, "hard_silu", 1),
    LayerRow(3, 6, 112, True, "hard_silu", 1),
    LayerRow(3, 6, 112, True, "hard_silu", 1),
    LayerRow(5, 6, 80, True, "hard_silu", 2),
    LayerRow(5, 6, 80, True, "hard_silu", 1),
    LayerRow(5, 6, 80, True, "hard_silu", 1),
]
SMALL = [
    LayerRow(3, 1, 16, True, "relu", 2),
    LayerRow(3, 72 / 16, 24, False, "relu", 2),
    LayerRow(3, 88 / 24, 24, False, "relu", 1),
    LayerRow(5, 4, 40, True, "hard_silu", 2),
    LayerRow(5, 6, 40, True, "hard_silu", 1),
    LayerRow(5, 6, 40, True, "hard_silu", 1),
    LayerRow(5, 3, 48, True, "hard_silu", 1),
    LayerRow(5, 3, 48, True, "hard_silu", 1),
    LayerRow(5, 6, 48, True, "hard_silu", 2),
    LayerRow(5, 6, 48, True, "hard_silu", 1),
    LayerRow(5, 6, 48, True, "hard_silu", 1),
]


class Version(NamedTuple):
    """The part of the network between the first convolution and the classifier."""

    rows: list[LayerRow]
    last_channels: int
    levels: Mapping[int, str]
    smaller: str | None = None


VERSIONS = {
    "large": Version(
        LARGE, 480, {4: "layer_14/expansion_output", 5: "layer_17"}, "mobilenet_v3_small"
    ),
    "small": Version(SMALL, 288, {4: "layer_10/expansion_output", 5: "layer_13"}),
}


def mobilenet_v3(
    endpoints: Sequence[str],
    *,
    version: str = "large",
    settings: LayerSettings | None = None,
    depth_multiplier: float = 1.0,
    min_depth: int = 16,
    explicit_padding: bool = False,
    name: str = "backbone",
) -> Backbone:
    """Build the network with the endpoints layer_1 .. layer_17 and layer_N/expansion_output.

    version: "large" or "small", which ends with layer_13. explicit_padding is refused.
    """
    if explicit_padding:
        raise HoldfastError(
            "MobileNet V3 has no explicit padding: in the OD API its feature maps grew with it.",
            fix="Remove use_explicit_padding.",
        )
    rows, last_channels, *_ = VERSIONS[version]
    width = partial(_width, multiplier=depth_multiplier, minimum=min_depth)
    units: list[Unit] = []
    for row in rows:
        inputs = units[-1].channels if units else width(FIRST_CHANNELS)
        units.append(_unit(inputs, row, width(row.channels)))
    return inverted_residuals(
        endpoints,
        first_channels=width(FIRST_CHANNELS),
        units=units,
        last_channels=width(last_channels),
        settings=with_own_normalization(settings or default_settings(), "hard_silu"),
        padding="same",
        name=name,
    )


for _name, _version in VERSIONS.items():
    backbone(
        f"mobilenet_v3_{_name}",
        levels=_version.levels,
        has_own_settings=True,
        slim=SlimNames(scope="MobilenetV3", last_endpoint=_version.levels[5]),
        is_numbered=True,
        smaller=_version.smaller,
    )(partial(mobilenet_v3, version=_name))


def default_settings() -> LayerSettings:
    """Make the settings that the OD API gives the network by itself; it is in the TF1 half only."""
    return mobile_settings.default_settings(regularizes_depthwise=False)


def _width(channels: int, *, multiplier: float, minimum: int) -> int:
    return rounded(channels * multiplier, minimum=minimum)


def _unit(inputs: int, row: LayerRow, outputs: int) -> Unit:
    expanded = max(rounded(inputs * row.expansion), inputs)
    return Unit(
        channels=outputs,
        expanded=expanded,
        has_expansion=expanded > inputs,
        is_residual=row.strides == 1 and inputs == outputs,
        activation=row.activation,
        kernel_size=row.kernel_size,
        strides=row.strides,
        squeezed=rounded(expanded / SQUEEZE) if row.is_gated else None,
    )

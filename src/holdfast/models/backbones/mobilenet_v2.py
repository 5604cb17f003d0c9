"""MobileNet V2: inverted residuals with linear bottlenecks (arXiv:1801.04381)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.models.backbones import mobile_settings
from holdfast.models.backbones.backbone import Backbone
from holdfast.models.backbones.backbone_spec import SlimNames, backbone
from holdfast.models.backbones.channels import rounded
from holdfast.models.backbones.generation import Generation
from holdfast.models.backbones.inverted_residuals import Unit, inverted_residuals
from holdfast.models.backbones.mobile_settings import with_own_normalization
from holdfast.models.layers.convolution import LayerSettings

# Table 2 of the paper: (t expansion, c channels, n repeats, s strides of the first).
FIRST_CHANNELS = 32
STAGES = [
    *[(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)],
    *[(6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)],
]
LAST_CHANNELS = 1280


@backbone(
    "mobilenet_v2",
    levels={2: "layer_4", 3: "layer_7", 4: "layer_14", 5: "layer_19"},
    levels_of={"ssd_layers": {4: "layer_15/expansion_output", 5: "layer_19"}},
    has_own_settings=True,
    narrow_end={"tf1": 256},
    slim=SlimNames(
        scope="MobilenetV2", last_endpoint="layer_19", coarse_scope="Conv2d_", first_coarse=20
    ),
    is_numbered=True,
)
def mobilenet_v2(
    endpoints: Sequence[str],
    *,
    settings: LayerSettings | None = None,
    generation: Generation = "tf2",
    depth_multiplier: float = 1.0,
    min_depth: int = 16,
    last_channels: int = LAST_CHANNELS,
    explicit_padding: bool = False,
    name: str = "backbone",
) -> Backbone:
    """Build MobileNet V2 with the endpoints layer_1 .. layer_19 and layer_N/expansion_output.

    last_channels: of layer_19; the TF1 half's FPNLite has 256.
    """
    settings = settings or default_settings(generation)
    if generation == "tf1":
        settings = with_own_normalization(settings, "relu6")
    widths = _Widths(multiplier=depth_multiplier, minimum=min_depth, generation=generation)
    return inverted_residuals(
        endpoints,
        first_channels=widths.first(),
        units=[unit._replace(activation=settings.activation) for unit in widths.units()],
        last_channels=widths.last(last_channels),
        settings=settings,
        padding="explicit" if explicit_padding else "same",
        name=name,
    )


def default_settings(generation: Generation) -> LayerSettings:
    """Make the settings that a half of the OD API gives the network by itself."""
    return mobile_settings.default_settings(regularizes_depthwise=generation == "tf2")


@dataclass(frozen=True, kw_only=True)
class _Widths:
    """Channels of the layers, as a half of the OD API counts them."""

    multiplier: float
    minimum: int
    generation: Generation

    def first(self) -> int:
        return self._rounded(FIRST_CHANNELS * self.multiplier)

    def last(self, channels: int) -> int:
        # The Keras half makes the last layer narrower, never wider.
        multiplier = self.multiplier if self.generation == "tf1" else min(self.multiplier, 1.0)
        return self._rounded(channels * multiplier)

    def units(self) -> list[Unit]:
        units: list[Unit] = []
        for expansion, channels, repeats, strides in STAGES:
            for repeat in range(repeats):
                inputs = units[-1].channels if units else self.first()
                units.append(self._unit(inputs, expansion, channels, 1 if repeat else strides))
        return units

    def _unit(self, inputs: int, expansion: int, channels: int, strides: int) -> Unit:
        if self.generation == "tf1":
            outputs = wanted = self._rounded(channels * self.multiplier)
            expanded = inputs if expansion == 1 else rounded(inputs * expansion)
        else:
            # A unit that only the minimum makes as wide as its input is not residual.
            wanted = rounded(int(channels * self.multiplier))
            outputs = max(wanted, self.minimum)
            expanded = inputs * expansion
        return Unit(
            channels=outputs,
            expanded=expanded,
            has_expansion=expansion > 1,
            is_residual=strides == 1 and inputs == wanted,
            strides=strides,
        )

    def _rounded(self, channels: float) -> int:
        if self.generation == "tf1":
            return rounded(channels, minimum=self.minimum)
        return max(rounded(channels), self.minimum)

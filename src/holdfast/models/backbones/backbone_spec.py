"""The backbones that a detector can be built on: one row says all that is special about each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.config.facts.extractors import EXTRACTORS, Extractor
from holdfast.errors import HoldfastError
from holdfast.models.backbones.backbone import Backbone
from holdfast.models.backbones.normalization import TO_UNIT_RANGE, Normalization
from holdfast.registry import Registry

# (endpoints, *, settings=None, name="backbone", other keywords of the network) -> Backbone
BackboneFactory = Callable[..., Backbone]


@dataclass(frozen=True, kw_only=True)
class SlimNames:
    """How slim (TF1) names a network, and the OD API what it puts behind it."""

    scope: str
    last_endpoint: str = ""  # from which SSD's extra layers take their names
    coarse_scope: str = ""  # of the layers behind a feature pyramid
    first_coarse: int = 0
    units: tuple[tuple[str, str], ...] = ()  # pattern in our paths -> slim's scope
    # The same where the part that sees regions is under a scope of its own, if that differs.
    region_units: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class BackboneSpec:
    """A backbone: how it is made, where its features are, what it wants, what others call it."""

    name: str
    factory: BackboneFactory
    levels: Mapping[int, str]  # level, of stride 2**level -> the endpoint to take it from
    levels_of: Mapping[str, Mapping[int, str]] = field(default_factory=dict)  # for single necks
    normalization: Normalization = TO_UNIT_RANGE
    # Whether conv_hyperparams reach it only where override_base_feature_extractor_hyperparams is
    # set, as is the OD API's way; else they always do.
    has_own_settings: bool = False
    # Whether use_depthwise and use_explicit_padding reach the pyramid on it (FPNLite).
    has_light_pyramid: bool = True
    # The depthwise pyramid of the OD API runs on a network with a narrower end: generation ->
    # last_channels.
    narrow_end: Mapping[str, Any] = field(default_factory=dict)
    slim: SlimNames | None = None  # None: no TF1 checkpoint has it
    is_numbered: bool = False  # whether TF2 checkpoints have it, its layers numbered
    smaller: str | None = None  # the backbone that can take its place and needs less

    @property
    def takes(self) -> frozenset[str]:
        """The keywords that its factory takes; of a config's settings it gets these."""
        return frozenset(inspect.signature(self.factory).parameters)

    def endpoints(self, neck: str, levels: Iterable[int]) -> tuple[str, ...]:
        """Name the endpoints where a neck takes these levels."""
        known = self.levels_of.get(neck, self.levels)
        wanted = tuple(levels)
        if not wanted or not set(wanted) <= set(known):
            raise HoldfastError(
                f"{self.name} has levels {_span(known)} for the neck {neck}, and the config asks "
                f"for {_span(wanted) or 'none of its own'}.",
                fix="Change min_level and max_level.",
            )
        return tuple(known[level] for level in wanted)

    def build(self, endpoints: Iterable[str], **offered: Any) -> Backbone:
        """Make the backbone with those of the keywords that it takes."""
        taken = {name: value for name, value in offered.items() if name in self.takes}
        return self.factory(tuple(endpoints), **taken)


BACKBONES: Registry[BackboneSpec] = Registry("backbone")


def backbone(
    name: str, *, extractors: Mapping[str, str] | None = None, **row: Any
) -> Callable[[BackboneFactory], BackboneFactory]:
    """Register the decorated factory as a backbone; the keywords are fields of BackboneSpec.

    extractors: names that `feature_extractor.type` may have in a config -> the neck on it: "fpn",
    "bifpn", "ssd_layers", or one of your own.
    """

    def add(factory: BackboneFactory) -> BackboneFactory:
        BACKBONES.register(name, factory)(BackboneSpec(name=name, factory=factory, **row))
        for extractor_name, neck in (extractors or {}).items():
            add_extractor(extractor_name, name, neck, factory)
        return factory

    return add


def add_extractor(name: str, backbone_name: str, neck: str, maker: object) -> None:
    """Let a config name a single-stage network of one's own."""
    head = "convolutional" if neck == "ssd_layers" else "weight_shared"
    EXTRACTORS.register(name, maker)(Extractor("ssd", backbone_name, neck, head, "tf2"))


def _span(levels: Iterable[int]) -> str:
    ordered = sorted(levels)
    return f"{ordered[0]} to {ordered[-1]}" if len(ordered) > 1 else ", ".join(map(str, ordered))

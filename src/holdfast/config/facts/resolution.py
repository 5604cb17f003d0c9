"""What an input size does that the network was not published at."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.config.facts.extractors import Extractor
from holdfast.config.facts.feature_maps import FeatureMap, feature_maps
from holdfast.config.facts.input_sizes import InputShape, input_shape
from holdfast.config.facts.networks import DescribedNetwork, network_of
from holdfast.config.schema.model import DetectionModel


@dataclass(frozen=True, kw_only=True)
class ChangedResolution:
    """The input of a config, and the nearest one at which its network was published."""

    here: InputShape
    published: InputShape
    maps: tuple[FeatureMap, ...]  # of the input here, finest first
    published_maps: tuple[FeatureMap, ...]
    anchors_grow: bool  # True: an anchor is a share of the input; False: it is so many pixels

    def __str__(self) -> str:
        """Say what the published size has, and how many times as many anchors there are here."""
        first, last = self.published_maps[0], self.published_maps[-1]
        before = sum(each.anchors for each in self.published_maps)
        growth = sum(each.anchors for each in self.maps) / before
        size = "which grow with the input" if self.anchors_grow else "of the same size in pixels"
        return (
            f"published at {self.published.height} x {self.published.width}: maps from "
            f"{first.height} x {first.width} to {last.height} x {last.width}, {before} anchors; "
            f"here {growth:.3g} times as many, {size}"
        )


def changed_resolution(model: DetectionModel) -> ChangedResolution | None:
    """Compare the input with those the network was published at.

    None where it is one of them, where there is none, and where the input has no fixed size.
    """
    network, here = network_of(model), input_shape(model)
    sides = _published_sides(network.known) if network is not None else ()
    if network is None or here is None or not here.fixed or not sides:
        return None
    side = min(sides, key=lambda each: abs(each * each - here.height * here.width))
    published = InputShape(side, side, fixed=True)
    maps = feature_maps(model, here)
    if here == published or not any(each.anchors for each in maps):
        return None
    return ChangedResolution(
        here=here,
        published=published,
        maps=maps,
        published_maps=feature_maps(model, published),
        anchors_grow=_anchors_grow(network),
    )


# Of the single-stage configs in the OD API's two model zoos; all have square inputs. The largest
# EfficientNet was published with the paper only (arXiv 1911.09070, table 1: D7x).
PUBLISHED_SIDES = {
    ("mobilenet_v1", "ssd_layers"): (300,),
    ("mobilenet_v1", "fpn"): (640,),
    ("mobilenet_v2", "ssd_layers"): (300, 320),
    ("mobilenet_v2", "fpn"): (256, 320, 640),
    ("mobilenet_v3_large", "ssd_layers"): (320,),
    ("mobilenet_v3_small", "ssd_layers"): (320,),
    ("inception_v2", "ssd_layers"): (300,),
    ("resnet50_v1", "fpn"): (640, 1024),
    ("resnet101_v1", "fpn"): (512, 640, 1024),
    ("resnet152_v1", "fpn"): (640, 1024),
    ("efficientnet_b0", "bifpn"): (512,),
    ("efficientnet_b1", "bifpn"): (640,),
    ("efficientnet_b2", "bifpn"): (768,),
    ("efficientnet_b3", "bifpn"): (896,),
    ("efficientnet_b4", "bifpn"): (1024,),
    ("efficientnet_b5", "bifpn"): (1280,),
    ("efficientnet_b6", "bifpn"): (1408, 1536),
    ("efficientnet_b7", "bifpn"): (1536,),
}


def _published_sides(known: Extractor) -> tuple[int, ...]:
    if known.architecture != "ssd":
        return ()
    return PUBLISHED_SIDES.get((known.backbone, known.neck or ""), ())


def _anchors_grow(network: DescribedNetwork) -> bool:
    return network.generator.which("anchor_generator_oneof") == "ssd_anchor_generator"

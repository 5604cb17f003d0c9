"""What networks were published with: mean average precision on COCO, in per cent.

From the tables of the OD API's two model zoos. Those of the older one were measured on COCO 2014's
minival, the others on COCO 2017: they compare roughly.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.facts.networks import network_of
from holdfast.config.schema.model import DetectionModel


class PublishedAccuracy(NamedTuple):
    """An accuracy, and the input size that it was measured at."""

    side: int
    coco_map: float


# Of backbone and neck, by input size.
_ACCURACIES = {
    ("mobilenet_v1", "ssd_layers"): ((300, 21.0),),
    ("mobilenet_v1", "fpn"): ((640, 29.1),),
    ("mobilenet_v2", "ssd_layers"): ((300, 22.0), (320, 20.2)),
    ("mobilenet_v2", "fpn"): ((320, 22.2), (640, 28.2)),
    ("mobilenet_v3_large", "ssd_layers"): ((320, 22.6),),
    ("mobilenet_v3_small", "ssd_layers"): ((320, 15.4),),
    ("inception_v2", "ssd_layers"): ((300, 24.0),),
    ("resnet50_v1", "fpn"): ((640, 34.3), (1024, 38.3)),
    ("resnet101_v1", "fpn"): ((640, 35.6), (1024, 39.5)),
    ("resnet152_v1", "fpn"): ((640, 35.4), (1024, 39.6)),
    ("efficientnet_b0", "bifpn"): ((512, 33.6),),
    ("efficientnet_b1", "bifpn"): ((640, 38.4),),
    ("efficientnet_b2", "bifpn"): ((768, 41.8),),
    ("efficientnet_b3", "bifpn"): ((896, 45.4),),
    ("efficientnet_b4", "bifpn"): ((1024, 48.5),),
    ("efficientnet_b5", "bifpn"): ((1280, 49.7),),
    ("efficientnet_b6", "bifpn"): ((1280, 50.5),),
    ("efficientnet_b7", "bifpn"): ((1536, 51.2),),
}


def published_accuracy(model: DetectionModel) -> PublishedAccuracy | None:
    """Give the accuracy of a network at the published input that is nearest; None if unknown."""
    network, here = network_of(model), input_shape(model)
    if network is None or here is None or network.known.architecture != "ssd":
        return None
    known = _ACCURACIES.get((network.known.backbone, network.known.neck or ""))
    if known is None:
        return None
    nearest = min(known, key=lambda each: abs(each[0] ** 2 - here.height * here.width))
    return PublishedAccuracy(*nearest)

"""The network a config describes: its detector, the levels of its feature maps, its anchors."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.config.legacy_names import Extractor, extractor
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.fpn import BidirectionalFeaturePyramidNetworks, FeaturePyramidNetworks
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.ssd import Ssd, SsdFeatureExtractor

Detector = Ssd | FasterRcnn | CenterNet
LARGEST_LEVEL = 31  # no int32 side can be halved more often


class Network(NamedTuple):
    """What the config says about the network."""

    detector: Detector
    known: Extractor
    levels: tuple[int, ...]
    generator: AnchorGenerator


def network_of(model: DetectionModel) -> Network | None:
    """Read the network from the config; None where there is no detector or its name is unknown."""
    detector = detector_of(model)
    known = extractor_of(detector)
    if detector is None or known is None:
        return None
    levels = tuple(_levels(detector, known))
    generator = _anchor_generator(detector) or AnchorGenerator()
    return Network(detector, known, levels, generator)


def detector_of(model: DetectionModel) -> Detector | None:
    """Give the detector of the model; None where none is set, and for an experimental model."""
    chosen = model.chosen("model")
    return chosen if isinstance(chosen, Detector) else None


def extractor_of(detector: Detector | None) -> Extractor | None:
    """Look up the network; None also for a name of another architecture."""
    if detector is None or detector.feature_extractor is None:
        return None
    known = extractor(detector.feature_extractor.type)
    architectures = {Ssd: "ssd", FasterRcnn: "faster_rcnn", CenterNet: "center_net"}
    fits = known is not None and known.architecture == architectures[type(detector)]
    return known if fits else None


_DILATED = ("resnet", "inception_resnet_v2")  # backbones that can run at stride 8


def _levels(detector: Detector, known: Extractor) -> range | tuple[int, ...]:
    match detector:
        case Ssd(feature_extractor=SsdFeatureExtractor() as features):
            return _ssd_levels(features, known)
        case FasterRcnn(feature_extractor=features) if features and known.neck == "fpn":
            pyramid = features.fpn
            return _between(pyramid.min_level, pyramid.max_level) if pyramid else _between(2, 6)
        case FasterRcnn(feature_extractor=features) if features:
            dilated = features.first_stage_features_stride == 8
            return (3,) if dilated and known.backbone.startswith(_DILATED) else (4,)
    return (2,)


def _ssd_levels(features: SsdFeatureExtractor, known: Extractor) -> range | tuple[int, ...]:
    match known.neck:
        case "ssd_layers":
            first = 3 if known.backbone == "inception_v3" else 4
            return range(first, first + min(features.num_layers, 6))
        case "embedded_layers":
            return range(4, 9)
        case "ppn":
            return range(4, 10)
        case "mnasfpn":
            return range(3, 7)
        case "spaghetti":
            return (4, 5, 6, 7, 7)
        case "bifpn":
            bifpn = features.bifpn or BidirectionalFeaturePyramidNetworks()
            return _between(bifpn.min_level, bifpn.max_level)
    fpn = features.fpn or FeaturePyramidNetworks()
    return _between(fpn.min_level, fpn.max_level)


def _between(first: int, last: int) -> range:
    return range(max(first, 0), min(last, LARGEST_LEVEL) + 1)


def _anchor_generator(detector: Detector) -> AnchorGenerator | None:
    match detector:
        case Ssd():
            return detector.anchor_generator
        case FasterRcnn():
            return detector.first_stage_anchor_generator
    return None

"""The network a config describes: its detector, the levels of its feature maps, its anchors."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from holdfast.config.facts.backbone_sizes import BACKBONE_TOP, backbone_sizes
from holdfast.config.facts.extractors import Extractor, extractor
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.feature_pyramid import (
    BidirectionalFeaturePyramidNetworks,
    FeaturePyramidNetworks,
)
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.ssd import Ssd, SsdFeatureExtractor

Detector = Ssd | FasterRcnn | CenterNet
LARGEST_LEVEL = 31  # no int32 side can be halved more often


class DescribedNetwork(NamedTuple):
    """What the config says about the network."""

    detector: Detector
    known: Extractor
    levels: tuple[int, ...]
    generator: AnchorGenerator


def network_of(model: DetectionModel) -> DescribedNetwork | None:
    """Read the network from the config; None where there is no detector or its name is unknown."""
    detector = detector_of(model)
    known = extractor_of(detector)
    if detector is None or known is None:
        return None
    levels = tuple(_levels(detector, known))
    generator = _anchor_generator(detector) or AnchorGenerator()
    return DescribedNetwork(detector, known, levels, generator)


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


def ssd_levels(features: SsdFeatureExtractor, known: Extractor) -> range | tuple[int, ...]:
    """List the levels of a single-stage network's maps, finest first; of stride 2**level each."""
    match known.neck:
        case "ssd_layers":
            first = backbone_sizes(known.backbone).first_ssd_level
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
    fpn = features.fpn or FeaturePyramidNetworks()  # a neck of one's own has its levels there too
    return _between(fpn.min_level, fpn.max_level)


def taken_levels(levels: Iterable[int]) -> tuple[int, ...]:
    """Say which levels are the backbone's; the neck adds the others.

    >>> taken_levels(range(3, 8))
    (3, 4, 5)
    """
    return tuple(level for level in levels if level <= BACKBONE_TOP)


def ignored_settings(
    features: SsdFeatureExtractor, *, takes: Collection[str], has_own_neck: bool
) -> tuple[str, ...]:
    """Name the settings that neither backbone nor neck of a user's own would obey.

    takes: the keywords of the backbone's factory.
    """
    ignored = {
        "depth_multiplier": features.depth_multiplier != 1.0 and "depth_multiplier" not in takes,
        "use_explicit_padding": features.use_explicit_padding and "explicit_padding" not in takes,
        "use_depthwise": features.use_depthwise and has_own_neck,
    }
    return tuple(name for name, is_ignored in ignored.items() if is_ignored)


def _levels(detector: Detector, known: Extractor) -> range | tuple[int, ...]:
    match detector:
        case Ssd(feature_extractor=SsdFeatureExtractor() as features):
            return ssd_levels(features, known)
        case FasterRcnn(feature_extractor=features) if features and known.neck == "fpn":
            pyramid = features.fpn
            return _between(pyramid.min_level, pyramid.max_level) if pyramid else _between(2, 6)
        case FasterRcnn(feature_extractor=features) if features:
            dilated = features.first_stage_features_stride == 8
            return (3,) if dilated and backbone_sizes(known.backbone).can_dilate else (4,)
    return (2,)


def _between(first: int, last: int) -> range:
    return range(max(first, 0), min(last, LARGEST_LEVEL) + 1)


def _anchor_generator(detector: Detector) -> AnchorGenerator | None:
    match detector:
        case Ssd():
            return detector.anchor_generator
        case FasterRcnn():
            return detector.first_stage_anchor_generator
    return None

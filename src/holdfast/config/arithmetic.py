"""Feature-map sizes, anchor counts and the input sizes a network accepts, in plain integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.config.legacy_names import Extractor, extractor
from holdfast.config.schema.anchor_generator import (
    AnchorGenerator,
    FlexibleGridAnchorGenerator,
    GridAnchorGenerator,
    MultiscaleAnchorGenerator,
    SsdAnchorGenerator,
)
from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.fpn import BidirectionalFeaturePyramidNetworks, FeaturePyramidNetworks
from holdfast.config.schema.image_resizer import (
    ConditionalShapeResizer,
    FixedShapeResizer,
    ImageResizer,
    KeepAspectRatioResizer,
    ResizeCondition,
)
from holdfast.config.schema.message import Message
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.ssd import Ssd, SsdFeatureExtractor

Detector = Ssd | FasterRcnn | CenterNet


class InputShape(NamedTuple):
    """Height and width at which the network runs: after the resizer and all padding."""

    height: int
    width: int
    fixed: bool  # True: every image; False: the largest of the shapes that occur


class FeatureMap(NamedTuple):
    """One map the head looks at."""

    level: int
    height: int
    width: int
    anchors_per_location: int  # 0 for CenterNet, and where the anchor generator has no layer

    @property
    def stride(self) -> int:
        """Pixels of the input between two neighbouring locations."""
        return 2**self.level

    @property
    def anchors(self) -> int:
        """Anchors on the whole map."""
        return self.height * self.width * self.anchors_per_location


class AnchorMismatch(NamedTuple):
    """A network and an anchor generator that do not fit together."""

    levels: tuple[int, ...]  # of the network's feature maps
    layers: int  # of the anchor generator
    strides: tuple[int, int] | None  # height, width of its first layer; None: it follows the maps

    @property
    def trains(self) -> bool:
        """True: the OD API trains, with anchors in wrong places; False: it refuses."""
        return len(self.levels) == self.layers


class IndivisibleLevel(NamedTuple):
    """Two maps of unequal size that the network would have to add (or, CenterNet, to compare)."""

    level: int  # the finer of the two levels
    input_size: int  # height or width of the network's input
    map_size: int  # the same side of this level's map; CenterNet: of the training targets
    upsampled_size: int  # the same side of what comes from the coarser levels
    smaller_input: int | None  # the nearest multiples of `input_multiple`: both work
    larger_input: int


def input_shape(model: DetectionModel, batch_size: int = 1) -> InputShape | None:
    """Find the shape of the network's input; None where the resizer sets no limit.

    keep_aspect_ratio_resizer without padding: an image is at most min_dimension by max_dimension,
    upright or lying; a batch that mixes both is padded to max_dimension on both sides.
    """
    detector = _detector(model)
    if detector is None or detector.image_resizer is None:
        return None
    resized = _resized(detector.image_resizer, batch_size)
    if resized is None:
        return None
    height, width = (_pad(side, _padding(detector)) for side in resized[:2])
    return InputShape(height, width, resized.fixed)


def feature_maps(model: DetectionModel, shape: InputShape) -> tuple[FeatureMap, ...]:
    """List the maps of an input of this shape, finest first; () where the network is unknown."""
    detector = _detector(model)
    known = _extractor(detector)
    if detector is None or known is None:
        return ()
    generator = _anchor_generator(detector)
    return tuple(
        FeatureMap(
            level=level,
            height=_side(known, shape.height, level),
            width=_side(known, shape.width, level),
            anchors_per_location=anchors_per_location(generator, layer) if generator else 0,
        )
        for layer, level in enumerate(_levels(detector, known))
    )


def anchor_layers(generator: AnchorGenerator) -> int:
    """Count the feature maps an anchor generator expects."""
    match _chosen(generator, "anchor_generator_oneof"):
        case SsdAnchorGenerator(scales=scales, num_layers=layers):
            return min(layers, len(scales)) if scales else layers
        case MultiscaleAnchorGenerator(min_level=first, max_level=last):
            return max(0, last - first + 1)
        case FlexibleGridAnchorGenerator(anchor_grid=grids):
            return len(grids)
        case GridAnchorGenerator():
            return 1
    return 0


def anchors_per_location(generator: AnchorGenerator, layer: int) -> int:
    """Count the anchors at one location of a layer; 0 beyond the generator's last layer.

    Lists left empty stay empty, as in the OD API: without aspect_ratios a grid or a multiscale
    generator has no anchors at all.
    """
    if layer >= anchor_layers(generator):
        return 0
    match _chosen(generator, "anchor_generator_oneof"):
        case SsdAnchorGenerator(reduce_boxes_in_lowest_layer=True) if layer == 0:
            return 3
        case SsdAnchorGenerator(aspect_ratios=ratios, interpolated_scale_aspect_ratio=extra):
            return len(ratios) + (1 if extra > 0 else 0)
        case MultiscaleAnchorGenerator(aspect_ratios=ratios, scales_per_octave=scales):
            return len(ratios) * scales
        case FlexibleGridAnchorGenerator(anchor_grid=grids):
            return len(grids[layer].base_sizes)
        case GridAnchorGenerator(aspect_ratios=ratios, scales=scales):
            return len(ratios) * len(scales)
    return 0


def anchor_mismatch(model: DetectionModel) -> AnchorMismatch | None:
    """Compare the network's feature maps with the anchor generator's layers; None if they fit."""
    detector = _detector(model)
    known = _extractor(detector)
    generator = _anchor_generator(detector)
    if detector is None or known is None or generator is None:
        return None
    levels = tuple(_levels(detector, known))
    mismatch = AnchorMismatch(levels, anchor_layers(generator), _first_strides(generator))
    stride = 2 ** levels[0] if levels else None
    fits = mismatch.trains and mismatch.strides in (None, (stride, stride))
    return None if fits else mismatch


def indivisible_levels(model: DetectionModel, shape: InputShape) -> tuple[IndivisibleLevel, ...]:
    """List where maps cannot be added because their sizes do not double exactly.

    () for a shape that is not fixed: there, only padding to `input_multiple` is safe.
    """
    pyramid = _pyramid(model)
    if pyramid is None or not shape.fixed:
        return ()
    sides = dict.fromkeys((shape.height, shape.width))
    return tuple(
        IndivisibleLevel(level, side, size, upsampled, *_working_sizes(model, side, pyramid))
        for side in sides
        for level, size, upsampled in _joins(pyramid, side)
        if size != upsampled
    )


def input_multiple(model: DetectionModel) -> int | None:
    """Give the number whose multiples are sizes the network takes; None: it takes any size.

    Other sizes may work too: an FPN on levels 3 to 5 takes 313 to 320, because 40 divides by 4.
    """
    pyramid = _pyramid(model)
    return None if pyramid is None else 2**pyramid.top


def smallest_side(model: DetectionModel) -> int:
    """Give the smallest height and width the OD API accepts, measured before pad_to_multiple."""
    known = _extractor(_detector(model))
    if known is None or known.architecture == "center_net":
        return 1
    deep = known.architecture == "ssd" and known.backbone.startswith(("resnet", "efficientnet"))
    return 129 if deep else 33


class _Pyramid(NamedTuple):
    """The levels between which maps are upsampled and added."""

    bottom: int
    top: int
    exact: bool  # CenterNet: targets have size // 4 cells, so the result must be just as large


_HOURGLASS_STAGES = {
    "hourglass_10": 1,
    "hourglass_20": 2,
    "hourglass_32": 3,
    "hourglass_52": 5,
    "hourglass_104": 5,
}
_BACKBONE_TOP = 5  # FPNs end at stride 32; coarser levels are convolved from it, not added
_DILATED = ("resnet", "inception_resnet_v2")  # backbones that can run at stride 8
_FASTER_RCNN_FPN_PADDING = 32  # fixed in the OD API; its pad_to_multiple is never read
_LARGEST_LEVEL = 31  # no int32 side can be halved more often


def _pyramid(model: DetectionModel) -> _Pyramid | None:
    detector = _detector(model)
    known = _extractor(detector)
    if detector is None or known is None:
        return None
    if isinstance(detector, CenterNet):
        return _Pyramid(2, 2 + _HOURGLASS_STAGES.get(known.backbone, 3), exact=True)
    levels = _levels(detector, known)
    match known.neck:
        case "fpn" if levels and not _crops(detector, known):
            pyramid = _Pyramid(levels[0], min(levels[-1], _BACKBONE_TOP), exact=False)
        case "bifpn" | "mnasfpn" if levels:
            pyramid = _Pyramid(levels[0], levels[-1], exact=False)
        case _:
            return None
    return pyramid if pyramid.bottom < pyramid.top else None


def _crops(detector: Detector, known: Extractor) -> bool:
    """Tell whether the FPN cuts the upsampled map to size: MobileNets with explicit padding do."""
    return (
        isinstance(detector, Ssd)
        and detector.feature_extractor is not None
        and detector.feature_extractor.use_explicit_padding
        and known.backbone.startswith("mobilenet")
    )


def _joins(pyramid: _Pyramid, side: int) -> Iterator[tuple[int, int, int]]:
    """Yield level, size and upsampled size wherever two maps meet."""
    if pyramid.exact:
        doublings = pyramid.top - pyramid.bottom
        upsampled = _halve(side, pyramid.top) * 2**doublings
        yield pyramid.bottom, side // 2**pyramid.bottom, upsampled
        return
    for level in range(pyramid.bottom, pyramid.top):
        yield level, _halve(side, level), 2 * _halve(side, level + 1)


def _working_sizes(model: DetectionModel, side: int, pyramid: _Pyramid) -> tuple[int | None, int]:
    larger = _pad(side, 2**pyramid.top)
    smaller = larger - 2**pyramid.top
    return smaller if smaller >= smallest_side(model) else None, larger


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
    return range(max(first, 0), min(last, _LARGEST_LEVEL) + 1)


def _side(known: Extractor, size: int, level: int) -> int:
    if known.neck == "upsampling":  # transposed convolutions from stride 32 back to 4
        return _halve(size, 5) * 8
    match known.backbone:
        case "inception_v3":  # 3x3 kernels without padding: some lose a pixel at each border
            for lost in (0, 2, 2, 0, 0)[:level]:
                size = (size - lost - 1) // 2
            return _halve(size, max(level - 5, 0))
        case "nasnet" | "pnasnet":  # the first convolution is not padded
            return _halve((size - 1) // 2, level - 1)
    return _halve(size, level)


def _halve(size: int, times: int) -> int:
    """Halve with rounding up, as padded convolutions of stride 2 do."""
    return -(-size // 2**times)


def _pad(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _padding(detector: Detector) -> int:
    known = _extractor(detector)
    match detector:
        case Ssd(feature_extractor=features) if features:
            return max(1, features.pad_to_multiple)
        case FasterRcnn() if known and known.neck == "fpn":
            return _FASTER_RCNN_FPN_PADDING
    return 1


def _resized(resizer: ImageResizer, batch_size: int) -> InputShape | None:
    match _chosen(resizer, "image_resizer_oneof"):
        case FixedShapeResizer(height=height, width=width):
            return InputShape(height, width, fixed=True)
        case KeepAspectRatioResizer(pad_to_max_dimension=True, max_dimension=longest):
            return InputShape(longest, longest, fixed=True)
        case KeepAspectRatioResizer(min_dimension=shortest, max_dimension=longest):
            return InputShape(longest if batch_size > 1 else shortest, longest, fixed=False)
        case ConditionalShapeResizer(condition=ResizeCondition.GREATER, size_threshold=longest):
            return InputShape(longest, longest, fixed=False)
    return None


def _first_strides(generator: AnchorGenerator) -> tuple[int, int] | None:
    """Give the strides that must equal the network's; the other generators spread over any map."""
    match _chosen(generator, "anchor_generator_oneof"):
        case MultiscaleAnchorGenerator(min_level=level):
            stride = 2 ** min(max(level, 0), _LARGEST_LEVEL)
            return stride, stride
        case GridAnchorGenerator(height_stride=height, width_stride=width):
            return height, width
    return None


def _anchor_generator(detector: Detector | None) -> AnchorGenerator | None:
    match detector:
        case Ssd():
            return detector.anchor_generator
        case FasterRcnn():
            return detector.first_stage_anchor_generator
    return None


def _extractor(detector: Detector | None) -> Extractor | None:
    if detector is None or detector.feature_extractor is None:
        return None
    known = extractor(detector.feature_extractor.type)
    architectures = {Ssd: "ssd", FasterRcnn: "faster_rcnn", CenterNet: "center_net"}
    fits = known is not None and known.architecture == architectures[type(detector)]
    return known if fits else None


def _detector(model: DetectionModel) -> Detector | None:
    chosen = _chosen(model, "model")
    return chosen if isinstance(chosen, Ssd | FasterRcnn | CenterNet) else None


def _chosen(message: Message, oneof: str) -> Message | None:
    name = message.which(oneof)
    return None if name is None else getattr(message, name)

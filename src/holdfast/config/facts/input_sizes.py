"""The size at which a network runs, and the sizes it accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.config.facts.backbone_sizes import BACKBONE_TOP, backbone_sizes
from holdfast.config.facts.extractors import Extractor
from holdfast.config.facts.networks import (
    DescribedNetwork,
    Detector,
    detector_of,
    extractor_of,
    network_of,
)
from holdfast.config.schema import image_resizer as resizers
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.ssd import Ssd, SsdFeatureExtractor

FASTER_RCNN_FPN_PADDING = 32  # fixed in the OD API, whose pad_to_multiple is never read


class InputShape(NamedTuple):
    """Height and width at which the network runs: after the resizer and all padding."""

    height: int
    width: int
    fixed: bool  # True: every image has this shape; False: it is the largest that can occur


class IndivisibleLevel(NamedTuple):
    """Two maps of unequal size that the network would have to add (CenterNet: to compare)."""

    level: int  # the finer of the two levels
    input_size: int  # height or width of the network's input
    map_size: int  # the same side of this level's map; CenterNet: of the training targets
    upsampled_size: int  # the same side of what comes from the coarser levels
    smaller_input: int | None  # the nearest multiples of `input_multiple`; both work
    larger_input: int


def input_shape(model: DetectionModel, batch_size: int = 1) -> InputShape | None:
    """Find the shape of the network's input; None where the resizer sets no limit.

    keep_aspect_ratio_resizer without padding: an image is at most min_dimension by max_dimension,
    upright or lying; a batch that mixes both is padded to max_dimension on both sides.
    """
    detector = detector_of(model)
    if detector is None or detector.image_resizer is None:
        return None
    resized = _resized(detector.image_resizer, batch_size)
    if resized is None:
        return None
    multiple = _padding(detector, extractor_of(detector))
    return InputShape(_pad(resized.height, multiple), _pad(resized.width, multiple), resized.fixed)


def indivisible_levels(model: DetectionModel, shape: InputShape) -> tuple[IndivisibleLevel, ...]:
    """List where maps cannot be added because their sizes do not double exactly.

    () for a shape that is not fixed: there, only padding to `input_multiple` is safe.
    """
    pyramid = _pyramid(model)
    if pyramid is None or not shape.fixed:
        return ()
    smallest = smallest_side(model)
    return tuple(
        IndivisibleLevel(level, side, size, upsampled, *_working_sizes(side, pyramid, smallest))
        for side in dict.fromkeys((shape.height, shape.width))
        for level, size, upsampled in _joins(pyramid, side)
        if size != upsampled
    )


def input_multiple(model: DetectionModel) -> int | None:
    """Give the number whose multiples are sizes the network takes; None: it takes any size.

    Other sizes may work too: an FPN on levels 3 to 5 takes 313 to 320, because 40 divides by 4.
    """
    pyramid = _pyramid(model)
    return None if pyramid is None else 1 << pyramid.top


def smallest_side(model: DetectionModel) -> int:
    """Give the smallest height and width the OD API accepts, measured before pad_to_multiple."""
    network = network_of(model)
    if network is None or network.known.architecture == "center_net":
        return 1
    if network.known.architecture != "ssd":
        return _SMALLEST_SIDE
    return backbone_sizes(network.known.backbone).smallest_ssd_side


def halve(size: int, times: int) -> int:
    """Halve with rounding up, as padded convolutions of stride 2 do."""
    return -(-size >> times)


_SMALLEST_SIDE = 33


class _Pyramid(NamedTuple):
    """The levels between which maps are upsampled and added."""

    bottom: int
    top: int
    exact: bool  # CenterNet: targets have size // 4 cells, and the result must have as many


def _pyramid(model: DetectionModel) -> _Pyramid | None:
    network = network_of(model)
    if network is None or not network.levels:
        return None
    first, last = network.levels[0], network.levels[-1]
    match network.known.neck:
        case _ if network.known.architecture == "center_net":
            stages = backbone_sizes(network.known.backbone).hourglass_stages
            return _Pyramid(first, first + stages, exact=True)
        case "fpn" if first < min(last, BACKBONE_TOP) and not _crops(network):
            return _Pyramid(first, min(last, BACKBONE_TOP), exact=False)
        case "bifpn" | "mnasfpn" if first < last:
            return _Pyramid(first, last, exact=False)
    return None


def _crops(network: DescribedNetwork) -> bool:
    """Tell whether the FPN cuts upsampled maps to size."""
    features = network.detector.feature_extractor
    explicit = isinstance(features, SsdFeatureExtractor) and features.use_explicit_padding
    return explicit and backbone_sizes(network.known.backbone).crops


def _joins(pyramid: _Pyramid, side: int) -> Iterator[tuple[int, int, int]]:
    """Yield level, size and upsampled size wherever two maps meet."""
    if pyramid.exact:
        upsampled = halve(side, pyramid.top) << (pyramid.top - pyramid.bottom)
        yield pyramid.bottom, side >> pyramid.bottom, upsampled
        return
    for level in range(pyramid.bottom, pyramid.top):
        yield level, halve(side, level), 2 * halve(side, level + 1)


def _working_sizes(side: int, pyramid: _Pyramid, smallest: int) -> tuple[int | None, int]:
    multiple = 1 << pyramid.top
    larger = max(_pad(side, multiple), _pad(smallest, multiple))
    smaller = larger - multiple
    return smaller if smaller >= smallest else None, larger


def _padding(detector: Detector, known: Extractor | None) -> int:
    match detector:
        case Ssd(feature_extractor=features) if features:
            return max(1, features.pad_to_multiple)
        case FasterRcnn() if known and known.neck == "fpn":
            return FASTER_RCNN_FPN_PADDING
    return 1


def _resized(resizer: resizers.ImageResizer, batch_size: int) -> InputShape | None:
    greater = resizers.ResizeCondition.GREATER
    match resizer.chosen("image_resizer_oneof"):
        case resizers.FixedShapeResizer(height=height, width=width):
            return InputShape(height, width, fixed=True)
        case resizers.KeepAspectRatioResizer(max_dimension=longest, pad_to_max_dimension=True):
            return InputShape(longest, longest, fixed=True)
        case resizers.KeepAspectRatioResizer(min_dimension=shortest, max_dimension=longest):
            return InputShape(longest if batch_size > 1 else shortest, longest, fixed=False)
        case resizers.ConditionalShapeResizer(size_threshold=longest, condition=condition):
            return InputShape(longest, longest, fixed=False) if condition == greater else None
    return None


def _pad(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple

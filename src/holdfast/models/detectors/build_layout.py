"""The anchors of a config, laid over its data for `holdfast inspect`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.config.facts.feature_maps import feature_maps
from holdfast.config.facts.input_sizes import InputShape
from holdfast.config.facts.networks import Detector, network_of
from holdfast.config.facts.resolution import ChangedResolution, changed_resolution
from holdfast.config.schema.matcher import Matcher
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.ssd import Ssd
from holdfast.data.input.build_input import build_resizer
from holdfast.data.survey.anchor_coverage import (
    AnchorCoverage,
    AnchorLayout,
    Frame,
    frame_of,
    measure,
)
from holdfast.data.survey.inspection import Records
from holdfast.data.survey.observe import Observation, observe_records, repeated_images_merged
from holdfast.data.survey.statistics import Statistics
from holdfast.models.detectors.build_anchor_parts import build_anchor_generator
from holdfast.progress import Progress, silent


class Covered(NamedTuple):
    """What anchors cover at the config's resolution, and at the published one where it differs."""

    here: AnchorCoverage
    change: ChangedResolution | None = None
    published: AnchorCoverage | None = None


def anchor_coverage(
    model: DetectionModel,
    records: Records,
    statistics: Statistics,
    progress: Progress = silent,
) -> Covered | None:
    """Read the boxes once more, without pixels; None where there are no anchors."""
    layout = anchor_layout(model)
    if layout is None:
        return None
    observations = usable_records(records, statistics, progress)
    change = changed_resolution(model)
    if change is None:
        (here,) = measure(observations, [layout])
        return Covered(here)
    here, published = measure(observations, [layout, _at(layout, change.published)])
    return Covered(here, change, published)


_USUAL_THRESHOLD = 0.5


def anchor_layout(model: DetectionModel) -> AnchorLayout | None:
    """Say where a model lays its anchors; None where there are none."""
    network = network_of(model)
    if network is None or network.generator.chosen("anchor_generator_oneof") is None:
        return None
    generator, detector = build_anchor_generator(network.generator), network.detector
    resizer = detector.image_resizer
    if resizer is None:
        return None
    features = model.ssd.feature_extractor if model.ssd is not None else None
    multiple = features.pad_to_multiple if features is not None else 1

    def anchors(height: int, width: int) -> list[NDArray[np.float32]]:
        padded = InputShape(_pad(height, multiple), _pad(width, multiple), fixed=True)
        shapes = [(each.height, each.width) for each in feature_maps(model, padded)]
        if isinstance(detector, Ssd):
            laid_out = generator.anchors(shapes, height, width)
        else:  # two stages lay them in pixels
            sides = np.array([height, width] * 2, np.float32)
            laid_out = [np.asarray(each) / sides for each in generator.anchors(shapes, 1, 1)]
        return [each.reshape(*shape, -1, 4) for each, shape in zip(laid_out, shapes, strict=True)]

    return AnchorLayout(
        frame=frame_of(build_resizer(resizer)),
        anchors=anchors,
        iou_threshold=_threshold(detector),
    )


def _at(layout: AnchorLayout, shape: InputShape) -> AnchorLayout:
    """Scale the input to another size; the image takes the same part of it."""

    def frame(height: int, width: int) -> Frame:
        here = layout.frame(height, width)
        return Frame(
            round(here.height * shape.height / here.input_height),
            round(here.width * shape.width / here.input_width),
            shape.height,
            shape.width,
        )

    return replace(layout, frame=frame)


def _threshold(detector: Detector) -> float:
    """Give the overlap from which an anchor learns a box.

    A first stage asks for more, but takes the best anchor of each box whatever it overlaps: half
    is what it can correct well.
    """
    if not isinstance(detector, Ssd):
        return _USUAL_THRESHOLD
    chosen = (detector.matcher or Matcher()).argmax_matcher
    has_own = chosen is not None and not chosen.ignore_thresholds
    return chosen.matched_threshold if chosen and has_own else _USUAL_THRESHOLD


def usable_records(
    records: Records, statistics: Statistics, progress: Progress = silent
) -> Iterator[Observation]:
    """Observe, without pixels, what the statistics kept."""
    left_out = set(statistics.records_left_out)
    done, total = 0, sum(statistics.stored_bytes)
    every = observe_records(records.files, records.layout, records.names, decodes=False)
    for seen in repeated_images_merged(every):
        if seen.record not in left_out:
            yield seen
            done += seen.stored_bytes
            progress(min(done, total), total)


def _pad(size: int, multiple: int) -> int:
    return -(-size // max(multiple, 1)) * max(multiple, 1)

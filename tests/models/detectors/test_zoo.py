"""Every single-stage config that the OD API published builds, or names what to use instead."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from holdfast.config.facts.extractors import extractor
from holdfast.config.facts.feature_maps import feature_maps
from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.load import load_config
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_detector import build_detector

# Plain, SSDLite and pyramid, of both halves of the OD API; EfficientDet is built by the goldens.
QUICK = [
    "tf1/ssd_mobilenet_v1_0.75_depth_300x300_coco14_sync",
    "tf1/ssdlite_mobilenet_v3_small_320x320_coco",
    "tf2/ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8",
]


def single_stage(corpus: Path) -> Iterator[tuple[str, TrainEvalPipelineConfig, str | None]]:
    """Give name, config and, where Holdfast does not build it, the nearest extractor."""
    for path in sorted((corpus / "zoo_configs").glob("*/*.config")):
        config = load_config(path)
        if config.model.ssd is not None:
            known = extractor(config.model.ssd.feature_extractor.type)
            yield f"{path.parent.name}/{path.stem}", config, known.nearest


def test_the_list_is_that_of_the_zoo(corpus):
    found = [nearest for *_, nearest in single_stage(corpus)]
    assert (found.count(None), len(found)) == (43, 54)


def test_an_extractor_that_is_not_built_is_refused_with_the_nearest_one(corpus):
    for name, config, nearest in single_stage(corpus):
        if nearest is None:
            continue
        with pytest.raises(HoldfastError, match="does not build") as caught:
            build_detector(config)
        assert caught.value.fix == f'Use type: "{nearest}".', name
        assert extractor(nearest).nearest is None, name


@pytest.mark.parametrize("name", QUICK)
def test_a_published_config_builds_at_its_own_resolution(corpus, name):
    config = load_config(corpus / "zoo_configs" / f"{name}.config")
    detector = build_detector(config)
    shape = input_shape(config.model)
    assert detector.settings.input_shape == (shape.height, shape.width)


@pytest.mark.slow
def test_every_published_config_runs_at_its_own_resolution(corpus):
    image = np.random.default_rng(0).integers(0, 256, (1, 200, 300, 3), np.uint8)
    for name, config, nearest in single_stage(corpus):
        if nearest is None:
            assert_runs(name, config, image)
            gc.collect()  # the largest need 4 GB, and a detector is a ring of references


def assert_runs(name: str, config: TrainEvalPipelineConfig, image: np.ndarray) -> None:
    """Check one forward pass against the arithmetic that `holdfast check` shows."""
    detector = build_detector(config)
    inputs, sizes = detector.preprocess(image)
    predictions = detector(inputs, sizes=sizes)
    shape = input_shape(config.model)._replace(height=inputs.shape[1], width=inputs.shape[2])
    maps = feature_maps(config.model, shape)
    assert [tuple(each.shape[1:3]) for each in predictions.feature_maps] == [
        (each.height, each.width) for each in maps
    ], name
    anchors = sum(each.anchors for each in maps)
    ssd = config.model.ssd
    columns = ssd.num_classes + ssd.add_background_class
    assert predictions.anchors.shape == (anchors, 4), name
    assert predictions.box_encodings.shape == (1, anchors, 4), name
    assert predictions.class_predictions_with_background.shape == (1, anchors, columns), name
    found = detector.detections(predictions, sizes)
    assert np.isfinite(found.scores).all(), name
    assert np.isfinite(found.boxes).all(), name

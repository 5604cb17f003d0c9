"""An ONNX file finds in onnxruntime what its detector finds, of every family."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
import tensorflow as tf
from tests.export.test_saved_model_file import IMAGES, outputs, spread_detector
from tests.models.detectors.center_net.small_centers import (
    ALL_TASKS,
    BOXES,
    HOURGLASS,
    center_net,
    keypoints,
)
from tests.models.detectors.small_configs import small_stages
from tests.prediction.spread_weights import spread_weights
from tests.training.small_training import config_of

import holdfast
from holdfast.config.text.overrides import apply_overrides
from holdfast.export import onnx_file
from holdfast.export.comparison import Tolerance, compare
from holdfast.export.onnx_file import OPSET, RAW_OUTPUTS, write_onnx
from holdfast.models.detectors.single_stage.detector import SingleStageDetector
from holdfast.runtimes.onnx_session import OnnxSession

NAMES = {1: "cat", 3: "käfer"}
FAR = "box_scale: 2.0 candidate_search_scale: 2.0"
PYRAMID = "faster_rcnn_resnet50_fpn_keras"
PYRAMID_ANCHORS = """{ multiscale_anchor_generator {
  min_level: 2 max_level: 6 aspect_ratios: [1.0, 2.0] scales_per_octave: 1
  normalize_coordinates: false } }"""


def with_pyramid(config):
    stages = "model.faster_rcnn"
    fields = {
        f"{stages}.feature_extractor.fpn.additional_layer_depth": 16,
        f"{stages}.first_stage_anchor_generator": PYRAMID_ANCHORS,
    }
    config, problems = apply_overrides(config, fields)
    assert not problems
    return config


# Not a proof against the format: nobody has yet found weights for this one that give finite boxes.
INFINITE_BOXES = pytest.mark.xfail(
    reason="fresh weights give points and infinite boxes, suppressed differently", strict=True
)
CONFIGS = {
    "faster_rcnn": lambda: small_stages("faster_rcnn", 96, 128),
    "faster_rcnn_pyramid": lambda: with_pyramid(small_stages("faster_rcnn", 96, 128, PYRAMID)),
    "center_net_all_tasks": lambda: center_net(ALL_TASKS, HOURGLASS, num_classes=3),
    "center_net_far": lambda: center_net(BOXES + keypoints(more=FAR), HOURGLASS),
}


def run_onnx(path, images):
    outputs = map(OnnxSession(path).run, (image[None] for image in images))
    return [{name: value[0] for name, value in each.items()} for each in outputs]


def small_detector(family):
    if family not in CONFIGS:
        return spread_detector(family)
    detector = holdfast.build_detector(CONFIGS[family]())
    spread_weights(detector)
    return detector


@pytest.mark.parametrize(
    "family",
    [
        "mask_rcnn",
        "center_net_all_tasks",
        *(
            pytest.param(family, marks=pytest.mark.slow)
            for family in (
                *("ssd", "ssdlite", "fpn", "fpnlite", "fpn_any_size", "bifpn"),
                *("faster_rcnn", "center_net", "center_net_far"),
            )
        ),
        pytest.param("faster_rcnn_pyramid", marks=[pytest.mark.slow, INFINITE_BOXES]),
    ],
)
def test_an_onnx_file_finds_what_the_detector_finds(family, tmp_path):
    detector = small_detector(family)
    write_onnx(detector, tmp_path / "model.onnx", names=NAMES)
    exported = run_onnx(tmp_path / "model.onnx", IMAGES)
    original = [outputs(detector, image) for image in IMAGES]
    assert np.ptp(original[0]["detection_scores"]) > 0.05  # else every comparison passes
    assert set(exported[0]) == set(original[0])
    fixed = isinstance(detector, SingleStageDetector)
    comparison = compare(original, exported, Tolerance(), has_fixed_places=fixed)
    assert comparison.is_within(Tolerance()), comparison
    assert (comparison.largest_raw_score_difference is not None) == fixed
    assert comparison.objects > 3
    swapped = [exported[1], exported[0], exported[2]]
    comparison = compare(original, swapped, Tolerance(), has_fixed_places=False)
    assert not comparison.is_within(Tolerance())


@pytest.fixture(scope="module")
def raw_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("raw") / "model.onnx"
    detector = holdfast.build_detector(config_of("ssd", plain=True))
    spread_weights(detector)
    write_onnx(detector, path, names=NAMES, raw=True)
    return path, detector


def test_raw_outputs_are_every_box_with_its_scores(raw_file):
    path, detector = raw_file
    (found,) = run_onnx(path, IMAGES[:1])
    assert set(found) == set(RAW_OUTPUTS)
    expected = outputs(detector, IMAGES[0])
    assert np.ptp(expected["raw_detection_scores"]) > 0.05
    for name in RAW_OUTPUTS:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-4)


def test_the_file_says_what_it_is(raw_file):
    model = onnx.load(raw_file[0])
    onnx.checker.check_model(model)
    properties = {each.key: each.value for each in model.metadata_props}
    assert json.loads(properties["labels"]) == {"1": "cat", "3": "käfer"}
    assert properties["producer"].startswith("holdfast ")
    assert properties["outputs"] == "raw"
    versions = {each.domain: each.version for each in model.opset_import}
    assert versions[""] == OPSET == int(properties["opset"])
    (images,) = model.graph.input
    assert images.name == "input_tensor"
    dimensions = [each.dim_param or each.dim_value for each in images.type.tensor_type.shape.dim]
    assert dimensions == ["batch", "height", "width", 3]


def test_an_operator_that_onnx_lacks_is_named(tmp_path, monkeypatch):
    def foreign(detector, inputs, sizes):
        return {"detection_scores": tf.bitwise.invert(tf.bitcast(inputs, tf.int32))}

    monkeypatch.setattr(onnx_file, "detection_outputs", foreign)
    detector = SimpleNamespace(preprocess=lambda images: (images, None))
    with pytest.raises(holdfast.HoldfastError, match="ONNX has no operator for Bitcast, Invert"):
        write_onnx(detector, tmp_path / "model.onnx", names={})
    assert list(tmp_path.iterdir()) == []

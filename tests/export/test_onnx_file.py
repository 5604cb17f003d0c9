"""An ONNX file finds in onnxruntime what its detector finds, of every family."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
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

import holdfast
from holdfast.export.comparison import Tolerance, compare
from holdfast.export.onnx_file import OPSET, RAW_OUTPUTS, write_onnx
from holdfast.export.onnx_run import run_onnx

NAMES = {1: "cat", 3: "käfer"}
FAR = "box_scale: 2.0 candidate_search_scale: 2.0"
CONFIGS = {
    "faster_rcnn": lambda: small_stages("faster_rcnn", 96, 128),
    "faster_rcnn_pyramid": lambda: small_stages(
        "faster_rcnn", 96, 128, "faster_rcnn_resnet50_fpn_keras"
    ),
    "center_net_all_tasks": lambda: center_net(ALL_TASKS, HOURGLASS, num_classes=3),
    "center_net_far": lambda: center_net(BOXES + keypoints(more=FAR), HOURGLASS),
}


def small_detector(family):
    if family not in CONFIGS:
        return spread_detector(family)
    detector = holdfast.build_detector(CONFIGS[family]())
    spread_weights(detector)
    return detector


@pytest.mark.parametrize(
    "family",
    [
        "ssd",
        "mask_rcnn",
        "center_net",
        "center_net_all_tasks",
        *(
            pytest.param(family, marks=pytest.mark.slow)
            for family in (
                *("ssdlite", "fpn", "fpnlite", "fpn_any_size", "bifpn"),
                *("faster_rcnn", "faster_rcnn_pyramid", "center_net_far"),
            )
        ),
    ],
)
def test_an_onnx_file_finds_what_the_detector_finds(family, tmp_path):
    detector = small_detector(family)
    write_onnx(detector, tmp_path / "model.onnx", names=NAMES)
    exported = run_onnx(tmp_path / "model.onnx", IMAGES)
    original = [outputs(detector, image) for image in IMAGES]
    assert np.ptp(original[0]["detection_scores"]) > 0.05  # else every comparison passes
    assert set(exported[0]) == set(original[0])
    comparison = compare(original, exported, Tolerance())
    assert comparison.is_within(Tolerance()), comparison
    assert comparison.objects > 3
    swapped = [exported[1], exported[0], exported[2]]
    assert not compare(original, swapped, Tolerance()).is_within(Tolerance())

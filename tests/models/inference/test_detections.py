"""Detections are the OD API's: every unit case, and the golden detectors' own."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from holdfast.config.load import load_config
from holdfast.config.schema.post_processing import BatchNonMaxSuppression
from holdfast.config.text.decode import decode
from holdfast.errors import HoldfastError
from holdfast.geometry.boxes import clip_to_window, to_frame, true_image_windows
from holdfast.geometry.coding import FasterRcnnCoder
from holdfast.models.inference.detections import Detections, Suppression

CASES = [
    *("hard_06", "hard_06_clip", "hard_05_few", "hard_05_few_clip"),
    *("soft_sigma05", "soft_sigma05_clip", "class_agnostic", "class_agnostic_clip"),
    *("combined", "combined_clip", "change_coordinate_frame_clip", "static", "static_clip"),
]
INPUT_SIDES = {
    "ssd_mobilenet_v2_320x320_coco17_tpu-8": 300,
    "ssd_inception_v2_coco": 300,
    "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8": 320,
    "ssd_resnet50_v1_fpn_640x640_coco17_tpu-8": 640,
    "ssd_efficientdet_d0_512x512_coco17_tpu-8": 512,
}
# The golden holds every box prediction of these.
WITH_ALL_BOXES = [name for name, side in INPUT_SIDES.items() if side <= 320]


def suppression_of(message: BatchNonMaxSuppression) -> Suppression:
    return Suppression(**{field.name: getattr(message, field.name) for field in fields(message)})


def golden_windows(folder: Path) -> tf.Tensor:
    side = INPUT_SIDES[folder.name]
    sizes = np.load(folder / "input.npz")["true_image_shapes"]
    return true_image_windows(tf.constant(sizes), side, side)


@pytest.mark.parametrize("case", CASES)
def test_suppression_equals_the_od_api(shared, case):
    units = shared / "goldens/_units"
    configs = json.loads((units / "nms_cases.json").read_text())
    assert set(CASES) == set(configs)
    golden = np.load(units / "nms.npz")
    suppression = suppression_of(decode(configs[case], BatchNonMaxSuppression).message)
    windows = golden["clip_window"] if case.endswith("_clip") else None
    if windows is None and not suppression.use_combined_nms:
        # Without a window the OD API clips to the extent of all boxes: it clips nothing.
        corners = golden["boxes"].reshape(-1, 4)
        extent = np.concatenate([corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)])
        windows = np.stack([extent, extent])
    found = suppression.detections(
        tf.constant(golden["boxes"]),
        tf.constant(golden["scores"]),
        None if windows is None else tf.constant(windows),
    )
    np.testing.assert_array_equal(found.count, golden[f"{case}/num"])
    np.testing.assert_array_equal(found.classes, golden[f"{case}/classes"])
    np.testing.assert_allclose(found.scores, golden[f"{case}/scores"], atol=1e-6)
    np.testing.assert_allclose(found.boxes, golden[f"{case}/boxes"], atol=1e-6)


@pytest.mark.parametrize("name", WITH_ALL_BOXES)
def test_detected_anchors_of_golden_detectors_give_the_golden_detections(shared, name):
    # Anchors that were not detected suppress nothing that was, so these alone decide.
    folder = shared / "goldens" / name
    golden = np.load(folder / "outputs.npz")
    settings = load_config(folder / "pipeline.config").model.ssd.post_processing
    suppression = suppression_of(settings.batch_non_max_suppression)
    for image in range(2):
        detected = golden["det/detection_anchor_indices"][image]
        anchors, first = np.unique(detected, return_index=True)
        codes = golden["pred/box_encodings"][image, anchors]
        boxes = FasterRcnnCoder().decode(codes, golden["anchors"][anchors])
        scores = golden["det/detection_multiclass_scores"][image, first, 1:]  # 0 is background
        chosen = suppression.select(
            boxes[None], tf.constant(scores[None]), golden_windows(folder)[image : image + 1]
        )
        assert int(chosen.count[0]) == golden["det/num_detections"][image]
        np.testing.assert_array_equal(anchors[np.array(chosen.indices)[0]], detected)
        np.testing.assert_array_equal(chosen.classes[0], golden["det/detection_classes"][image])
        for values, key in ((chosen.scores, "scores"), (chosen.boxes, "boxes")):
            expected = golden[f"det/detection_{key}"][image]
            np.testing.assert_allclose(values[0], expected, atol=1e-5)


@pytest.mark.parametrize("name", INPUT_SIDES)
def test_golden_detections_are_raw_boxes_in_the_frame_of_the_true_image(shared, name):
    folder = shared / "goldens" / name
    golden = np.load(folder / "outputs.npz")
    facts = json.loads((folder / "outputs.meta.json").read_text())["det/raw_detection_boxes"]
    raw = np.full(np.prod(facts["shape"]), np.nan, np.float32)
    raw[:: facts["flat_stride"]] = golden["det/raw_detection_boxes"].reshape(-1)
    raw = raw.reshape(facts["shape"])  # NaN where the golden leaves a coordinate out
    detected = raw[np.arange(2)[:, None], golden["det/detection_anchor_indices"]]
    windows = golden_windows(folder)
    boxes = np.array(to_frame(clip_to_window(detected, windows), windows))
    is_known = ~np.isnan(detected)
    assert is_known.sum() > 50
    expected = golden["det/detection_boxes"]
    np.testing.assert_allclose(boxes[is_known], expected[is_known], atol=1e-5)


def test_all_of_the_input_is_image_when_nothing_else_is_said():
    boxes, scores = tf.constant([[[-1.0, 0.0, 0.5, 2.0]]]), tf.constant([[[0.9, 0.1]]])
    found = Suppression(max_detections_per_class=1, max_total_detections=3).detections(
        boxes, scores
    )
    np.testing.assert_allclose(found.boxes[0], [[0, 0, 0.5, 1], [0, 0, 0.5, 1], [0, 0, 0, 0]])
    np.testing.assert_array_equal(found.classes, [[0, 1, 0]])
    np.testing.assert_array_equal(found.count, [2])
    assert found.classes.dtype == tf.int32


def test_combined_suppression_gives_places_to_boxes_outside_the_image():
    boxes = tf.constant([[[2.0, 2.0, 3.0, 3.0], [0.0, 0.0, 1.0, 1.0]]])
    scores = tf.constant([[[0.9], [0.8]]])
    one = {
        "max_detections_per_class": 1,
        "max_total_detections": 1,
        "change_coordinate_frame": False,
    }
    combined = Suppression(use_combined_nms=True, **one).detections(boxes, scores)
    np.testing.assert_allclose(combined.scores, [[0.9]])
    assert int(Suppression(**one).detections(boxes, scores).count[0]) == 0


@pytest.mark.parametrize(
    "implementation",
    ["use_static_shapes", "use_partitioned_nms", "use_hard_nms", "use_cpu_nms"],
)
def test_settings_that_choose_an_implementation_change_no_detection(shared, implementation):
    golden = np.load(shared / "goldens/_units/nms.npz")
    boxes, scores = tf.constant(golden["boxes"]), tf.constant(golden["scores"])
    plain = Suppression(score_threshold=0.3, max_detections_per_class=10)
    other = Suppression(score_threshold=0.3, max_detections_per_class=10, **{implementation: True})
    for expected, found in zip(
        plain.detections(boxes, scores)[:4], other.detections(boxes, scores)[:4], strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iou_threshold": 1.5}, "iou_threshold is 1.5"),
        ({"max_detections_per_class": 0}, "max_detections_per_class is 0"),
        ({"max_detections_per_class": 200}, "above max_total_detections"),
        ({"soft_nms_sigma": -1.0}, "soft_nms_sigma is -1"),
        ({"soft_nms_sigma": 0.5, "use_hard_nms": True}, "contradicts soft_nms_sigma"),
        ({"use_class_agnostic_nms": True, "max_classes_per_detection": 2}, "not supported"),
        ({"use_combined_nms": True}, "cannot change the coordinate frame"),
        (
            {
                "use_combined_nms": True,
                "change_coordinate_frame": False,
                "use_class_agnostic_nms": True,
            },
            "suppresses per class",
        ),
        (
            {"use_combined_nms": True, "change_coordinate_frame": False, "soft_nms_sigma": 0.5},
            "no soft suppression",
        ),
    ],
)
def test_settings_that_cannot_be_honored_are_refused(settings: dict[str, Any], message):
    with pytest.raises(HoldfastError, match=message) as refusal:
        Suppression(**settings)
    assert refusal.value.fix


def test_detections_can_be_exported(tmp_path):
    suppression = Suppression(max_detections_per_class=2, max_total_detections=3)

    class Exported(tf.Module):
        @tf.function(
            input_signature=[tf.TensorSpec([None, None, 4]), tf.TensorSpec([None, None, 5])]
        )
        def detect(self, boxes: tf.Tensor, scores: tf.Tensor) -> dict[str, tf.Tensor]:
            found: Detections = suppression.detections(boxes, scores)
            return {"boxes": found.boxes, "scores": found.scores, "classes": found.classes}

    module = Exported()
    tf.saved_model.save(module, str(tmp_path))
    random = np.random.default_rng(0)
    corners = np.sort(random.random((2, 9, 2, 2), np.float32), axis=-2).reshape(2, 9, 4)
    scores = tf.constant(random.random((2, 9, 5), np.float32))
    expected = suppression.detections(tf.constant(corners), scores)
    loaded = tf.saved_model.load(str(tmp_path)).detect(tf.constant(corners), scores)
    for name, values in loaded.items():
        np.testing.assert_array_equal(values, getattr(expected, name))

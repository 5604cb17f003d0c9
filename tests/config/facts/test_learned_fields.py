"""What detectors learn beyond boxes and classes."""

from __future__ import annotations

import pytest

from holdfast.config.facts.learned_fields import learned_fields
from holdfast.config.facts.networks import detector_of
from holdfast.config.schema.model import DetectionModel
from holdfast.config.text.decode import decode

MASKS = "second_stage_box_predictor { mask_rcnn_box_predictor { predict_instance_masks: true } }"


@pytest.mark.parametrize(
    ("model", "learned"),
    [
        ("ssd { }", set()),
        ("ssd { use_confidences_as_targets: true }", {"confidences"}),
        ("faster_rcnn { }", set()),
        ("faster_rcnn { number_of_stages: 3 }", set()),
        (f"faster_rcnn {{ number_of_stages: 2 {MASKS} }}", set()),
        (f"faster_rcnn {{ number_of_stages: 3 {MASKS} }}", {"masks"}),
        ("center_net { object_detection_task { } }", set()),
        ("center_net { mask_estimation_task { } }", {"masks"}),
        (
            "center_net { keypoint_estimation_task { } keypoint_estimation_task { } }",
            {"keypoints"},
        ),
    ],
)
def test_what_a_detector_learns(model, learned):
    assert learned_fields(detector_of(decode(model, DetectionModel).message)) == learned

"""What `check` says of a CenterNet's settings, and that the builder agrees."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.models.detectors.center_net.small_centers import (
    ALL_TASKS,
    BOXES,
    DOG_KEYPOINTS,
    FOCAL,
    FOLDER,
    L1,
    MASKS,
    center_net,
    keypoints,
)

from holdfast.config.validate.center_net_fields import check_center_net
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_detector import build_detector

HIGHEST = (
    "argmax_postprocessing: true per_keypoint_offset: true "
    'candidate_ranking_mode: "gaussian_weighted_const"'
)
# Where, what is said, and the arguments of the config.
REFUSED = {
    "densepose_estimation_task": ("DensePose", {"tasks": BOXES + "densepose_estimation_task { }"}),
    "track_estimation_task": ("tracking", {"tasks": BOXES + "track_estimation_task { }"}),
    "temporal_offset_task": ("between frames", {"tasks": BOXES + "temporal_offset_task { }"}),
    "deepmac_mask_estimation": ("Deep-MAC", {"tasks": BOXES + "deepmac_mask_estimation { }"}),
    "object_detection_task": ("needs a task", {"tasks": MASKS}),
    "object_detection_task.localization_loss": (
        "compares boxes",
        {"tasks": BOXES.replace("l1_localization_loss", "weighted_giou")},
    ),
    "object_center_params.use_labeled_classes": (
        "not read",
        {"centers": "use_labeled_classes: true"},
    ),
    "object_center_params.min_box_overlap_iou": (
        "not between 0 and 1",
        {"centers": "min_box_overlap_iou: 1.5"},
    ),
    "object_center_params.keypoint_weights_for_center": (
        "exactly one keypoint task",
        {"centers": "keypoint_weights_for_center: [1.0, 1.0, 1.0]"},
    ),
    "feature_extractor.channel_means": (
        "2 values",
        {"extractor": 'type: "mobilenet_v2" channel_means: [1.0, 2.0]'},
    ),
    "feature_extractor.upsampling_interpolation": (
        "no interpolation 'cubic'",
        {"extractor": 'type: "mobilenet_v2_fpn" upsampling_interpolation: "cubic"'},
    ),
    "mask_estimation_task.classification_loss": (
        "Dice",
        {"tasks": BOXES + MASKS.replace("weighted_sigmoid", "weighted_dice_classification_loss")},
    ),
    "keypoint_estimation_task[0].predict_depth": (
        "depth of keypoints",
        {"tasks": BOXES + keypoints(more="predict_depth: true")},
    ),
    "keypoint_estimation_task[0].candidate_ranking_mode": (
        "no ranking 'nearest'",
        {"tasks": BOXES + keypoints(more='candidate_ranking_mode: "nearest"')},
    ),
    "keypoint_estimation_task[0].argmax_postprocessing": (
        "one class",
        {"tasks": BOXES + keypoints(more=HIGHEST)},
    ),
    "keypoint_estimation_task[0].offset_head_params": (
        "2 num_filters for 1 kernel_sizes",
        {
            "tasks": BOXES
            + keypoints(more="offset_head_params { num_filters: [8, 8] kernel_sizes: 3 }")
        },
    ),
    "keypoint_estimation_task[1].task_name": (
        "two keypoint tasks",
        {"tasks": BOXES + keypoints("dog") + DOG_KEYPOINTS},
    ),
    "keypoint_label_map_path": (
        "no class 'cat' with keypoints",
        {"tasks": BOXES + keypoints(of_class="cat")},
    ),
}


def problems(config, folder: Path = FOLDER):
    return list(check_center_net(config, folder))


def test_a_config_with_every_task_is_accepted():
    assert problems(center_net(ALL_TASKS)) == []


@pytest.mark.parametrize("path", REFUSED)
def test_what_is_not_built_is_refused_by_name_by_check_and_by_the_builder(path):
    words, arguments = REFUSED[path]
    config = center_net(**arguments)
    found = {each.path: each for each in problems(config) if each.severity == "error"}
    problem = found[f"model.center_net.{path}"]
    assert words in problem.message
    assert problem.fix
    with pytest.raises(HoldfastError):
        build_detector(config)


def test_a_ranking_by_size_needs_boxes():
    config = center_net(keypoints(more='candidate_ranking_mode: "gaussian_weighted"'))
    (problem,) = problems(config)
    assert "needs boxes" in problem.message


@pytest.mark.parametrize(
    ("extractor", "field"),
    [
        ('type: "resnet_v2_50" depth_multiplier: 0.5', "depth_multiplier"),
        ('type: "mobilenet_v2" use_separable_conv: true', "use_separable_conv"),
        ('type: "mobilenet_v2_fpn" use_depthwise: true', "use_depthwise"),
    ],
)
def test_a_setting_that_a_network_does_not_obey_is_warned_of(extractor, field):
    (problem,) = problems(center_net(extractor=extractor))
    assert problem.severity == "warning"
    assert problem.path == f"model.center_net.feature_extractor.{field}"


def test_two_tasks_cannot_share_a_class():
    config = center_net(
        BOXES + keypoints() + DOG_KEYPOINTS.replace('name: "dog"', 'name: "person"', 2)
    )
    assert any("share a class" in each.message for each in problems(config))


def test_a_deviation_of_no_keypoint_is_refused():
    more = 'keypoint_label_to_std { key: "elbow" value: 1.0 }'
    (problem,) = problems(center_net(BOXES + keypoints(more=more)))
    assert "'elbow', which is no keypoint" in problem.message


def test_losses_are_needed():
    config = center_net(BOXES.replace(L1, ""))
    assert [each.message for each in problems(config)] == ["it is missing"]
    assert FOCAL  # the center's is there

"""Configs of small CenterNets, with every task that there is."""

from __future__ import annotations

from pathlib import Path

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode

FOLDER = Path(__file__).parent  # with keypoints.pbtxt
FOCAL = "classification_loss { penalty_reduced_logistic_focal_loss { alpha: 2.0 beta: 4.0 } }"
L1 = "localization_loss { l1_localization_loss { } }"
BOXES = f"object_detection_task {{ {L1} }}"
MASKS = (
    "mask_estimation_task { classification_loss { weighted_sigmoid { } } "
    "mask_height: 5 mask_width: 6 mask_head_params { num_filters: 8 kernel_sizes: 3 } }"
)
MOBILE = 'type: "mobilenet_v2_fpn" depth_multiplier: 0.25'
HOURGLASS = 'type: "hourglass_10"'  # with the fewest layers: quick to trace


def keypoints(name: str = "pose", of_class: str = "person", more: str = "") -> str:
    """Write a task of keypoints."""
    return f"""
    keypoint_label_map_path: "keypoints.pbtxt"
    keypoint_estimation_task {{
      task_name: "{name}" keypoint_class_name: "{of_class}"
      loss {{ {FOCAL} {L1} }}
      keypoint_label_to_std {{ key: "nose" value: 0.5 }}
      offset_peak_radius: 1 num_candidates_per_keypoint: 6
      {more}
    }}
    """


DOG_KEYPOINTS = keypoints("dog", "dog").partition('keypoint_label_map_path: "keypoints.pbtxt"')[2]
DOG_KEYPOINTS = DOG_KEYPOINTS.replace('keypoint_label_to_std { key: "nose" value: 0.5 }', "")
ALL_TASKS = BOXES + keypoints(more="per_keypoint_offset: true") + DOG_KEYPOINTS + MASKS


def center_net(
    tasks: str = BOXES,
    extractor: str = MOBILE,
    *,
    size: tuple[int, int] = (64, 64),
    num_classes: int = 3,
    centers: str = "",
) -> TrainEvalPipelineConfig:
    """Make a config; its label map of keypoints is found wherever the test runs."""
    height, width = size
    text = f"""
    model {{ center_net {{
      num_classes: {num_classes}
      feature_extractor {{ {extractor} }}
      image_resizer {{ fixed_shape_resizer {{ height: {height} width: {width} }} }}
      object_center_params {{
        {FOCAL} max_box_predictions: 7 {centers}
        center_head_params {{ num_filters: 8 kernel_sizes: 3 }}
      }}
      {tasks}
    }} }}
    """
    config, problems, _ = decode(text, TrainEvalPipelineConfig)
    assert not problems, problems
    return config.replace(folder=str(FOLDER))

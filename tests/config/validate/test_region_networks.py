from __future__ import annotations

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.validate.region_networks import check_region_networks
from holdfast.errors import HoldfastError, Problem
from holdfast.models.detectors.build_detector import build_detector

from ..texts import config

TEXT = """
model {
  faster_rcnn {
    num_classes: 3
    image_resizer { fixed_shape_resizer { height: 64 width: 64 } }
    feature_extractor { type: "faster_rcnn_resnet50_keras" }
    first_stage_anchor_generator {
      grid_anchor_generator { scales: 1.0 aspect_ratios: 1.0 }
    }
    initial_crop_size: 14
    maxpool_kernel_size: 2
    maxpool_stride: 2
    second_stage_box_predictor { mask_rcnn_box_predictor { } }
  }
}
"""
PREDICTOR = "mask_rcnn_box_predictor { }"
EXTRACTOR = 'type: "faster_rcnn_resnet50_keras"'
GROUP_NORM = "group_norm { }"
# What is changed in the text above -> the field that is refused, below model.faster_rcnn.
REFUSED = {
    ("num_classes: 3", "num_classes: 3 context_config { }"): "context_config",
    ("num_classes: 3", "num_classes: 3 inplace_batchnorm_update: true"): "inplace_batchnorm_update",
    ("num_classes: 3", "num_classes: 3 number_of_stages: 4"): "number_of_stages",
    ("num_classes: 3", "num_classes: 3 number_of_stages: 3"): "number_of_stages",
    ("num_classes: 3", "num_classes: 3 second_stage_batch_size: 301"): "second_stage_batch_size",
    (PREDICTOR, "rfcn_box_predictor { }"): "second_stage_box_predictor.rfcn_box_predictor",
    (PREDICTOR, "convolutional_box_predictor { }"): (
        "second_stage_box_predictor.convolutional_box_predictor"
    ),
    (PREDICTOR, "mask_rcnn_box_predictor { predict_keypoints: true }"): (
        "second_stage_box_predictor.mask_rcnn_box_predictor.predict_keypoints"
    ),
    (PREDICTOR, f"mask_rcnn_box_predictor {{ fc_hyperparams {{ {GROUP_NORM} }} }}"): (
        "second_stage_box_predictor.mask_rcnn_box_predictor.fc_hyperparams.group_norm"
    ),
    (EXTRACTOR, f"{EXTRACTOR} first_stage_features_stride: 8"): (
        "feature_extractor.first_stage_features_stride"
    ),
    (EXTRACTOR, 'type: "faster_rcnn_resnet50" first_stage_features_stride: 32'): (
        "feature_extractor.first_stage_features_stride"
    ),
    (EXTRACTOR, f"{EXTRACTOR} conv_hyperparams {{ }}"): "feature_extractor.conv_hyperparams",
    (EXTRACTOR, f"{EXTRACTOR} fpn {{ }}"): "feature_extractor.fpn",
    (EXTRACTOR, 'type: "faster_rcnn_resnet50_fpn_keras" fpn { } pad_to_multiple: 64'): (
        "feature_extractor.pad_to_multiple"
    ),
}


def judged(*change: str) -> list[Problem]:
    text = TEXT.replace(*change) if change else TEXT
    assert not change or text != TEXT
    return list(check_region_networks(config(text=text)))


def test_a_network_that_can_be_built_gives_nothing_to_say():
    assert judged() == []
    assert judged(EXTRACTOR, 'type: "faster_rcnn_resnet50" first_stage_features_stride: 8') == []
    pyramid = 'type: "faster_rcnn_resnet50_fpn_keras" fpn { } conv_hyperparams { }'
    assert judged(EXTRACTOR, pyramid) == []
    assert list(check_region_networks(TrainEvalPipelineConfig())) == []


@pytest.mark.parametrize(("change", "path"), REFUSED.items(), ids=REFUSED.values())
def test_a_setting_that_no_part_obeys_is_refused_by_check_and_by_the_builder(change, path):
    (problem,) = judged(*change)
    assert problem.severity == "error"
    assert problem.path == f"model.faster_rcnn.{path}"
    assert problem.fix
    with pytest.raises(HoldfastError):
        build_detector(config(text=TEXT.replace(*change)))


@pytest.mark.parametrize("name", ["faster_rcnn_nas", "faster_rcnn_pnas"])
def test_a_network_that_is_known_and_not_built_is_refused_with_the_nearest(name):
    text = TEXT.replace(EXTRACTOR, f'type: "{name}"')
    with pytest.raises(HoldfastError, match=f"does not build {name}") as caught:
        build_detector(config(text=text))
    assert "faster_rcnn_inception_resnet_v2" in caught.value.fix


def test_r_fcn_is_refused_with_the_nearest():
    (problem,) = judged(PREDICTOR, "rfcn_box_predictor { }")
    assert problem.message == "Holdfast does not build R-FCN"
    assert "Faster R-CNN on the same extractor" in problem.fix

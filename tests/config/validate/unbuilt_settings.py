"""Settings of a single-stage detector that are read and not built: changes of the usual config."""

from __future__ import annotations

_CLASSES = "num_classes: 3"
_PREDICTOR = "num_layers_before_predictor: 4"
_FEATURES = "use_depthwise: true"
_FOCAL = "weighted_sigmoid_focal { gamma: 2.0 alpha: 0.25 }"
_SHARED = f"weight_shared_convolutional_box_predictor {{ depth: 128 {_PREDICTOR} }}"
_CODER = "faster_rcnn_box_coder { y_scale: 10 x_scale: 10 height_scale: 5 width_scale: 5 }"
_PYRAMID = "fpn { min_level: 3 max_level: 7 additional_layer_depth: 128 }"
_CONVERTER = "score_converter: SIGMOID"

Change = tuple[str, str]

# Path below model.ssd -> what to replace.
UNBUILT: dict[str, tuple[Change, ...]] = {
    "mask_head_config": ((_CLASSES, f"{_CLASSES} mask_head_config {{ }}"),),
    "explicit_background_class": ((_CLASSES, f"{_CLASSES} explicit_background_class: true"),),
    "box_coder.keypoint_box_coder": ((_CODER, "keypoint_box_coder { num_keypoints: 2 }"),),
    "post_processing.calibration_config.sigmoid_calibration": (
        (_CONVERTER, f"{_CONVERTER} calibration_config {{ sigmoid_calibration {{ }} }}"),
    ),
    "feature_extractor.replace_preprocessor_with_placeholder": (
        (_FEATURES, f"{_FEATURES} replace_preprocessor_with_placeholder: true"),
    ),
    "feature_extractor.use_hardswish": ((_FEATURES, f"{_FEATURES} use_hardswish: true"),),
    "feature_extractor.bifpn.combine_method": (
        ('"ssd_mobilenet_v2_fpn_keras"', '"ssd_efficientnet-b0_bifpn_keras"'),
        (
            _PYRAMID,
            "bifpn { min_level: 3 max_level: 7 num_iterations: 1 num_filters: 64 "
            'combine_method: "product" }',
        ),
    ),
    "feature_extractor.conv_hyperparams.group_norm": (
        ("activation: RELU_6", "activation: RELU_6 group_norm { }"),
    ),
    "box_predictor.mask_rcnn_box_predictor": ((_SHARED, "mask_rcnn_box_predictor { }"),),
    "box_predictor.weight_shared_convolutional_box_predictor.score_converter": (
        (_PREDICTOR, f"{_PREDICTOR} score_converter: SIGMOID"),
    ),
    "box_predictor.weight_shared_convolutional_box_predictor.conv_hyperparams.group_norm": (
        (_PREDICTOR, f"{_PREDICTOR} conv_hyperparams {{ group_norm {{ }} }}"),
    ),
    "loss.equalization_loss": (
        ("localization_loss {", "equalization_loss { weight: 1.0 } localization_loss {"),
    ),
    "loss.expected_loss_weights": (
        ("localization_loss {", "expected_loss_weights: EXPECTED_SAMPLING localization_loss {"),
    ),
    "loss.classification_loss.weighted_dice_classification_loss": (
        (_FOCAL, "weighted_dice_classification_loss { }"),
    ),
}

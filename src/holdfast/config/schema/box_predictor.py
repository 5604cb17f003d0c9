"""Box predictors: the heads that turn features into boxes, classes and masks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from holdfast.config.schema.hyperparams import Hyperparams
from holdfast.config.schema.message import Message, OneOfs


@dataclass(frozen=True, kw_only=True, repr=False)
class BoxPredictor(Message):
    """Exactly one kind of head."""

    oneofs: ClassVar[OneOfs] = {
        "box_predictor_oneof": (
            "convolutional_box_predictor",
            "mask_rcnn_box_predictor",
            "rfcn_box_predictor",
            "weight_shared_convolutional_box_predictor",
        ),
    }

    convolutional_box_predictor: ConvolutionalBoxPredictor | None = None
    mask_rcnn_box_predictor: MaskRCNNBoxPredictor | None = None
    rfcn_box_predictor: RfcnBoxPredictor | None = None
    weight_shared_convolutional_box_predictor: WeightSharedConvolutionalBoxPredictor | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ConvolutionalBoxPredictor(Message):
    """SSD head: separate convolutions for each feature map."""

    conv_hyperparams: Hyperparams | None = None
    min_depth: int = 0
    max_depth: int = 0
    num_layers_before_predictor: int = 0
    use_dropout: bool = True
    dropout_keep_probability: float = 0.8
    kernel_size: int = 1
    box_code_size: int = 4
    apply_sigmoid_to_scores: bool = False
    class_prediction_bias_init: float = 0.0
    use_depthwise: bool = False
    box_encodings_clip_range: BoxEncodingsClipRange | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class BoxEncodingsClipRange(Message):
    """Bounds that box encodings are clipped to."""

    min: float = 0.0
    max: float = 0.0


class PredictorScoreConverter(IntEnum):
    """Score conversion inside the head, at inference."""

    IDENTITY = 0
    SIGMOID = 1


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightSharedConvolutionalBoxPredictor(Message):
    """RetinaNet head: one tower shared by all levels."""

    conv_hyperparams: Hyperparams | None = None
    apply_conv_hyperparams_to_heads: bool = False
    apply_conv_hyperparams_pointwise: bool = False
    num_layers_before_predictor: int = 0
    depth: int = 0
    kernel_size: int = 3
    box_code_size: int = 4
    class_prediction_bias_init: float = 0.0
    use_dropout: bool = False
    dropout_keep_probability: float = 0.8
    share_prediction_tower: bool = False
    use_depthwise: bool = False
    score_converter: PredictorScoreConverter = PredictorScoreConverter.IDENTITY
    box_encodings_clip_range: BoxEncodingsClipRange | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class MaskRCNNBoxPredictor(Message):
    """Second-stage head: boxes, classes and, if asked for, masks and keypoints."""

    fc_hyperparams: Hyperparams | None = None
    use_dropout: bool = False
    dropout_keep_probability: float = 0.5
    box_code_size: int = 4
    conv_hyperparams: Hyperparams | None = None
    predict_instance_masks: bool = False
    mask_prediction_conv_depth: int = 256
    predict_keypoints: bool = False
    mask_height: int = 15
    mask_width: int = 15
    mask_prediction_num_conv_layers: int = 2
    masks_are_class_agnostic: bool = False
    share_box_across_classes: bool = False
    convolve_then_upsample_masks: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class RfcnBoxPredictor(Message):
    """Position-sensitive head of R-FCN."""

    conv_hyperparams: Hyperparams | None = None
    num_spatial_bins_height: int = 3
    num_spatial_bins_width: int = 3
    depth: int = 1024
    box_code_size: int = 4
    crop_height: int = 12
    crop_width: int = 12

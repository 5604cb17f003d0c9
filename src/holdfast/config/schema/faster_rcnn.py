"""Faster R-CNN and Mask R-CNN."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.box_predictor import BoxPredictor
from holdfast.config.schema.feature_pyramid import FeaturePyramidNetworks
from holdfast.config.schema.hyperparams import Hyperparams
from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.config.schema.losses import ClassificationLoss, HardExampleMiner
from holdfast.config.schema.message import Message
from holdfast.config.schema.post_processing import PostProcessing


class AttentionPosition(IntEnum):
    """After which layer context attention is added."""

    ATTENTION_DEFAULT = 0
    POST_BOX_CLASSIFIER = 1
    POST_RPN = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class FasterRcnn(Message):
    """Two stages: region proposals, then a classifier on each region; with masks, Mask R-CNN."""

    number_of_stages: int = 2
    num_classes: int = 0
    image_resizer: ImageResizer | None = None
    feature_extractor: FasterRcnnFeatureExtractor | None = None
    first_stage_anchor_generator: AnchorGenerator | None = None
    first_stage_atrous_rate: int = 1
    first_stage_box_predictor_conv_hyperparams: Hyperparams | None = None
    first_stage_box_predictor_kernel_size: int = 3
    first_stage_box_predictor_depth: int = 512
    first_stage_minibatch_size: int = 256
    first_stage_positive_balance_fraction: float = 0.5
    first_stage_nms_score_threshold: float = 0.0
    first_stage_nms_iou_threshold: float = 0.7
    first_stage_max_proposals: int = 300
    first_stage_localization_loss_weight: float = 1.0
    first_stage_objectness_loss_weight: float = 1.0
    initial_crop_size: int = 0
    maxpool_kernel_size: int = 0
    maxpool_stride: int = 0
    second_stage_box_predictor: BoxPredictor | None = None
    second_stage_batch_size: int = 64
    second_stage_balance_fraction: float = 0.25
    second_stage_post_processing: PostProcessing | None = None
    second_stage_localization_loss_weight: float = 1.0
    second_stage_classification_loss_weight: float = 1.0
    second_stage_mask_prediction_loss_weight: float = 1.0
    hard_example_miner: HardExampleMiner | None = None
    second_stage_classification_loss: ClassificationLoss | None = None
    inplace_batchnorm_update: bool = False
    use_matmul_crop_and_resize: bool = False
    clip_anchors_to_image: bool = False
    use_matmul_gather_in_matcher: bool = False
    use_static_balanced_label_sampler: bool = False
    use_static_shapes: bool = False
    resize_masks: bool = True
    use_static_shapes_for_eval: bool = False
    use_partitioned_nms_in_first_stage: bool = True
    return_raw_detections_during_predict: bool = False
    use_combined_nms_in_first_stage: bool = False
    output_final_box_features: bool = False
    output_final_box_rpn_features: bool = False
    context_config: Context | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Context(Message):
    """Attention over stored features of other frames (Context R-CNN)."""

    max_num_context_features: int = 2000
    attention_bottleneck_dimension: int = 2048
    attention_temperature: float = 0.01
    context_feature_length: int = 2057
    use_self_attention: bool = False
    use_long_term_attention: bool = True
    self_attention_in_sequence: bool = False
    num_attention_heads: int = 1
    num_attention_layers: int = 1
    attention_position: AttentionPosition = AttentionPosition.POST_BOX_CLASSIFIER


@dataclass(frozen=True, kw_only=True, repr=False)
class FasterRcnnFeatureExtractor(Message):
    """The network under a Faster R-CNN."""

    type: str = ""
    first_stage_features_stride: int = 16
    batch_norm_trainable: bool = False
    conv_hyperparams: Hyperparams | None = None
    override_base_feature_extractor_hyperparams: bool = False
    pad_to_multiple: int = 32
    fpn: FeaturePyramidNetworks | None = None

"""Single-stage detectors: SSD, RetinaNet, EfficientDet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.box_coder import BoxCoder
from holdfast.config.schema.box_predictor import BoxPredictor
from holdfast.config.schema.feature_pyramid import (
    BidirectionalFeaturePyramidNetworks,
    FeaturePyramidNetworks,
)
from holdfast.config.schema.hyperparams import Hyperparams
from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.config.schema.losses import Loss
from holdfast.config.schema.matcher import Matcher, RegionSimilarityCalculator
from holdfast.config.schema.message import Message, OneOfs
from holdfast.config.schema.post_processing import PostProcessing


@dataclass(frozen=True, kw_only=True, repr=False)
class Ssd(Message):
    """Anchors on feature maps, one pass."""

    num_classes: int = 0
    image_resizer: ImageResizer | None = None
    feature_extractor: SsdFeatureExtractor | None = None
    box_coder: BoxCoder | None = None
    matcher: Matcher | None = None
    similarity_calculator: RegionSimilarityCalculator | None = None
    encode_background_as_zeros: bool = False
    negative_class_weight: float = 1.0
    box_predictor: BoxPredictor | None = None
    anchor_generator: AnchorGenerator | None = None
    post_processing: PostProcessing | None = None
    normalize_loss_by_num_matches: bool = True
    normalize_loc_loss_by_codesize: bool = False
    loss: Loss | None = None
    freeze_batchnorm: bool = False
    inplace_batchnorm_update: bool = False
    add_background_class: bool = True
    explicit_background_class: bool = False
    use_confidences_as_targets: bool = False
    implicit_example_weight: float = 1.0
    return_raw_detections_during_predict: bool = False
    mask_head_config: SsdMaskHead | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class SsdMaskHead(Message):
    """A mask head on a single-stage detector."""

    mask_height: int = 15
    mask_width: int = 15
    masks_are_class_agnostic: bool = True
    mask_prediction_conv_depth: int = 256
    mask_prediction_num_conv_layers: int = 2
    convolve_then_upsample_masks: bool = False
    mask_loss_weight: float = 5.0
    mask_loss_sample_size: int = 16
    conv_hyperparams: Hyperparams | None = None
    initial_crop_size: int = 15


@dataclass(frozen=True, kw_only=True, repr=False)
class SsdFeatureExtractor(Message):
    """The network under a single-stage detector."""

    oneofs: ClassVar[OneOfs] = {
        "feature_pyramid_oneof": (
            "fpn",
            "bifpn",
        ),
    }

    type: str = ""
    depth_multiplier: float = 1.0
    min_depth: int = 16
    conv_hyperparams: Hyperparams | None = None
    override_base_feature_extractor_hyperparams: bool = False
    pad_to_multiple: int = 1
    use_explicit_padding: bool = False
    use_depthwise: bool = False
    fpn: FeaturePyramidNetworks | None = None
    bifpn: BidirectionalFeaturePyramidNetworks | None = None
    replace_preprocessor_with_placeholder: bool = False
    num_layers: int = 6
    spaghettinet_arch_name: str = ""
    use_hardswish: bool = False

"""CenterNet: heatmap detectors and their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.config.schema.losses import ClassificationLoss, LocalizationLoss, Loss
from holdfast.config.schema.message import Message
from holdfast.config.schema.post_processing import PostProcessing
from holdfast.config.schema.preprocessor import JitterMode


class LossNormalize(IntEnum):
    """What a mask loss is divided by."""

    NORMALIZE_AUTO = 0
    NORMALIZE_GROUNDTRUTH_COUNT = 1
    NORMALIZE_BALANCED = 3


class AugmentedSelfSupervisionLoss(IntEnum):
    """The self-supervision loss of Deep-MAC."""

    LOSS_UNSET = 0
    LOSS_DICE = 1
    LOSS_MSE = 2
    LOSS_KL_DIV = 3


class FeatureConsistencyType(IntEnum):
    """How Deep-MAC feature consistency is computed."""

    CONSISTENCY_DEFAULT_LAB = 0
    CONSISTENCY_FEATURE_MAP = 1


class FeatureConsistencyComparison(IntEnum):
    """Where Deep-MAC feature consistency is compared."""

    COMPARISON_DEFAULT_GAUSSIAN = 0
    COMPARISON_NORMALIZED_DOTPROD = 1


@dataclass(frozen=True, kw_only=True, repr=False)
class CenterNet(Message):
    """Objects as peaks of a heatmap, and the tasks read off at the peaks."""

    num_classes: int = 0
    feature_extractor: CenterNetFeatureExtractor | None = None
    image_resizer: ImageResizer | None = None
    use_depthwise: bool = False
    compute_heatmap_sparse: bool = False
    object_detection_task: ObjectDetection | None = None
    object_center_params: ObjectCenterParams | None = None
    keypoint_label_map_path: str = ""
    keypoint_estimation_task: tuple[KeypointEstimation, ...] = ()
    mask_estimation_task: MaskEstimation | None = None
    densepose_estimation_task: DensePoseEstimation | None = None
    track_estimation_task: TrackEstimation | None = None
    temporal_offset_task: TemporalOffsetEstimation | None = None
    deepmac_mask_estimation: DeepMACMaskEstimation | None = None
    post_processing: PostProcessing | None = None
    output_prediction_dict: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class PredictionHeadParams(Message):
    """Filters and kernel sizes of a head, layer by layer."""

    num_filters: tuple[int, ...] = ()
    kernel_sizes: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class ObjectDetection(Message):
    """Box size and offset at each peak."""

    task_loss_weight: float = 1.0
    offset_loss_weight: float = 1.0
    scale_loss_weight: float = 0.1
    localization_loss: LocalizationLoss | None = None
    scale_head_params: PredictionHeadParams | None = None
    offset_head_params: PredictionHeadParams | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ObjectCenterParams(Message):
    """The heatmap of object centers."""

    object_center_loss_weight: float = 1.0
    classification_loss: ClassificationLoss | None = None
    heatmap_bias_init: float = -2.19
    min_box_overlap_iou: float = 0.7
    max_box_predictions: int = 100
    use_labeled_classes: bool = False
    keypoint_weights_for_center: tuple[float, ...] = ()
    center_head_params: PredictionHeadParams | None = None
    peak_max_pool_kernel_size: int = 3


@dataclass(frozen=True, kw_only=True, repr=False)
class KeypointEstimation(Message):
    """One keypoint task: heatmap, offset, regression."""

    task_name: str = ""
    task_loss_weight: float = 1.0
    loss: Loss | None = None
    keypoint_class_name: str = ""
    keypoint_label_to_std: Mapping[str, float] = field(default_factory=dict)
    keypoint_regression_loss_weight: float = 1.0
    keypoint_heatmap_loss_weight: float = 1.0
    keypoint_offset_loss_weight: float = 1.0
    heatmap_bias_init: float = -2.19
    keypoint_candidate_score_threshold: float = 0.1
    num_candidates_per_keypoint: int = 100
    peak_max_pool_kernel_size: int = 3
    unmatched_keypoint_score: float = 0.1
    box_scale: float = 1.2
    candidate_search_scale: float = 0.3
    candidate_ranking_mode: str = "min_distance"
    score_distance_offset: float = 1.0
    score_distance_multiplier: float = 0.1
    std_dev_multiplier: float = 1.0
    offset_peak_radius: int = 0
    per_keypoint_offset: bool = False
    predict_depth: bool = False
    per_keypoint_depth: bool = False
    keypoint_depth_loss_weight: float = 1.0
    clip_out_of_frame_keypoints: bool = False
    rescore_instances: bool = False
    rescoring_threshold: float = 0.0
    gaussian_denom_ratio: float = 0.1
    argmax_postprocessing: bool = False
    heatmap_head_params: PredictionHeadParams | None = None
    offset_head_params: PredictionHeadParams | None = None
    regress_head_params: PredictionHeadParams | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class MaskEstimation(Message):
    """Semantic masks cropped to boxes."""

    task_loss_weight: float = 1.0
    classification_loss: ClassificationLoss | None = None
    mask_height: int = 256
    mask_width: int = 256
    score_threshold: float = 0.5
    heatmap_bias_init: float = -2.19
    mask_head_params: PredictionHeadParams | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class DensePoseEstimation(Message):
    """Body parts and surface coordinates."""

    task_loss_weight: float = 1.0
    class_id: int = 0
    loss: Loss | None = None
    num_parts: int = 24
    part_loss_weight: float = 1.0
    coordinate_loss_weight: float = 1.0
    upsample_to_input_res: bool = True
    heatmap_bias_init: float = -2.19


@dataclass(frozen=True, kw_only=True, repr=False)
class TrackEstimation(Message):
    """Identity embeddings for tracking."""

    task_loss_weight: float = 1.0
    num_track_ids: int = 0
    reid_embed_size: int = 128
    num_fc_layers: int = 1
    classification_loss: ClassificationLoss | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class TemporalOffsetEstimation(Message):
    """Displacement to the previous frame."""

    task_loss_weight: float = 1.0
    localization_loss: LocalizationLoss | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class DeepMACMaskEstimation(Message):
    """Deep-MAC masks for classes without mask labels."""

    classification_loss: ClassificationLoss | None = None
    task_loss_weight: float = 1.0
    dim: int = 256
    pixel_embedding_dim: int = 16
    allowed_masked_classes_ids: tuple[int, ...] = ()
    mask_size: int = 32
    mask_num_subsamples: int = -1
    use_xy: bool = True
    network_type: str = "hourglass52"
    use_instance_embedding: bool = True
    num_init_channels: int = 64
    predict_full_resolution_masks: bool = False
    postprocess_crop_size: int = 256
    max_roi_jitter_ratio: float = 0.0
    jitter_mode: JitterMode = JitterMode.DEFAULT
    box_consistency_loss_weight: float = 0.0
    feature_consistency_threshold: float = 0.4
    feature_consistency_dilation: int = 2
    feature_consistency_loss_weight: float = 0.0
    box_consistency_loss_normalize: LossNormalize = LossNormalize.NORMALIZE_AUTO
    box_consistency_tightness: bool = False
    feature_consistency_warmup_steps: int = 0
    feature_consistency_warmup_start: int = 0
    feature_consistency_type: FeatureConsistencyType = (
        FeatureConsistencyType.CONSISTENCY_DEFAULT_LAB
    )
    feature_consistency_comparison: FeatureConsistencyComparison = (
        FeatureConsistencyComparison.COMPARISON_DEFAULT_GAUSSIAN
    )
    use_only_last_stage: bool = False
    augmented_self_supervision_max_translation: float = 0.0
    augmented_self_supervision_flip_probability: float = 0.0
    augmented_self_supervision_loss_weight: float = 0.0
    augmented_self_supervision_warmup_start: int = 0
    augmented_self_supervision_warmup_steps: int = 0
    augmented_self_supervision_loss: AugmentedSelfSupervisionLoss = (
        AugmentedSelfSupervisionLoss.LOSS_DICE
    )
    augmented_self_supervision_scale_min: float = 1.0
    augmented_self_supervision_scale_max: float = 1.0
    pointly_supervised_keypoint_loss_weight: float = 0.0
    ignore_per_class_box_overlap: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class CenterNetFeatureExtractor(Message):
    """The network under a CenterNet."""

    type: str = ""
    channel_means: tuple[float, ...] = ()
    channel_stds: tuple[float, ...] = ()
    bgr_ordering: bool = False
    use_depthwise: bool = False
    depth_multiplier: float = 1.0
    use_separable_conv: bool = False
    upsampling_interpolation: str = "nearest"

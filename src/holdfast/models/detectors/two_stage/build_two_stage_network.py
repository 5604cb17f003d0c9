"""Turn the config's blocks on the network into the parts of a detector of two stages."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from holdfast.config.facts.anchor_counts import anchors_per_location
from holdfast.config.facts.extractors import Extractor
from holdfast.config.facts.networks import taken_levels
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.box_predictor import BoxPredictor, MaskRCNNBoxPredictor
from holdfast.config.schema.faster_rcnn import FasterRcnn, FasterRcnnFeatureExtractor
from holdfast.config.schema.feature_pyramid import FeaturePyramidNetworks
from holdfast.config.validate.region_networks import unbuilt_settings
from holdfast.errors import HoldfastError
from holdfast.models.backbones.backbone import Backbone
from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.backbones.dense_regions import dense_regions
from holdfast.models.backbones.generation import Generation
from holdfast.models.backbones.pyramid_backbone import PyramidBackbone
from holdfast.models.backbones.region_chain import RegionChain
from holdfast.models.backbones.resnet_v1 import default_settings
from holdfast.models.backbones.split_networks import SPLIT_NETWORKS
from holdfast.models.build_network import build_layer_settings
from holdfast.models.detectors.two_stage.two_stage_network import TwoStageNetwork
from holdfast.models.heads.region_box import RegionBoxHead
from holdfast.models.heads.region_mask import RegionMaskHead
from holdfast.models.heads.region_proposal import RegionProposalHead
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.layers.separable import plain
from holdfast.models.necks.fpn import Fpn
from holdfast.models.part_names import LegacyNames


def build_two_stage_network(config: FasterRcnn, known: Extractor) -> TwoStageNetwork:
    """Make all parts with weights; known: what the config's `type` stands for."""
    extractor = config.feature_extractor or FasterRcnnFeatureExtractor()
    if known.nearest is not None:
        raise HoldfastError(
            f"Holdfast does not build {extractor.type}.", fix=f'Use type: "{known.nearest}".'
        )
    for problem in unbuilt_settings(config):
        raise HoldfastError(f"{problem.path}: {problem.message}.", fix=f"{problem.fix}.")
    network = (_pyramid if known.neck == "fpn" else _split_network)(extractor, known)
    predictor = _predictor(config.second_stage_box_predictor)
    return TwoStageNetwork(
        backbone=network.of_images,
        proposal_head=_proposal_head(config, network.of_images),
        region_extractor=network.of_regions,
        box_head=_box_head(predictor, known, config.num_classes),
        mask_head=_mask_head(config, predictor, network.of_regions.channels),
        legacy=LegacyNames(backbone=known.backbone, neck=known.neck or "", head=known.head),
    )


class _Network(NamedTuple):
    of_images: Backbone
    of_regions: RegionChain


def _split_network(config: FasterRcnnFeatureExtractor, known: Extractor) -> _Network:
    network = SPLIT_NETWORKS[known.backbone]
    generation: Generation = "tf1" if known.generation == "tf1" else "tf2"
    settings = _frozen_unless(config.batch_norm_trainable, network.settings(generation))
    stride = config.first_stage_features_stride
    return _Network(
        network.of_images(settings=settings, generation=generation, stride=stride, name="backbone"),
        network.of_regions(settings=settings, generation=generation, name="region_extractor"),
    )


def _pyramid(config: FasterRcnnFeatureExtractor, known: Extractor) -> _Network:
    pyramid = config.fpn or FeaturePyramidNetworks(min_level=2, max_level=6)
    settings = build_layer_settings(config.conv_hyperparams)
    overrides = config.override_base_feature_extractor_hyperparams
    of_base = settings if overrides else default_settings("tf2")
    levels = range(pyramid.min_level, pyramid.max_level + 1)
    taken = taken_levels(levels)
    spec = BACKBONES[known.backbone]
    base = spec.build(
        spec.endpoints("fpn", taken),
        settings=_frozen_unless(config.batch_norm_trainable, of_base),
    )
    settings = _frozen_unless(config.batch_norm_trainable, settings)
    neck = Fpn(
        base.features,
        depth=pyramid.additional_layer_depth,
        num_coarse_levels=len(levels) - len(taken),
        upsamples_smoothed=True,
        settings=settings,
        name="neck",
    )
    return _Network(PyramidBackbone(base, neck, name="backbone"), dense_regions(settings))


def _frozen_unless(trains: bool, settings: LayerSettings) -> LayerSettings:
    """Let batch norm keep its statistics in training unless a config wants it to follow."""
    norm = settings.batch_norm
    return replace(settings, batch_norm=norm and replace(norm, is_frozen=not trains))


def _proposal_head(config: FasterRcnn, backbone: Backbone) -> RegionProposalHead:
    generator = config.first_stage_anchor_generator or AnchorGenerator()
    layers = range(len(backbone.features))
    return RegionProposalHead(
        backbone.features,
        anchors_per_location=[anchors_per_location(generator, layer) for layer in layers],
        settings=build_layer_settings(config.first_stage_box_predictor_conv_hyperparams),
        depth=config.first_stage_box_predictor_depth,
        kernel_size=config.first_stage_box_predictor_kernel_size,
        dilation=config.first_stage_atrous_rate,
        name="proposal_head",
    )


def _predictor(config: BoxPredictor | None) -> MaskRCNNBoxPredictor:
    chosen = config and config.chosen("box_predictor_oneof")
    if not isinstance(chosen, MaskRCNNBoxPredictor):
        raise HoldfastError(
            "A detector of two stages needs a mask_rcnn_box_predictor.",
            fix="Write second_stage_box_predictor { mask_rcnn_box_predictor { } }",
        )
    return chosen


def _box_head(config: MaskRCNNBoxPredictor, known: Extractor, num_classes: int) -> RegionBoxHead:
    settings = build_layer_settings(config.fc_hyperparams)
    is_keras = known.generation == "tf2"
    return RegionBoxHead(
        num_classes,
        # Of fc_hyperparams, the TF2 half takes the normalization alone.
        settings=plain(settings) if is_keras else settings,
        use_bias=is_keras or settings.use_bias,
        code_size=config.box_code_size,
        share_box_across_classes=config.share_box_across_classes,
        dropout_rate=1.0 - config.dropout_keep_probability if config.use_dropout else 0.0,
        name="box_head",
    )


def _mask_head(
    config: FasterRcnn, predictor: MaskRCNNBoxPredictor, channels: int
) -> RegionMaskHead | None:
    if config.number_of_stages < 3 or not predictor.predict_instance_masks:
        return None
    return RegionMaskHead(
        config.num_classes,
        channels=channels,
        height=predictor.mask_height,
        width=predictor.mask_width,
        settings=build_layer_settings(predictor.conv_hyperparams),
        depth=predictor.mask_prediction_conv_depth,
        num_layers=predictor.mask_prediction_num_conv_layers,
        are_class_agnostic=predictor.masks_are_class_agnostic,
        convolve_then_upsample=predictor.convolve_then_upsample_masks,
        name="mask_head",
    )

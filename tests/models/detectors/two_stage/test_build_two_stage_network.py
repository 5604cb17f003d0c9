"""The parts of two-stage networks are the OD API's, layer by layer, and obey the config."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import pytest

from holdfast.config.facts.extractors import extractor
from holdfast.config.load import load_config
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.models.backbones.keras_order import keras_order
from holdfast.models.detectors.two_stage.build_two_stage_network import build_two_stage_network
from holdfast.models.detectors.two_stage.two_stage_network import TwoStageNetwork
from holdfast.models.layers.batch_norm import FusedBatchNorm, batch_norms
from holdfast.models.layers.penalty import Penalty

RESNET50 = "faster_rcnn_resnet50_v1_640x640_coco17_tpu-8"
INCEPTION_RESNET = "mask_rcnn_inception_resnet_v2_256x256"
INCEPTION_V2 = "faster_rcnn_inception_v2_coco"
SCOPES = {
    "backbone": "model/_feature_extractor_for_proposal_features",
    "region_extractor": "model/_feature_extractor_for_box_classifier_features",
}


def golden_config(shared: Path, folder: str) -> FasterRcnn:
    config = load_config(shared / "goldens" / folder / "pipeline.config").model.faster_rcnn
    assert config is not None
    return config


def made(config: FasterRcnn) -> TwoStageNetwork:
    """Make the parts, without their weights."""
    assert config.feature_extractor is not None
    return build_two_stage_network(config, extractor(config.feature_extractor.type))


def built(config: FasterRcnn, side: int = 64) -> TwoStageNetwork:
    network = made(config)
    maps = network.backbone(keras.KerasTensor((1, side, side, 3)))
    network.proposal_head(maps)
    regions = network.region_extractor(keras.KerasTensor((2, 14, 14, maps[0].shape[-1])))
    network.box_head(regions)
    if network.mask_head is not None:
        network.mask_head(regions)
    return network


def with_extractor(config: FasterRcnn, **fields: object) -> FasterRcnn:
    return config.replace(feature_extractor=config.feature_extractor.replace(**fields))


def description(layer: keras.layers.Layer) -> dict[str, object]:
    """Say of a layer what the goldens say of the OD API's."""
    if isinstance(layer, FusedBatchNorm):
        return {"epsilon": layer.settings.epsilon, "momentum": layer.settings.momentum}
    penalty = layer.kernel_regularizer
    l2 = penalty.l2 / 2 if isinstance(penalty, Penalty) else 0.0
    return {
        "strides": list(layer.strides),
        "dilation_rate": list(layer.dilation_rate),
        "use_bias": layer.use_bias,
        "kernel_regularizer": {"l2": l2},
    }


@pytest.mark.parametrize(
    "folder", [RESNET50, pytest.param(INCEPTION_RESNET, marks=pytest.mark.slow)]
)
def test_layers_are_those_of_the_od_api_in_the_order_of_its_checkpoints(shared, folder):
    known = json.loads((shared / "goldens" / folder / "layers.json").read_text())
    network = built(golden_config(shared, folder))
    for part, scope in SCOPES.items():
        layers = keras_order(network.parts()[part])
        assert len(layers) == sum(name.startswith(f"{scope}/") for name in known)
        for number, layer in enumerate(layers):
            expected = known[f"{scope}/layer_with_weights-{number}"]
            found = description(layer)
            assert found == {key: expected[key] for key in found}, layer.path


def test_batch_norm_keeps_its_statistics_unless_the_config_lets_it_follow(shared):
    config = golden_config(shared, RESNET50)
    assert config.feature_extractor.batch_norm_trainable
    for trains in (True, False):
        network = made(with_extractor(config, batch_norm_trainable=trains))
        for part in SCOPES:
            norms = batch_norms(network.parts()[part])
            assert {norm.settings.is_frozen for norm in norms} == {not trains}


def test_only_tf1_takes_initializer_and_penalty_of_fc_hyperparams(shared):
    for folder, is_plain in ((INCEPTION_V2, False), (RESNET50, True)):
        head = made(golden_config(shared, folder)).box_head
        initializer = head.boxes.dense.kernel_initializer
        assert isinstance(initializer, keras.initializers.GlorotUniform) == is_plain


@pytest.mark.parametrize(("stride", "dilation"), [(8, 2), (16, 1)])
def test_a_tf1_resnet_at_stride_8_dilates_its_third_block(shared, stride, dilation):
    config = with_extractor(
        golden_config(shared, RESNET50),
        type="faster_rcnn_resnet50",
        first_stage_features_stride=stride,
    )
    network = made(config)
    assert network.backbone.features[0].stride == stride
    side = 64 // stride
    assert network.backbone(keras.KerasTensor((1, 64, 64, 3)))[0].shape == (1, side, side, 1024)
    units = [block for block in network.backbone.blocks if block.name.startswith("block3")]
    assert {unit.conv2.convolution.dilation_rate for unit in units} == {(dilation, dilation)}
    # Regions keep their size in tf1, and are halved in tf2.
    region = keras.KerasTensor((1, 7, 7, 1024))
    assert network.region_extractor(region).shape == (1, 7, 7, 2048)


@pytest.mark.parametrize("generation", ["tf1", "tf2"])
@pytest.mark.slow
def test_only_tf2_pads_what_halves_regions_of_inception_resnet(shared, generation):
    suffix = "_keras" if generation == "tf2" else ""
    config = with_extractor(
        golden_config(shared, INCEPTION_RESNET),
        type=f"faster_rcnn_inception_resnet_v2{suffix}",
        first_stage_features_stride=8,
    )
    network = made(config)
    assert network.backbone(keras.KerasTensor((1, 128, 128, 3)))[0].shape == (1, 16, 16, 1088)
    side = {"tf1": 8, "tf2": 9}[generation]
    region = keras.KerasTensor((1, 17, 17, 1088))
    assert network.region_extractor(region).shape == (1, side, side, 1536)


def test_a_pyramid_gives_all_its_levels_and_dense_layers_see_the_regions(shared):
    text = "zoo_configs/tf2/faster_rcnn_resnet50_v1_fpn_640x640_coco17_tpu-8.config"
    config = load_config(shared / "corpus" / text).model.faster_rcnn
    network = made(config)
    assert [feature.stride for feature in network.backbone.features] == [4, 8, 16, 32, 64]
    maps = network.backbone(keras.KerasTensor((1, 128, 128, 3)))
    assert [each.shape for each in maps] == [(1, side, side, 256) for side in (32, 16, 8, 4, 2)]
    assert network.region_extractor(keras.KerasTensor((3, 14, 14, 256))).shape == (3, 1, 1, 1024)
    assert network.region_extractor.channels == 1024
    # override_base_feature_extractor_hyperparams is set: its batch norm is the config's.
    norms = batch_norms(network.backbone)
    assert {norm.settings.epsilon for norm in norms} == {0.001}

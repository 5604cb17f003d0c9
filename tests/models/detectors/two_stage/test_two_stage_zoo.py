"""Every config of two stages that the OD API published has a network, or names the nearest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keras
import pytest

from holdfast.config.facts.extractors import extractor
from holdfast.config.facts.feature_maps import feature_maps
from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.load import load_config
from holdfast.config.schema.model import DetectionModel
from holdfast.config.validate.region_networks import unbuilt_settings
from holdfast.errors import HoldfastError
from holdfast.models.detectors.two_stage.build_two_stage_network import build_two_stage_network


def published(corpus: Path) -> Iterator[tuple[str, DetectionModel]]:
    for path in sorted((corpus / "zoo_configs").glob("*/*.config")):
        model = load_config(path).model
        if model.faster_rcnn is not None:
            yield f"{path.parent.name}/{path.stem}", model


def is_built(model: DetectionModel) -> bool:
    rcnn = model.faster_rcnn
    known = extractor(rcnn.feature_extractor.type)
    return known.nearest is None and not list(unbuilt_settings(rcnn))


def test_what_is_not_built_is_known_by_name(corpus):
    refused = [name for name, model in published(corpus) if not is_built(model)]
    assert refused == [
        "tf1/context_rcnn_resnet101_snapshot_serengeti",
        "tf1/context_rcnn_resnet101_snapshot_serengeti_sync",
        "tf1/faster_rcnn_nas_coco",
        "tf1/rfcn_resnet101_coco",
        "tf1/rfcn_resnet101_pets",
    ]
    for name, model in published(corpus):
        if name in refused:
            rcnn = model.faster_rcnn
            with pytest.raises(HoldfastError):
                build_two_stage_network(rcnn, extractor(rcnn.feature_extractor.type))


@pytest.mark.slow
def test_every_other_has_a_network_with_the_feature_maps_that_check_shows(corpus):
    seen = set()
    for name, model in published(corpus):
        features = model.faster_rcnn.feature_extractor
        if not is_built(model) or str(features) in seen:
            continue
        seen.add(str(features))
        network = build_two_stage_network(model.faster_rcnn, extractor(features.type))
        shape = input_shape(model)._replace(height=96, width=160)
        maps = network.backbone(keras.KerasTensor((1, 96, 160, 3)))
        expected = [(each.height, each.width) for each in feature_maps(model, shape)]
        assert [each.shape[1:3] for each in maps] == expected, name
        strides = [each.stride for each in feature_maps(model, shape)]
        assert [each.stride for each in network.backbone.features] == strides, name
        keras.backend.clear_session()
    assert len(seen) >= 12

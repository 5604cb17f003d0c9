"""Real checkpoints and weights fit the CenterNets that they are of."""

from __future__ import annotations

import pytest

from holdfast.checkpoints.legacy.legacy_reader import open_checkpoint
from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.checkpoints.variable_matching import match
from holdfast.config.load import load_config
from holdfast.models.detectors.build_detector import build_detector

KERAS = "weights/imagenet_resnet50/resnet50_no_top_float16.weights.h5"


@pytest.mark.slow
def test_the_zoos_mobilenet_maps_whole(corpus):
    detector = build_detector(load_config(corpus / "user_configs" / "user315.config"))
    checkpoint = open_checkpoint(corpus / "checkpoint_indexes" / "checkpoint57")
    assert match(detector, checkpoint, "full").is_whole
    of_features = [name for name in checkpoint.shapes if "/_feature_extractor/" in name]
    for kind in ("detection", "fine_tune"):
        assert set(match(detector, checkpoint, kind).loaded) == set(of_features)
    backbone = match(detector, checkpoint, "classification").loaded
    assert all("/_base_model/" in name for name in backbone)
    assert len(backbone) == 260


@pytest.mark.slow
def test_keras_resnet_fits_as_it_is(corpus, shared):
    detector = build_detector(load_config(corpus / "user_configs" / "user216.config"))
    report = load_checkpoint(detector, shared / KERAS, kind="classification")
    assert len(report.loaded) == 318
    assert report.is_whole
    assert report.changes == ()  # the network is fed blue, green, red, as Keras trained it
    assert detector.settings.preprocessing.normalization.is_reversed

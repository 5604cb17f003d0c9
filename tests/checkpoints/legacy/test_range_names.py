"""Ranges of the TF1 half's quantized checkpoints find their quantizers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from holdfast.checkpoints.legacy.legacy_reader import open_checkpoint
from holdfast.checkpoints.legacy.range_names import STEP
from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.checkpoints.variable_matching import match
from holdfast.config.load import load_config
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.layers.fake_quantization import fake_quantizers

from ..bundles import write_bundle

DELAY = 48000
V1, V2 = "ssd_mobilenet_v1_quantized_300x300_coco14_sync", "ssd_mobilenet_v2_quantized_300x300_coco"
INDEXES = {V1: 19, V2: 20}


@pytest.fixture(scope="module")
def detectors(corpus):
    """The zoo's quantized detectors, each built once."""
    return cache(
        lambda name: build_detector(load_config(corpus / f"zoo_configs/tf1/{name}.config"))
    )


@pytest.fixture(scope="module", params=INDEXES)
def detector_and_index(request, corpus, detectors):
    number = INDEXES[request.param]
    index = open_checkpoint(corpus / f"checkpoint_indexes/checkpoint{number:02d}")
    return detectors(request.param), index


def test_every_observed_range_of_a_real_quantized_index_has_its_place(detector_and_index):
    detector, index = detector_and_index
    report = match(detector, index, "full")
    assert report.missing == ()
    assert report.unused == ()
    observed = {
        name for name in index.ranges if "weights_quant" not in name and name != STEP
    }  # a kernel's range follows from its values
    assert observed
    assert observed <= set(report.loaded)
    assert not observed & set(report.other)
    filled = {id(variable) for variable in report.variables.values()}
    ranges = [each for quantizer in fake_quantizers(detector) for each in quantizer.variables]
    assert [each.path for each in ranges if id(each) not in filled] == []


def test_a_checkpoint_that_does_not_say_since_when_counts_as_quantized(detector_and_index):
    detector, index = detector_and_index
    report = match(detector, index, "full")
    if STEP in index.ranges:
        assert STEP in report.loaded
    else:
        (implied,) = report.implied
        assert (implied.name, implied.value) == (STEP, DELAY)
        assert any("counts as quantized" in change for change in report.changes)


def test_a_kind_that_leaves_heads_out_leaves_their_ranges_and_the_step_out(detector_and_index):
    detector, index = detector_and_index
    report = match(detector, index, "detection")
    assert not any("BoxPredictor" in name or name == STEP for name in report.loaded)
    assert any(name.endswith("act_quant/min") for name in report.loaded)


def test_values_of_ranges_are_read(detectors, tmp_path):
    detector = detectors(V2)
    scope = "FeatureExtractor/MobilenetV2/expanded_conv_2/post_activation_bypass_quant"
    values = {f"{scope}/min": np.float32(-3.0), f"{scope}/max": np.float32(4.0)}
    kernel = "FeatureExtractor/MobilenetV2/Conv/weights"
    write_bundle(tmp_path / "model", {**values, kernel: np.zeros((3, 3, 3, 32), np.float32)})
    load_checkpoint(detector, tmp_path / "model")
    (found,) = [each for each in fake_quantizers(detector) if "conv_2/sum_quant" in each.path]
    assert (float(found.min.value), float(found.max.value)) == (-3.0, 4.0)
    assert int(detector.clock.step.value) == DELAY

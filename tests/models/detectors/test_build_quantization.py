"""A config that asks for quantization gets a quantized network, and others the same as ever."""

from __future__ import annotations

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.overrides import apply_overrides
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.build_quantization import build_quantization
from holdfast.models.layers.fake_quantization import fake_quantizers

from .small_configs import small_config, small_stages


def asked(config: TrainEvalPipelineConfig, **fields) -> TrainEvalPipelineConfig:
    overrides = {f"graph_rewriter.quantization.{name}": value for name, value in fields.items()}
    changed, problems = apply_overrides(config, overrides)
    assert not problems
    return changed


def test_every_field_is_obeyed():
    config = asked(
        small_config("ssd", 64, 64), delay=7, weight_bits=4, activation_bits=6, symmetric=True
    )
    settings = build_quantization(config)
    assert settings.clock.delay == 7
    assert (settings.weight_bits, settings.activation_bits) == (4, 6)
    assert settings.is_symmetric


def test_a_config_that_does_not_ask_gets_no_quantizer_and_no_variable():
    config = small_config("ssd", 64, 64)
    assert build_quantization(config) is None
    plain = build_detector(config)
    assert plain.clock is None
    assert fake_quantizers(plain) == []
    assert "quantization" not in plain.parts()
    quantized = build_detector(asked(config, delay=0))
    assert [each.path for each in quantized.trainable_variables] == [
        each.path for each in plain.trainable_variables
    ]
    extra = {each.path for each in quantized.variables} - {each.path for each in plain.variables}
    assert len(extra) == 2 * len(fake_quantizers(quantized)) + 1  # ranges, and the step


def test_two_stages_are_refused():
    with pytest.raises(HoldfastError, match="Only single-stage detectors"):
        build_detector(asked(small_stages("faster_rcnn", 64, 64), delay=0))

"""Turn a config's `graph_rewriter.quantization` into how a network is quantized."""

from __future__ import annotations

from holdfast.config.facts.networks import detector_of
from holdfast.config.facts.quantization import QUANTIZABLE, asked_quantization
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import HoldfastError
from holdfast.models.layers.quantization_clock import QuantizationClock, QuantizationSettings


def build_quantization(config: TrainEvalPipelineConfig) -> QuantizationSettings | None:
    """Say how the config's network is quantized; None where it does not ask for it."""
    asked = asked_quantization(config)
    if asked is None:
        return None
    if not isinstance(detector_of(config.model or DetectionModel()), QUANTIZABLE):
        raise HoldfastError(
            "Only single-stage detectors train quantized.",
            fix="Remove graph_rewriter, and quantize when exporting.",
        )
    return QuantizationSettings(
        clock=QuantizationClock(asked.delay, name="quantization"),
        weight_bits=asked.weight_bits,
        activation_bits=asked.activation_bits,
        is_symmetric=asked.symmetric,
    )

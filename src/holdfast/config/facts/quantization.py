"""What a config says about quantization-aware training."""

from __future__ import annotations

from holdfast.config.schema.pipeline_config import Quantization, TrainEvalPipelineConfig
from holdfast.config.schema.ssd import Ssd

QUANTIZABLE = (Ssd,)  # the detectors that can be trained quantized
BITS = range(2, 17)  # of which fake quantization knows how to round


def asked_quantization(config: TrainEvalPipelineConfig) -> Quantization | None:
    """Give what `graph_rewriter` asks for; None where it asks for nothing."""
    rewriter = config.graph_rewriter
    return None if rewriter is None else rewriter.quantization

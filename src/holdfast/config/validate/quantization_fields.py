"""What a config asks of quantization-aware training that cannot be done, or would not be."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.facts.networks import detector_of
from holdfast.config.facts.quantization import BITS, QUANTIZABLE, asked_quantization
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import Quantization, TrainEvalPipelineConfig
from holdfast.errors import Problem

_PATH = "graph_rewriter.quantization"


def check_quantization(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield what `graph_rewriter { quantization }` gets wrong."""
    asked = asked_quantization(config)
    if asked is None:
        return
    detector = detector_of(config.model or DetectionModel())
    if detector is not None and not isinstance(detector, QUANTIZABLE):
        yield Problem(
            path=_PATH,
            severity="error",
            message="only single-stage detectors train quantized",
            fix="remove graph_rewriter, and quantize when exporting",
        )
    yield from _check_bits(asked)
    yield from _check_delay(asked, config)


def _check_bits(asked: Quantization) -> Iterator[Problem]:
    for name in ("weight_bits", "activation_bits"):
        bits = getattr(asked, name)
        if bits not in BITS:
            yield Problem(
                path=f"{_PATH}.{name}",
                severity="error",
                message=f"{bits} bits: fake quantization rounds to {BITS[0]} to {BITS[-1]}",
                fix=f"set {name}: 8, which is what exported files have",
            )
        elif bits != 8:
            yield Problem(
                path=f"{_PATH}.{name}",
                severity="warning",
                message=f"the network learns with {bits} bits, and exported files have 8",
                fix=f"set {name}: 8 to train what is exported",
            )


def _check_delay(asked: Quantization, config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    if asked.delay < 0:
        yield Problem(
            path=f"{_PATH}.delay",
            severity="error",
            message=f"delay is {asked.delay}, and steps count from 0",
            fix="set delay: 0 to quantize from the first step on",
        )
    steps = config.train_config.num_steps if config.train_config is not None else 0
    if steps and asked.delay >= steps:
        yield Problem(
            path=f"{_PATH}.delay",
            severity="warning",
            message=f"quantization would begin at step {asked.delay}, and training ends after "
            f"{steps}: this run trains in floating point and only observes ranges",
            fix=f"set delay to less than {steps}, for example {steps // 2}",
        )

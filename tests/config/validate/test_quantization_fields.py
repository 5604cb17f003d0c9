"""What `holdfast check` says of graph_rewriter."""

from __future__ import annotations

from pathlib import Path

from holdfast.config.facts.quantization import asked_quantization
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.summary import summarize
from holdfast.config.text.decode import decode
from holdfast.config.validate.quantization_fields import check_quantization


def config(fields: str, model: str = "ssd { }", steps: int = 100) -> TrainEvalPipelineConfig:
    text = (
        f"model {{ {model} }} train_config {{ num_steps: {steps} }} "
        f"graph_rewriter {{ quantization {{ {fields} }} }}"
    )
    return decode(text, TrainEvalPipelineConfig).message


def judged(*arguments, **keywords) -> list[tuple[str, str]]:
    problems = check_quantization(config(*arguments, **keywords))
    return [(each.severity, each.path.rpartition(".")[2]) for each in problems]


def test_quantization_of_a_single_stage_detector_is_fine():
    assert judged("delay: 50 weight_bits: 8 activation_bits: 8 symmetric: true") == []


def test_other_detectors_are_refused():
    assert judged("delay: 50", model="faster_rcnn { }") == [("error", "quantization")]
    assert judged("delay: 50", model="center_net { }") == [("error", "quantization")]


def test_bits_that_cannot_be_rounded_to_are_errors_and_odd_ones_warnings():
    assert judged("delay: 5 weight_bits: 1") == [("error", "weight_bits")]
    assert judged("delay: 5 activation_bits: 17") == [("error", "activation_bits")]
    assert judged("delay: 5 activation_bits: 16") == [("warning", "activation_bits")]


def test_a_delay_behind_the_end_is_a_warning_and_a_negative_one_an_error():
    assert judged("delay: 100") == [("warning", "delay")]
    assert judged("") == [("warning", "delay")]  # the OD API's default is 500000
    assert judged("delay: 99") == []
    assert judged("delay: -1") == [("error", "delay")]


def test_without_quantization_there_is_nothing_to_say():
    plain = decode("model { ssd { } } graph_rewriter { }", TrainEvalPipelineConfig).message
    assert asked_quantization(plain) is None
    assert list(check_quantization(plain)) == []


def test_the_summary_says_what_happens_to_the_network():
    rows = {row.label: row.text for row in summarize(config("delay: 48 weight_bits: 4"), Path())}
    assert rows["quantization"] == (
        "from step 48 on, kernels 4 bits, activations 8; ranges are observed from the start"
    )

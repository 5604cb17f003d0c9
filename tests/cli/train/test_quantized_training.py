"""From `train --quantize` to a file of integers, without an image on the way."""

from __future__ import annotations

import json

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from ..commands import holdfast, words

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def quantized(trained, tmp_path_factory):
    """A run of two steps, the second of which is rounded."""
    run = tmp_path_factory.mktemp("quantized") / "run"
    begun = train(trained, run, 2, "--quantize")
    assert begun.code == 0, begun.err
    return run


def train(trained, run, steps, *options):
    plan = ("--plan", trained.run / "plan.json")
    return holdfast("train", trained.config, "--run", run, "--steps", steps, *plan, *options)


def test_the_config_of_the_run_asks_for_it_by_itself(quantized):
    assert "delay: 1" in (quantized / "pipeline.config").read_text()
    checked = holdfast("check", quantized / "pipeline.config")
    assert "from step 1 on, kernels 8 bits, activations 8" in words(checked.out)


def test_a_run_is_resumed_with_its_own_delay_and_not_without(trained, quantized):
    refused = train(trained, quantized, 3)
    assert refused.code == 2
    assert "graph_rewriter.quantization.delay" in words(refused.err)
    resumed = train(trained, quantized, 10, "--quantize")
    assert resumed.code == 0, resumed.err


def test_int8_needs_no_images_of_the_training_data(quantized, tmp_path):
    nowhere = ("--set", "train_input_reader.tf_record_input_reader.input_path=nowhere")
    exported = holdfast(
        *("export", quantized, "--format", "tflite", "--precision", "int8"),
        *("--out", tmp_path / "out", "--json", *nowhere),
    )
    assert exported.code == 0, exported.err
    assert "ranges are those that the training observed" in words(exported.err)
    assert json.loads(exported.out)["ok"]
    model = Interpreter(model_path=str(tmp_path / "out" / "model.tflite"))
    (image,) = model.get_input_details()
    assert image["dtype"] is np.uint8
    operations = {each["op_name"] for each in model._get_ops_details()}
    assert {"CONV_2D", "TFLite_Detection_PostProcess"} <= operations
    kinds = {each["index"]: each["dtype"] for each in model.get_tensor_details()}
    convolved = [each for each in model._get_ops_details() if each["op_name"] == "CONV_2D"]
    assert {kinds[each["outputs"][0]] for each in convolved} == {np.int8}

"""A tiny network: predicted, and measured in a process of its own."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from tests.training.small_training import config_text

from holdfast.config.load import load_config
from holdfast.memory.devices.allocation import has_arena
from holdfast.memory.plan import BatchShape, StepSettings
from holdfast.memory.predict.optimized_graph import optimized_graph
from holdfast.memory.predict.prediction import Prediction, Surroundings, predict
from holdfast.memory.predict.traced_step import TracedStep
from holdfast.memory.search.measured import measure
from holdfast.training.fitting.tracing import trace_step

SETTINGS = StepSettings(micro_batch=16)
SHAPE = BatchShape(height=256, width=256, boxes=20)


@pytest.fixture(scope="module")
def config_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planning") / "pipeline.config"
    path.write_text(config_text(deep=True))
    return path


@pytest.fixture(scope="module")
def config(config_path: Path) -> Any:
    return load_config(config_path)


@pytest.fixture(scope="module")
def traced(config: Any) -> TracedStep:
    return trace_step(config, SETTINGS, SHAPE)


@pytest.fixture(scope="module")
def plain(traced: TracedStep) -> Prediction:
    return predict(traced, Surroundings(has_arena=has_arena()))


def test_the_prediction_is_what_a_process_holds(config_path: Path, plain: Prediction) -> None:
    request = {
        "config": str(config_path),
        "settings": asdict(SETTINGS),
        "shape": asdict(SHAPE),
    }
    command = (sys.executable, "-m", "holdfast.training.fitting.probe_step")
    measured = measure(command, request)
    assert plain.peak_bytes == pytest.approx(measured.peak_bytes, rel=0.12)


def test_items_add_up_and_name_blocks(plain: Prediction) -> None:
    assert sum(plain.items.values()) == plain.peak_bytes
    assert all(size >= 0 for size in plain.items.values())
    assert plain.block_bytes["backbone/expanded_conv_1"] > 0
    assert plain.items["weights"] < plain.items["optimizer slots"] + plain.items["averages"]
    assert [each.bytes for each in plain.largest_activations] == sorted(
        (each.bytes for each in plain.largest_activations), reverse=True
    )
    assert all(each.layer.startswith("backbone/") for each in plain.largest_activations)


def test_gradients_of_the_penalty_are_not_kept_through_the_step(traced: TracedStep) -> None:
    # They depend on the weights alone: unless they wait for the others, they are made first.
    penalties = [
        each
        for each in traced.graph.get_operations()
        if each.type == "L2Loss" and each.inputs[0].op.type == "ReadVariableOp"
    ]
    assert penalties
    for penalty in penalties:
        reads = penalty.inputs[0].op.control_inputs
        awaited = {before.type for each in reads for before in each.control_inputs}
        assert "Conv2DBackpropFilter" in awaited, penalty.name


def test_the_network_waits_for_the_targets(traced: TracedStep) -> None:
    nodes = {node.name: node for node in optimized_graph(traced.graph).nodes}

    def all_before(name: str) -> set[str]:
        found, left = set(), [name]
        while left:
            node = nodes[left.pop()]
            new = {each.node for each in node.inputs}.union(node.waits_for) - found
            found |= new
            left.extend(new)
        return {nodes[each].operation for each in found}

    (first,) = (
        name for name in nodes if name.endswith("backbone_1/Conv_1/convolution_1/convolution")
    )
    assert "LoopCond" in all_before(first)  # boxes are compared with anchors in a loop


def test_blocks_computed_again_are_not_kept_and_cost_operations(
    config: Any, plain: Prediction
) -> None:
    traced = trace_step(config, replace(SETTINGS, rematerialize=("all",)), SHAPE)
    again = predict(traced)
    assert sum(again.block_bytes.values()) < 0.6 * sum(plain.block_bytes.values())
    assert 1.2 * plain.step_flops < again.step_flops < 1.6 * plain.step_flops


def test_pieces_need_less_and_compute_the_same(config: Any, plain: Prediction) -> None:
    pieces = predict(trace_step(config, StepSettings(micro_batch=4, accumulation=4), SHAPE))
    assert sum(pieces.block_bytes.values()) < 0.4 * sum(plain.block_bytes.values())
    assert pieces.step_flops == pytest.approx(plain.step_flops, rel=0.05)


def test_a_gpu_holds_no_graph_and_is_said_to_be_unmeasured(traced: TracedStep) -> None:
    found = predict(traced, Surroundings(device="gpu"))
    assert "runtime" not in found.items
    assert any("not measured on a GPU" in each for each in found.assumptions)

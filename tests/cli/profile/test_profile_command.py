"""The command `profile`, on real traces: everything adds up, and xprof sees the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from holdfast.profiling.operation_names import kind_name
from holdfast.profiling.step_profiler import newest_trace
from holdfast.profiling.time_shares import own_pieces
from holdfast.profiling.trace_file import read_trace
from holdfast.runs.run import Run

from ..commands import holdfast, words


@pytest.fixture(scope="module")
def profiled(trained, tmp_path_factory) -> dict:
    out = tmp_path_factory.mktemp("profile") / "trace"
    ended = holdfast(
        *("profile", trained.config, "--steps", 4, "--warm-up", 2, "--out", out, "--json")
    )
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_layers_and_all_else_add_up_to_the_step(profiled):
    for rows in (profiled["layers"], profiled["operations"]):
        assert sum(row["share"] for row in rows) == pytest.approx(1.0, abs=0.01)
        seconds = sum(row["seconds"] for row in rows)
        assert seconds == pytest.approx(profiled["step_seconds"], rel=0.01)
        assert [row["seconds"] for row in rows] == sorted(
            (row["seconds"] for row in rows), reverse=True
        )


def test_layers_optimizer_loss_and_waiting_have_names(profiled):
    names = {row["name"] for row in profiled["layers"]}
    assert {"optimizer", "targets and loss", "waiting for input", "between operations"} <= names
    assert {"backbone/Conv2d_0/convolution", "backbone/Conv2d_13/pointwise"} <= names
    assert any(name.startswith("head/") for name in names)
    named = {row["name"]: row["seconds"] for row in profiled["layers"]}
    network = sum(named[name] for name in names if name.startswith(("backbone/", "head/")))
    assert network > named["targets and loss"] > 0
    assert named["waiting for input"] == pytest.approx(profiled["input_seconds"])


def test_operations_are_named_by_what_they_do(profiled):
    names = {row["name"] for row in profiled["operations"]}
    assert {"Conv2D", "Conv2DBackpropFilter"} <= names
    assert not any(name.startswith("_") for name in names)


def test_memory_at_the_peak_is_told_by_layer_beside_the_plan(profiled):
    held = sum(row["bytes"] for row in profiled["layers"])
    assert held == pytest.approx(profiled["peak_bytes"], rel=0.01)
    assert sum(profiled["items"].values()) == pytest.approx(profiled["peak_bytes"], rel=0.01)
    assert any(name.startswith("activations/backbone/") for name in profiled["items"])
    assert profiled["plan"]["weights"] > 0


def test_xprof_reads_the_trace_and_finds_the_same_times(profiled):
    file = newest_trace(Path(profiled["trace"]))
    from xprof.convert.raw_to_tool_data import xspace_to_tool_data

    document, _ = xspace_to_tool_data([str(file)], "framework_op_stats", {})
    table = json.loads(document)[0]
    columns = [column["id"] for column in table["cols"]]
    rows = [
        dict(zip(columns, (each["v"] for each in row["c"]), strict=True)) for row in table["rows"]
    ]
    theirs = {row["operation"]: row["total_self_time"] * 1e-6 for row in rows}
    ours: Counter[str] = Counter()
    for thread in read_trace(file).threads:
        for piece in own_pieces(thread):
            ours[piece.key[0]] += piece.end - piece.start
    largest = [name for name, _ in ours.most_common(50) if name.startswith("gradient_tape/det")]
    assert len(largest) > 5
    for name in largest:
        assert ours[name] == pytest.approx(theirs[name], rel=0.05), name


def test_a_run_is_profiled_as_it_was_trained_and_does_not_change(trained, tmp_path):
    before = sorted(path.stat().st_mtime_ns for path in trained.run.rglob("*"))
    ended = holdfast(
        *("profile", trained.run, "--steps", 2, "--warm-up", 1, "--out", tmp_path, "--top", 3)
    )
    assert ended.code == 0, ended.err
    text = words(ended.out)
    assert "(mean of 2 steps)" in text
    assert "layers ms a step share at the peak" in text
    assert "memory at the peak plan, worst batch measured, these steps" in text
    assert f"tensorboard --logdir {tmp_path}" in text
    assert sorted(path.stat().st_mtime_ns for path in trained.run.rglob("*")) == before


def test_kinds_have_the_names_of_tensorflow():
    assert kind_name("_MklNativeFusedBatchNormV3") == "FusedBatchNormV3"


def test_some_steps_of_a_run_are_traced_into_it(trained, tmp_path):
    run = tmp_path / "run"
    ended = holdfast(
        *("train", trained.config, "--run", run, "--steps", 4, "--profile-at", 2),
        *("--evaluate-every", 4),
    )
    assert ended.code == 0, ended.err
    assert "A step takes" in words(ended.out)
    events = [event for event in Run.open(run).read_events() if event.kind == "profile"]
    assert [(event.step, event.values["steps"]) for event in events] == [(4, 3)]
    assert events[0].values["trace"] == "profile"
    assert newest_trace(run / "profile").stat().st_size > 0


def test_a_step_that_never_comes_cannot_be_profiled(trained, tmp_path):
    ended = holdfast(
        *("train", trained.config, "--run", tmp_path / "run", "--steps", 4, "--profile-at", 9)
    )
    assert ended.code == 2
    assert "the training has 4 steps" in ended.err
    assert not (tmp_path / "run").exists()

"""What a run records of how it learns, and that recording changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.training.small_training import config_text, given_plan

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.run import Run
from holdfast.training.loop import train
from holdfast.training.training_settings import TrainingSettings
from holdfast.training.vitals.probe import Probe

STEPS = 4
SETTINGS = TrainingSettings(
    steps=STEPS, deterministic=True, checkpoint_every=2, evaluate_every=1000, vitals_every=2
)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


def trained(data: Path, run: Path, **changes) -> list:
    settings = replace(SETTINGS, **{"plan": given_plan()} | changes)
    config = decode(config_text(deep=True), TrainEvalPipelineConfig).message
    config = config.replace(eval_input_reader=())
    train(config, run, settings=settings, folder=data)
    return list(Run.open(run).read_events())


def losses(events: list) -> np.ndarray:
    return np.array(
        [list(each.values["losses"].values()) for each in events if each.kind == "step"]
    )


def vitals(events: list) -> list:
    return [each for each in events if each.kind == "vitals"]


@pytest.fixture(scope="module")
def recorded(data, tmp_path_factory) -> list:
    return trained(data, tmp_path_factory.mktemp("runs") / "recorded")


@pytest.mark.slow
def test_recording_changes_no_bit_of_a_loss_also_when_resumed(data, recorded, tmp_path):
    silent = trained(data, tmp_path / "silent", vitals_every=None)
    assert not vitals(silent)
    np.testing.assert_array_equal(losses(recorded), losses(silent))
    trained(data, tmp_path / "resumed", steps=2)
    resumed = trained(data, tmp_path / "resumed")
    np.testing.assert_array_equal(losses(resumed), losses(silent))
    before, after = vitals(recorded)[1], vitals(resumed)[1]
    for name in ("layers", "activations", "batch_norm", "scores"):
        assert after.values[name] == before.values[name]


@pytest.mark.slow
def test_pieces_and_blocks_computed_twice_change_no_loss_and_see_the_same(data, recorded, tmp_path):
    planned = given_plan(4, 2)
    blocks = ("backbone/expanded_conv_3", "backbone/expanded_conv_4")
    plan = replace(planned, settings=replace(planned.settings, rematerialize=blocks))
    settings = {"plan": plan, "accumulation": 2}
    silent = trained(data, tmp_path / "silent", vitals_every=None, **settings)
    events = trained(data, tmp_path / "pieces", **settings)
    np.testing.assert_array_equal(losses(events), losses(silent))
    whole, pieces = vitals(recorded)[0].values, vitals(events)[0].values
    assert pieces["images"] == whole["images"] == 8
    assert pieces["classes"] == whole["classes"]
    assert pieces["positives"]["share"] == pytest.approx(whole["positives"]["share"])
    assert pieces["layers"].keys() == whole["layers"].keys()


def test_what_is_recorded_adds_up(recorded):
    first, second = vitals(recorded)
    assert (first.step, second.step) == (2, 4)
    values = first.values
    assert values["steps"] == 2
    assert values["images"] == 8
    groups = {name.split("/")[0] for name in values["layers"]}
    assert (
        groups
        == {"backbone", "neck", "head"}
        == groups | {name.split("/")[0] for name in values["activations"]}
    )
    for each in values["layers"].values():
        assert each["ratio"] == pytest.approx(each["gradient_norm"] / each["weight_norm"])
    for each in values["activations"].values():
        assert 0.0 <= each["dead"] <= each["zeros"] + 0.5 <= 1.5
    # Fresh batch norms have seen two steps at a decay of 0.9: they are far from the batch's.
    assert max(each["log_variance"] for each in values["batch_norm"].values()) > 0.5
    positives, scores = values["positives"], values["scores"]
    assert sum(scores["positives"]) == round(positives["per_image"] * 8)
    assert sum(scores["positives"]) == round(positives["share"] * sum(scores["places"]))
    # Every box has an anchor, but only some anchors are sampled.
    assert 0 < positives["matched_boxes_per_image"] <= positives["boxes_per_image"]
    classes = values["classes"]
    assert sum(classes["matched"].values()) == positives["matched_boxes_per_image"] * 8
    assert sum(classes["looked_at"].values()) == positives["boxes_per_image"] * 8
    assert sum(classes["boxes"].values()) > sum(classes["looked_at"].values())
    assert set(classes["boxes"]) == {"rectangle", "ellipse", "triangle", "star"}


def test_a_look_that_fails_is_told_once_and_ends_nothing(data, tmp_path, monkeypatch):
    def broken(probe: Probe, batch: object) -> None:
        raise ValueError("a part that cannot be looked at")

    monkeypatch.setattr(Probe, "look", broken)
    events = trained(data, tmp_path / "run")
    assert len(losses(events)) == STEPS
    assert not vitals(events)
    notes = [each.values["text"] for each in events if each.kind == "note"]
    assert sum("a part that cannot be looked at" in note for note in notes) == 1

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import holdfast as library
from holdfast.checkpoints.own import saved_checkpoints
from holdfast.runs.run import Run
from holdfast.training.api import evaluate

from .commands import Trained, holdfast, words


def document(*arguments: object) -> dict:
    """Run with --json: standard output has the document and nothing else."""
    finished = holdfast("evaluate", *arguments, "--json")
    assert finished.code == 0, finished.err
    found: dict = json.loads(finished.out)
    return found


def evaluations(trained: Trained) -> dict[int, dict]:
    events = Run.open(trained.run).read_events()
    return {event.step: event.values for event in events if event.kind == "evaluation"}


def test_the_last_checkpoint_of_a_run_scores_as_it_did_in_training(trained):
    found = document(trained.run, "--latest")
    during = evaluations(trained)[4]
    assert found["checkpoint"].endswith("step-00000004")
    assert found["metrics"] == pytest.approx(during["metrics"], rel=1e-6)
    assert found["per_class"] == during["per_class"]
    assert list(found["per_class"]) == ["ellipse", "rectangle", "star", "triangle"]
    assert set(found["per_class"]["star"]) == {"ap", "ap50", "objects"}


def test_by_default_the_best_checkpoint_of_a_run_is_evaluated(trained):
    best = saved_checkpoints.best_of(saved_checkpoints.checkpoints_in(trained.run / "checkpoints"))
    chosen = "eval_config.metrics_set=pascal_voc_detection_metrics"
    finished = holdfast("evaluate", trained.run, "--set", chosen)
    assert finished.code == 0
    said = f"{best.path} (step {best.step}, the best of {trained.run}, moving averages)"
    assert said in finished.out
    assert "PascalBoxes_Precision/mAP@0.5IOU" in finished.out
    for name in ("ellipse", "rectangle", "star", "triangle"):
        assert name in finished.out


def test_a_config_with_a_checkpoint_gives_its_weights_if_it_does_not_want_averages(trained):
    checkpoint = trained.run / "checkpoints" / "step-00000004"
    found = document(
        *(trained.config, "--checkpoint", checkpoint),
        *("--set", "eval_config.use_moving_averages=false"),
    )
    averages = evaluations(trained)[4]["metrics"]["Loss/total_loss"]
    assert found["metrics"]["Loss/total_loss"] != pytest.approx(averages, rel=1e-3)
    assert found["images"] == 4


def test_the_library_has_the_function_of_the_command():
    assert library.evaluate is evaluate


def test_a_checkpoint_of_another_detector_is_refused_by_name(trained):
    finished = holdfast(
        *("evaluate", trained.config, "--checkpoint", trained.run),
        *("--set", "model.ssd.num_classes=7"),
    )
    assert finished.code == 2
    assert "4 of another shape" in words(finished.err)
    assert "first model/head/level_0/classes" in words(finished.err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pipeline.config",), "without a checkpoint there are no weights"),
        (("records",), "is not a run"),
        (("gone.config", "--checkpoint", "run"), "there is no such file"),
        (("pipeline.config", "--checkpoint", "gone"), "There is no checkpoint gone"),
    ],
)
def test_what_cannot_be_evaluated_is_an_error_with_a_fix(trained, monkeypatch, arguments, message):
    monkeypatch.chdir(trained.config.parent)
    finished = holdfast("evaluate", *arguments)
    assert finished.code == 2
    assert message in words(finished.err)


def test_the_command_is_defined_without_tensorflow():
    code = (
        "import sys, holdfast.cli.evaluate_command\n"
        "print(*{'tensorflow', 'numpy'} & set(sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert finished.stdout.split() == []


def test_a_tile_as_large_as_the_image_is_the_image(trained):
    whole = document(trained.run)["metrics"]
    tiled = document(trained.run, "--tile", 96)["metrics"]
    precision = [name for name in whole if name.startswith("Detection")]
    assert {name: tiled[name] for name in precision} == pytest.approx(
        {name: whole[name] for name in precision}, abs=1e-4, nan_ok=True
    )
    assert not any(name.startswith("Loss") for name in tiled)


def test_smaller_tiles_are_detected_in_and_put_together(trained):
    found = document(trained.run, "--tile", 64, "--overlap", 0.25)
    assert "DetectionBoxes_Precision/mAP" in found["metrics"]
    assert list(found["per_class"]) == ["ellipse", "rectangle", "star", "triangle"]


def test_an_overlap_without_tiles_is_refused(trained):
    finished = holdfast("evaluate", trained.run, "--overlap", 0.25)
    assert finished.code == 2
    assert "no tiles are asked for" in words(finished.err)

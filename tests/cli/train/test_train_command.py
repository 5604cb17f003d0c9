"""The command `train` from start to end: what it says, writes and measures."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from holdfast.cli.train.train_command import train
from holdfast.runs.run import Run

from ..commands import holdfast, words


def test_before_the_first_step_it_says_what_will_be_trained_on_what_and_from_where(trained):
    assert trained.finished.code == 0, trained.finished.err
    before = words(trained.finished.out.partition("step 1 of 4")[0])
    for piece in (
        *("architecture SSD", "backbone mobilenet_v1", "batch size 4", "momentum 0.9"),
        *("random_horizontal_flip", "records/train.record-*", "records/val.record-*"),
        *("4, from the start", f"16 images, {trained.boxes} boxes, 4 classes"),
        *("weights fresh weights", "CPU, float32, 4 images a step"),
        "every 2 steps and at the end",
    ):
        assert piece in before


def test_while_it_trains_it_tells_loss_rate_memory_and_scores(trained):
    lines = trained.finished.out.splitlines()
    (first,) = [line for line in lines if line.startswith("step 1 of 4: ")]
    for piece in ("loss ", "localization ", "classification ", "regularization ", "learning rate"):
        assert piece in first
    assert "memory" in first
    assert "the first step took" in first
    told = [line for line in lines if line.startswith("evaluation after step ")]
    assert [line.split(":")[0] for line in told] == [
        "evaluation after step 2",
        "evaluation after step 4",
    ]
    assert all("mAP " in line and "mAP@.50 " in line for line in told)
    assert told[0].endswith("best so far")


def test_at_the_end_it_shows_the_classes_and_what_to_do_next(trained):
    end = trained.finished.out.partition("evaluation after step 4")[2]
    for name in ("DetectionBoxes_Precision/mAP", "ellipse", "rectangle", "star", "triangle"):
        assert name in end
    assert "Done, 4 steps" in end
    assert f"holdfast evaluate {trained.run}" in end
    assert f"tensorboard --logdir {trained.run / 'tensorboard'}" in end


def test_pictures_of_detections_are_in_the_files_of_tensorboard_and_in_the_run(trained):
    import tensorflow as tf

    files = sorted(map(str, (trained.run / "tensorboard").iterdir()))  # one of each process
    values = [
        value
        for record in tf.data.TFRecordDataset(files).as_numpy_iterator()
        for value in tf.compat.v1.Event.FromString(record).summary.value
    ]
    pictures = [value for value in values if value.tag.startswith("detections/")]
    assert [value.tag for value in pictures] == ["detections/0", "detections/1"] * 2
    picture = tf.io.decode_png(pictures[0].tensor.string_val[2])
    assert picture.shape[1] == 2 * 420 + 3 * 10
    assert {"Loss/total_loss", "images_per_second"} <= {value.tag for value in values}
    drawn = sorted(path.relative_to(trained.run) for path in trained.run.glob("pictures/*/*.png"))
    assert [str(path) for path in drawn] == [
        f"pictures/step-0000000{step}/detections-{number}.png"
        for step in (2, 4)
        for number in (0, 1)
    ]


def test_the_plan_is_stored_and_stands_beside_what_was_measured(trained):
    run = Run.open(trained.run)
    plan = json.loads((trained.run / "plan.json").read_text())
    assert plan["fits"]
    assert plan == run.manifest.plan
    assert run.manifest.predicted_peak_bytes == plan["predicted_peak_bytes"]
    assert run.manifest.measured_peak_bytes > 0
    assert "memory" in trained.finished.out


@pytest.mark.slow
def test_a_training_takes_the_way_that_fits(trained, tmp_path):
    plan = json.loads((trained.run / "plan.json").read_text())
    # Less than the plain step needs, but not less than the base.
    limit = plan["base_bytes"] + plan["predicted_peak_bytes"] - 10**6
    command = ("train", trained.config, "--run", tmp_path / "run", "--steps", 2)
    finished = holdfast(*command, "--memory", limit)
    assert finished.code in (0, 1), finished.err
    if finished.code == 1:
        assert "Nothing fits" in words(finished.err)


def test_a_plan_can_be_followed_again(trained, tmp_path):
    plan = json.loads((trained.run / "plan.json").read_text())
    command = ("train", trained.config, "--steps", 1, "--set", "eval_input_reader=[]")
    copy = tmp_path / "plan.json"
    plan["settings"] |= {"micro_batch": 1, "accumulation": 4, "rematerialize": []}
    copy.write_text(json.dumps(plan))
    followed = holdfast(*command, "--run", tmp_path / "other", "--plan", copy)
    assert followed.code == 0, followed.err
    assert "in 4 pieces" in words(followed.out)
    plan["settings"]["micro_batch"] = 3
    copy.write_text(json.dumps(plan))
    refused = holdfast(*command, "--run", tmp_path / "third", "--plan", copy)
    assert refused.code == 2
    assert "batches of 12" in words(refused.err)


def test_the_example_of_the_help_text_has_options_that_exist():
    shown = holdfast("train", "--help").out
    for word in train.__doc__.split("`")[1].split():
        if word.startswith("--"):
            assert word in shown


def test_the_command_is_defined_without_tensorflow():
    code = (
        "import sys, holdfast.cli.train.train_command\n"
        "print(*{'tensorflow', 'numpy'} & set(sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert finished.stdout.split() == []

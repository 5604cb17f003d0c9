from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import holdfast as library
from holdfast.cli.train.train_command import train
from holdfast.runs.run import Run

from ..commands import RATE, holdfast, words


def steps_of(run: Path) -> list[int]:
    return [event.step for event in Run.open(run).read_events() if event.kind == "step"]


# A training from start to end.


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

    (file,) = (trained.run / "tensorboard").iterdir()
    values = [
        value
        for record in tf.data.TFRecordDataset(str(file)).as_numpy_iterator()
        for value in tf.compat.v1.Event.FromString(record).summary.value
    ]
    pictures = [value for value in values if value.tag.startswith("detections/")]
    assert [value.tag for value in pictures] == ["detections/0", "detections/1"] * 2
    picture = tf.io.decode_png(pictures[0].tensor.string_val[2])
    assert picture.shape[1] == 2 * 420 + 3 * 10
    assert {"Loss/total_loss", "images_per_second"} <= {value.tag for value in values}
    files = sorted(path.relative_to(trained.run) for path in trained.run.glob("pictures/*/*.png"))
    assert [str(path) for path in files] == [
        f"pictures/step-0000000{step}/detections-{number}.png"
        for step in (2, 4)
        for number in (0, 1)
    ]


# Going on.


def test_a_finished_run_says_so_and_its_json_stands_alone(trained):
    finished = holdfast("train", trained.config, "--run", trained.run, "--json")
    assert finished.code == 0
    document = json.loads(finished.out)
    assert set(document) >= {
        *("run", "steps", "metrics", "seconds", "predicted_peak_bytes", "measured_peak_bytes"),
    }
    assert (document["run"], document["steps"], document["ended"]) == (str(trained.run), 4, "done")
    assert "DetectionBoxes_Precision/mAP" in document["metrics"]
    assert document["best"]["step"] in (2, 4)
    assert "all 4 are done already" in words(finished.err)


def test_a_run_that_was_moved_with_its_data_goes_on_by_its_own_config(trained, tmp_path):
    shutil.copytree(trained.config.parent, tmp_path / "moved")
    run = tmp_path / "moved" / trained.run.name
    finished = holdfast("train", run / "pipeline.config", "--run", run, "--steps", 5)
    assert finished.code == 0, finished.err
    assert "resuming after step 4 of 5" in words(finished.out)
    assert "weights step 4 of this run" in words(finished.out)
    assert steps_of(run) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (("--set", "train_config.batch_size=8"), "train_config.batch_size: 4 -> 8"),
        (("--seed", 1), "seed: 0 -> 1"),
        (("--class-weights", "auto"), 'class_weights: null -> "auto"'),
    ],
)
def test_a_changed_config_is_refused_with_the_difference(trained, change, difference):
    finished = holdfast("train", trained.config, "--run", trained.run, *change)
    assert finished.code == 2
    assert difference in finished.err
    assert "another --run" in words(finished.err)


def start(*arguments: object) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast", *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_terminated_training_saves_says_how_to_go_on_and_has_code_1(trained, tmp_path):
    run = tmp_path / "run"
    process = start("train", trained.config, "--run", run, "--steps", 100000)
    events = run / "events.jsonl"
    while process.poll() is None and not (events.exists() and "losses" in events.read_text()):
        time.sleep(0.05)
    child = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    numbers = child.read_text().split() if child.exists() else []
    variables = [Path(f"/proc/{number}/environ").read_text() for number in numbers]
    maps = Path(f"/proc/{process.pid}/maps")
    loaded = maps.read_text() if maps.exists() else ""
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate()
    assert process.returncode == 1, err
    done = steps_of(run)[-1]
    assert (run / "checkpoints" / f"step-{done:08d}").is_dir()
    assert "SIGTERM: stopping" in words(out)
    assert "Interrupted, and saved" in out
    assert f"holdfast train {trained.config} --run {run}" in out
    assert "Traceback" not in err
    assert not any(f"/{name}/" in loaded for name in ("tensorflow", "keras", "numpy"))
    for each in variables:  # of the process that trained
        assert "MALLOC_MMAP_THRESHOLD_=65536" in each.split("\0")


def test_an_evaluation_that_was_killed_is_done_by_the_next_process(trained, tmp_path):
    folder = tmp_path / "trained"
    shutil.copytree(trained.config.parent, folder)
    events = folder / "run" / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    evaluations = [line for line in lines if '"kind":"evaluation"' in line]
    events.write_text("".join(line for line in lines if line != evaluations[-1]))
    finished = holdfast("train", folder / "pipeline.config", "--run", folder / "run", "--json")
    assert finished.code == 0, finished.err
    assert "evaluation after step 4" in finished.err
    assert "DetectionBoxes_Precision/mAP" in json.loads(finished.out)["metrics"]
    again = holdfast("train", folder / "pipeline.config", "--run", folder / "run")
    assert "evaluation after step 4" not in again.out


def test_patience_outlives_the_process(trained, tmp_path):
    folder = tmp_path / "trained"
    shutil.copytree(trained.config.parent, folder)
    events = folder / "run" / "events.jsonl"
    name = '"DetectionBoxes_Precision/mAP":'
    events.write_text(re.sub(f"{name}[^,]+", f"{name}1.0", events.read_text(), count=1))
    # The first of two evaluations is now the best that there can be: one was waited for.
    again = ("train", folder / "pipeline.config", "--run", folder / "run", "--steps", 9)
    for _ in range(2):  # what has stopped stays so
        finished = holdfast(*again, "--evaluate-every", 1, "--patience", 2)
        assert finished.code == 0, finished.err
        assert "Stopped early" in finished.out
        assert steps_of(folder / "run") == [1, 2, 3, 4, 5]


# What goes wrong.


def test_a_loss_that_is_no_number_ends_with_code_1_and_the_run_takes_a_mended_config(
    trained, tmp_path
):
    run = tmp_path / "run"
    begun = ("train", trained.config, "--run", run, "--steps", 2, "--evaluate-every", 2)
    failed = holdfast(*begun, "--set", f"{RATE}.learning_rate=1e20")
    assert failed.code == 1
    assert "Loss/regularization_loss is inf" in words(failed.err)
    assert "The batch: scene-" in words(failed.err)
    assert (run / "failed-step-00000001.npz").exists()
    # Nothing was saved yet, so that there is nothing that another config could contradict.
    mended = holdfast(*begun, "--class-weights", "auto", "--accumulate", 2, "--rematerialize")
    assert mended.code == 0, mended.err
    assert "in 2 pieces, activations of blocks computed again, class weights auto" in words(
        mended.out
    )


def test_a_network_that_is_refused_leaves_no_run_behind(trained, tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise library.HoldfastError("This network is not built yet.")

    monkeypatch.setattr("holdfast.training.session.build_detector", refuse)
    finished = holdfast("train", trained.config, "--run", tmp_path / "run")
    assert finished.code == 2
    assert "not built yet" in finished.err
    assert not (tmp_path / "run").exists()


def test_a_refusal_leaves_a_run_that_was_there_before(trained, tmp_path, monkeypatch):
    folder = tmp_path / "trained"
    shutil.copytree(trained.config.parent, folder)
    monkeypatch.setattr("holdfast.training.loop.plan_training", interrupt)
    finished = holdfast("train", folder / "pipeline.config", "--run", folder / "run", "--steps", 9)
    assert finished.code == 130
    assert steps_of(folder / "run") == [1, 2, 3, 4]


def test_memory_that_runs_out_before_the_first_step_is_said_and_has_code_1(
    trained, tmp_path, monkeypatch
):
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 2 GiB: out of memory")

    monkeypatch.setattr("holdfast.training.loop.plan_training", fail)
    finished = holdfast("train", trained.config, "--run", tmp_path / "run")
    assert finished.code == 1
    assert finished.err == "Out of memory: Unable to allocate 2 GiB: out of memory\n"


def test_all_mistakes_of_a_config_are_listed_before_anything_is_done(trained, tmp_path):
    run = tmp_path / "run"
    finished = holdfast(
        *("train", trained.config, "--run", run),
        *("--set", "train_config.merge_multiple_label_boxes=true"),
        *("--set", "eval_config.metrics_set=coco_mask_metrics"),
    )
    assert finished.code == 2
    assert "2 problems" in words(finished.err)
    assert "train_config.merge_multiple_label_boxes" in finished.err
    assert "eval_config.metrics_set[0]" in finished.err
    assert not run.exists()


@pytest.mark.parametrize(
    "wrong", [("--steps", 0), ("--precision", "float64"), ("--keep", 0), ("--set", "nonsense")]
)
def test_wrong_options_have_code_2(trained, tmp_path, wrong):
    assert holdfast("train", trained.config, "--run", tmp_path / "run", *wrong).code == 2


def test_the_library_refuses_what_the_command_refuses(trained, tmp_path):
    config = library.load_config(trained.config, {"train_config.use_multiclass_scores": True})
    with pytest.raises(library.ConfigError, match="use_multiclass_scores"):
        library.train(config, run=tmp_path / "run", folder=trained.config.parent)


# Memory.


def test_the_plan_is_stored_and_stands_beside_what_was_measured(trained):
    run = Run.open(trained.run)
    plan = json.loads((trained.run / "plan.json").read_text())
    assert plan["fits"]
    assert plan == run.manifest.plan
    assert run.manifest.predicted_peak_bytes == plan["predicted_peak_bytes"]
    assert run.manifest.measured_peak_bytes > 0
    assert "memory" in trained.finished.out


def test_a_training_takes_the_way_that_fits_and_its_plan_can_be_followed_again(trained, tmp_path):
    plan = json.loads((trained.run / "plan.json").read_text())
    # Less than the plain step needs, but not less than the base.
    limit = plan["base_bytes"] + plan["predicted_peak_bytes"] - 10**6
    run, command = tmp_path / "run", ("train", trained.config, "--steps", 2, "--evaluate-every", 2)
    finished = holdfast(*command, "--run", run, "--memory", limit)
    assert finished.code in (0, 1), finished.err
    if finished.code == 1:
        assert "Nothing fits" in words(finished.err)
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


# The command itself.


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


# Data that nothing can be learned from.


@pytest.fixture
def typo(trained, tmp_path) -> Path:
    """A config whose label map misspells its only class, with the data of a good one."""
    shutil.copytree(trained.config.parent / "records", tmp_path / "records")
    for cache in (tmp_path / "records").glob(".holdfast-statistics-*"):
        cache.unlink()
    items = "item { id: 1 name: 'stra' } item { id: 4 name: 'triangel' }"
    (tmp_path / "records" / "label_map.pbtxt").write_text(items)
    shutil.copy(trained.config, tmp_path / "pipeline.config")
    return tmp_path / "pipeline.config"


def test_a_label_map_that_fits_no_box_ends_training_before_there_is_a_run(typo, tmp_path):
    finished = holdfast("train", typo, "--run", tmp_path / "run")
    assert finished.code == 2
    said = words(finished.err)
    assert "train_input_reader: no box can be used: the data has" in said
    assert "the label map 'stra', 'triangel'" in said
    assert "'stra' to 'star'" in said
    assert not (tmp_path / "run").exists()


def test_a_program_is_protected_from_it_too(typo, tmp_path):
    config = library.load_config(typo)
    with pytest.raises(library.HoldfastError, match="no box can be used"):
        library.train(config, tmp_path / "run", folder=tmp_path)
    assert not (tmp_path / "run").exists()


def test_a_class_without_a_box_is_a_warning_before_the_training(trained, tmp_path, typo):
    records = tmp_path / "records"
    shutil.copy(trained.config.parent / "records" / "label_map.pbtxt", records)
    with open(records / "label_map.pbtxt", "a") as stream:
        stream.write('item { id: 5 name: "unicorn" }')
    five = "model.ssd.num_classes=5"
    finished = holdfast("train", typo, "--run", tmp_path / "run", "--steps", 1, "--set", five)
    assert finished.code == 0, finished.err
    before = words(finished.out.partition("step 1 of 1")[0])
    assert "warning train_input_reader no box shows 'unicorn' (1 of the 5 classes" in before


def test_a_config_with_wrong_paths_points_at_the_command_that_knows_better_ones(trained, tmp_path):
    config = tmp_path / "elsewhere.config"
    config.write_text(trained.config.read_text())
    finished = holdfast("train", config, "--run", tmp_path / "run")
    assert finished.code == 2
    # A long path may be broken anywhere.
    assert f"`holdfastcheck{config}`endswiththeoptions" in "".join(finished.err.split())


# Ctrl-C before the first step, and a folder that goes away.


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "place",
    [
        "holdfast.cli.quiet.load_strategy",
        "holdfast.cli.train.train_data.print_data",
        "holdfast.training.loop.plan_training",
    ],
)
def test_ctrl_c_during_start_up_ends_with_one_line_and_the_run_can_be_started_again(
    trained, tmp_path, monkeypatch, place
):
    folder = tmp_path / "trained"
    shutil.copytree(trained.config.parent, folder, ignore=shutil.ignore_patterns("run"))
    command = ("train", folder / "pipeline.config", "--run", folder / "run", "--steps", 1)
    with monkeypatch.context() as patched:
        patched.setattr(place, interrupt)
        stopped = holdfast(*command)
    assert stopped.code == 130
    assert stopped.err == "Stopped before the first step: nothing was trained.\n"
    assert not (folder / "run").exists()
    if place.startswith("holdfast.training"):  # the folder of the run was there
        again = holdfast(*command, "--set", "train_config.batch_size=2")
        assert again.code == 0, again.err


@pytest.mark.parametrize("moment", ["save", "finish"])
def test_a_run_folder_that_is_deleted_under_a_training_is_said_and_not_made_again(
    trained, tmp_path, monkeypatch, moment
):
    from holdfast.training.journal import Journal

    folder = tmp_path / "trained"
    shutil.copytree(trained.config.parent, folder)
    usual = getattr(Journal, moment)

    def delete_first(self, *arguments, **keywords):
        shutil.rmtree(folder / "run")
        return usual(self, *arguments, **keywords)

    monkeypatch.setattr(Journal, moment, delete_first)
    finished = holdfast("train", folder / "pipeline.config", "--run", folder / "run", "--steps", 5)
    assert finished.code == 1
    assert "runwasdeletedormovedwhileitwasbeingtrainedin" in "".join(finished.err.split())
    assert not (folder / "run").exists()
    assert (folder / "records" / "label_map.pbtxt").exists()


def test_a_folder_of_checkpoints_that_is_deleted_is_made_again(trained, tmp_path, monkeypatch):
    from holdfast.training.journal import Journal

    folder = tmp_path / "trained"
    shutil.copytree(trained.config.parent, folder)
    usual = Journal.save

    def delete_first(self, session, step):
        shutil.rmtree(folder / "run" / "checkpoints")
        return usual(self, session, step)

    monkeypatch.setattr(Journal, "save", delete_first)
    finished = holdfast("train", folder / "pipeline.config", "--run", folder / "run", "--steps", 5)
    assert finished.code == 0, finished.err
    assert [path.name for path in (folder / "run" / "checkpoints").iterdir()] == ["step-00000005"]

"""What `train` refuses or cannot do: why, with which code, and with nothing left behind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import holdfast as library

from ..commands import RATE, holdfast, steps_of, words


def test_a_loss_that_is_no_number_ends_with_code_1_and_the_run_takes_a_mended_config(
    trained, tmp_path
):
    run = tmp_path / "run"
    begun = ("train", trained.config, "--run", run, "--steps", 2, "--evaluate-every", 2)
    failed = holdfast(*begun, "--set", f"{RATE}.learning_rate=1e20")
    assert failed.code == 1
    assert "Loss/regularization_loss is inf" in words(failed.err)
    assert "The batch: scene-" in words(failed.err)
    assert (run / "capsules" / "step-00000002-not-finite.capsule").exists()
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


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


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

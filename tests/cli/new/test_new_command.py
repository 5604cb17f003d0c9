"""The command `new`: a config of any recipe, in a folder of its own, over nobody's work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.new.new_command import new
from holdfast.config.facts.networks import detector_of
from holdfast.config.load import load_config
from holdfast.config.recipes.recipe_table import RECIPES, find_recipe
from holdfast.projects.project_folder import written_path

from ..commands import holdfast, words
from .new_runs import SYNTHETIC, made, refusal, run
from .pet_datasets import voc


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_written_and_checked(shapes, name):
    document = made(name, "--data", shapes)
    assert document["config"] == f"{name}/pipeline.config"
    assert document["errors"] == document["warnings"] == []
    config = load_config(document["config"])
    assert detector_of(config.model).num_classes == 4
    schedule = document["schedule"]
    assert config.train_config.batch_size == schedule["batch_size"]
    assert config.train_config.batch_size <= document["splits"]["train"]["images"]
    assert config.train_config.num_steps == schedule["num_steps"]


def test_the_example_of_the_help_text_runs_and_says_what_was_made():
    example = new.__doc__.split("`")[1].replace("200@320", "10@64")
    command, *arguments = example.removeprefix("holdfast ").split()
    assert command == "new"
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    recipe = find_recipe("fpnlite_320")
    for part in (
        "now in shapes/shapes_records",
        "star",
        "for evaluation",
        "steps 1000",
        "published: 0.08 for 128 images",
        "random weights",
        "--pretrained",
        recipe.zoo,
        "Next: holdfast train shapes/pipeline.config --run runs/shapes",
    ):
        assert part in words(result.stdout)


def test_options_decide_batch_and_length(shapes):
    document = made("fpnlite_320", "--data", shapes, "--batch-size", 2, "--epochs", 300)
    train = load_config(document["config"]).train_config
    assert train.batch_size == 2
    rate = train.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate
    assert rate.learning_rate_base == pytest.approx(0.08 * 2 / 128)
    images = document["splits"]["train"]["images"]
    assert train.num_steps == pytest.approx(300 * images / 2, abs=100)
    assert "from 1 to" in refusal("fpnlite_320", "--data", shapes, "--batch-size", 11).fix


def test_small_boxes_are_warned_of_and_large_ones_are_not(tmp_path):
    voc(tmp_path / "small", box=(10, 10, 11, 11))  # 1 of 64 pixels
    warned = made("fpnlite_320", "--data", "small", "--out", "one")
    assert "5 x 5 pixels" in warned["warnings"][0]["message"]
    assert warned["warnings"][0]["fix"].startswith("fpnlite_640 sees them at 10 x 10")
    assert made("fpnlite_640", "--data", "small", "--out", "two")["warnings"] == []


def test_a_folder_that_is_in_use_is_refused(shapes, tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.tex").write_text("dear to me")
    assert "not empty" in refusal("fpnlite_320", "--data", shapes, "--out", "used").message
    assert os.listdir("used") == ["thesis.tex"]
    (tmp_path / "file").write_text("")
    assert "is a file" in refusal("fpnlite_320", "--data", shapes, "--out", "file").message


def test_the_same_command_goes_on_and_another_is_refused():
    first = made("fpnlite_320", *SYNTHETIC, "--out", "shapes")
    text = Path("shapes/pipeline.config").read_text()
    again = made("fpnlite_320", *SYNTHETIC, "--out", "shapes")
    assert again["conversion"]["shards_kept"] == len(first["splits"])
    assert Path("shapes/pipeline.config").read_text() == text
    for other in (("fpnlite_640", *SYNTHETIC), ("fpnlite_320", *SYNTHETIC, "--val", 0.3)):
        assert "was made with" in refusal(*other, "--out", "shapes").message
    Path("shapes/pipeline.config").unlink()  # as if it had been killed before
    made("fpnlite_320", *SYNTHETIC, "--out", "shapes")
    assert Path("shapes/pipeline.config").read_text() == text


def test_an_edited_config_is_never_written_over(shapes):
    made("fpnlite_320", "--data", shapes, "--out", "shapes")
    made(
        "fpnlite_320", "--data", shapes, "--out", "shapes", "--batch-size", 2
    )  # not edited: replaced
    path = Path("shapes/pipeline.config")
    assert load_config(path).train_config.batch_size == 2
    edited = path.read_text().replace("batch_size: 2\n", "batch_size: 5\n")
    path.write_text(edited)
    assert "was edited" in refusal("fpnlite_320", "--data", shapes, "--out", "shapes").message
    assert path.read_text() == edited


def test_a_path_that_means_other_files_from_here_is_written_in_full(tmp_path):
    for folder in ("", "out"):
        (tmp_path / folder / "records").mkdir(parents=True)
        (tmp_path / folder / "records" / "train.record").write_text(folder)
    inside = tmp_path / "out" / "records" / "train.record"
    assert written_path("out/records/train.record", Path("out")) == str(inside)
    (tmp_path / "records" / "train.record").unlink()
    assert written_path("out/records/train.record", Path("out")) == "records/train.record"
    assert written_path(str(inside), tmp_path / "out") == "records/train.record"
    assert written_path(str(inside), tmp_path / "elsewhere") == str(inside)
    assert written_path("gs://bucket/train.record", Path("out")) == "gs://bucket/train.record"


def test_epochs_beside_steps_are_refused_instead_of_being_ignored(shapes):
    error = refusal("fpnlite_320", "--data", shapes, "--steps", 7, "--epochs", 2)
    assert "--epochs 2 and --steps 7" in error.message


def test_a_mistake_ends_the_process_with_code_2_and_no_traceback(tmp_path):
    command = [sys.executable, "-m", "holdfast", "new", "fpnlite320", "--data", "nowhere"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert "Did you mean fpnlite_320?" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_project_in_the_store_can_be_checked_where_it_is(store):
    place = "gs://cells/projects/shapes"
    result = run("fpnlite_320", *SYNTHETIC, "--out", place)
    assert result.exit_code == 0, result.output
    said = words(result.output)
    assert f"now in {place}/shapes_records" in said
    assert f"holdfast train {place}/pipeline.config --run runs/shapes" in said
    assert "cache" not in said
    checked = holdfast("check", f"{place}/pipeline.config")
    assert checked.code == 0, checked.out
    again = run("fpnlite_320", *SYNTHETIC, "--out", place)
    assert f"{place} is not empty" in str(again.exception)

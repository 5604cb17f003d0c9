"""`holdfast check` as users run it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ...config.texts import edited, line_of, write_files

HEAVY = ("tensorflow", "keras", "numpy")


def holdfast(
    *arguments: object, folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder; whatever happens, nobody sees a traceback."""
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", *map(str, arguments)],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ("Traceback" in run.stderr) == ("--debug" in arguments), run.stderr
    assert "Traceback" not in run.stdout
    return run


def words(text: str) -> str:
    """Undo the wrapping of lines."""
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a config and its files in `run`."""
    write_files(tmp_path / "run")
    return tmp_path


def rewrite(folder: Path, *replacements: tuple[str, str]) -> str:
    text = edited(*replacements)
    (folder / "run" / "pipeline.config").write_text(text, encoding="utf-8")
    return text


CHECK = ("check", "run/pipeline.config")


# Exit codes and what is shown.


def test_a_trainable_config_exits_with_0_and_a_panel(folder: Path):
    run = holdfast(*CHECK, folder=folder)
    assert (run.returncode, run.stderr) == (0, "")
    shown = words(run.stdout)
    assert "run/pipeline.config" in shown
    assert "40·40·6 + 20·20·6 + 10·10·6 + 5·5·6 + 3·3·6 = 12804" in shown
    assert "train.record (from the config's folder)" in shown
    assert run.stdout.rstrip().endswith("Ready to train")


def test_warnings_alone_exit_with_0_and_are_counted(folder: Path):
    text = rewrite(folder, ("total_steps: 1000", "total_steps: 900"))
    run = holdfast(*CHECK, folder=folder)
    assert run.returncode == 0
    assert f"warning line {line_of('total_steps', text)} train_config.optimizer" in words(
        run.stdout
    )
    assert "→ set total_steps to 1000" in run.stdout
    assert run.stdout.rstrip().endswith("Ready to train, 1 warning")


def test_a_readable_config_with_errors_exits_with_1_and_lists_all_of_them(folder: Path):
    text = rewrite(
        folder,
        ("num_classes: 3", "num_classes: 2"),
        ('"eval.record"', '"PATH_TO_BE_CONFIGURED"'),
        ("total_steps: 1000", "total_steps: 900"),
    )
    run = holdfast(*CHECK, folder=folder)
    assert (run.returncode, run.stderr) == (1, "")
    shown = words(run.stdout)
    assert f"error line {line_of('num_classes', text)} model.ssd.num_classes 2 classes" in shown
    assert f"error line {line_of('PATH_TO', text)} eval_input_reader[0]" in shown
    assert "SSD" in shown
    assert "2 errors, 1 warning These options make it ready" in shown


def test_an_unreadable_config_exits_with_2_and_lists_all_mistakes(folder: Path):
    rewrite(folder, ("num_classes: 3", "num_clases: 3"), ("batch_size: 8", "batch_size: many"))
    run = holdfast(*CHECK, folder=folder)
    assert (run.returncode, run.stderr) == (2, "")
    shown = words(run.stdout)
    assert "error line 3 model.ssd.num_clases" in shown
    assert "→ write `num_classes`" in shown
    assert "`many` is not a whole number" in shown
    assert "architecture" not in shown
    assert shown.endswith("2 errors in run/pipeline.config")


def test_a_missing_file_exits_with_2_and_the_nearest_name(folder: Path):
    run = holdfast("check", "run/pipline.config", folder=folder)
    assert run.returncode == 2
    assert "there is no such file → did you mean run/pipeline.config?" in words(run.stdout)


def test_a_folder_exits_with_2_and_the_config_in_it(folder: Path):
    run = holdfast("check", "run", folder=folder)
    assert run.returncode == 2
    assert "it is a folder → give the file: run/pipeline.config" in words(run.stdout)


def test_a_name_that_the_system_refuses_exits_with_2(folder: Path):
    assert holdfast("check", "a" * 300, folder=folder).returncode == 2


def test_a_binary_file_exits_with_2(folder: Path):
    (folder / "model.ckpt").write_bytes(bytes(range(256)) * 10)
    run = holdfast("check", "model.ckpt", folder=folder)
    assert run.returncode == 2
    assert "it is part of a checkpoint, not a config" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check",), "Missing argument"),
        (("check", "a", "b"), "unexpected extra argument"),
        (("check", "a", "--jsn"), "--json"),
        (("chek", "a"), "Did you mean 'check'"),
    ],
)
def test_a_wrong_command_exits_with_2_and_says_so_on_standard_error(
    folder: Path, arguments: tuple[str, ...], said: str
):
    run = holdfast(*arguments, folder=folder)
    assert (run.returncode, run.stdout) == (2, "")
    assert said in words(run.stderr)


# Overrides.


def test_set_overrides_fields_of_every_kind(folder: Path):
    run = holdfast(
        *(*CHECK, "--json"),
        *("--set", "train_config.batch_size=4"),
        *("--set", "eval_input_reader[0].shuffle=true"),
        *("--set", "train_config.fine_tune_checkpoint=run/start"),
        *("--set", "train_config.data_augmentation_options=[{ random_vertical_flip { } }]"),
        *("--set", "train_config.optimizer.momentum_optimizer.momentum_optimizer_value=0.5"),
        folder=folder,
    )
    assert run.returncode == 0, run.stdout
    config = json.loads(run.stdout)["config"]
    train = config["train_config"]
    assert train["batch_size"] == 4
    assert train["fine_tune_checkpoint"] == "run/start"
    assert train["data_augmentation_options"] == [{"random_vertical_flip": {}}]
    assert train["optimizer"]["momentum_optimizer"]["momentum_optimizer_value"] == 0.5
    assert config["eval_input_reader"][0]["shuffle"] is True


def test_the_last_of_equal_overrides_counts(folder: Path):
    paths = ("--set", "train_config.batch_size=4", "--set", "train_config.batch_size=5")
    run = holdfast(*CHECK, "--json", *paths, folder=folder)
    assert json.loads(run.stdout)["config"]["train_config"]["batch_size"] == 5


def test_a_wrong_override_exits_with_2_and_the_nearest_name(folder: Path):
    run = holdfast(*CHECK, "--set", "train_config.bach_size=4", folder=folder)
    assert run.returncode == 2
    assert "override: there is no field `bach_size` → did you mean batch_size" in words(run.stdout)


def test_an_override_can_make_a_config_fail_its_checks(folder: Path):
    run = holdfast(*CHECK, "--set", "train_config.batch_size=0", folder=folder)
    assert run.returncode == 1
    assert "a batch of 0 images" in run.stdout


def test_an_override_without_equals_sign_is_a_wrong_command(folder: Path):
    run = holdfast(*CHECK, "--set", "train_config.batch_size", folder=folder)
    assert (run.returncode, run.stdout) == (2, "")
    assert "is not of the form path=value" in words(run.stderr)
    assert "--set train_config.batch_size=8" in words(run.stderr)


@pytest.mark.parametrize("before", [True, False])
def test_debug_shows_the_traceback_wherever_it_stands_and_keeps_the_exit_code(
    folder: Path, before: bool
):
    arguments = [*CHECK, "--set", "x"]
    arguments.insert(0 if before else len(arguments), "--debug")
    run = holdfast(*arguments, folder=folder)
    assert run.returncode == 2
    assert "HoldfastError: --set 'x' is not of the form path=value" in run.stderr


def test_debug_changes_nothing_where_nothing_fails(folder: Path):
    plain = subprocess.run(
        [sys.executable, "-m", "holdfast", "--debug", *CHECK],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert (plain.returncode, plain.stderr) == (0, b"")


# JSON.


def document(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Read standard output, which must be one strict JSON document and nothing else."""

    def refuse(name: str) -> None:
        pytest.fail(f"{name} is no JSON")

    found: dict[str, Any] = json.loads(run.stdout, parse_constant=refuse)
    assert set(found) >= {"ok", "errors", "warnings", "config"}
    for problem in found["errors"] + found["warnings"]:
        assert set(problem) >= {"line", "column", "path", "message", "fix"}
    assert run.stderr == ""
    return found


def test_json_of_a_good_config(folder: Path):
    run = holdfast(*CHECK, "--json", folder=folder)
    found = document(run)
    assert run.returncode == 0
    assert (found["ok"], found["errors"], found["warnings"]) == (True, [], [])
    assert found["config"]["model"]["ssd"]["feature_extractor"]["conv_hyperparams"] == {
        "regularizer": {"l2_regularizer": {"weight": 4e-05}},
        "initializer": {"random_normal_initializer": {"mean": 0.0, "stddev": 0.01}},
        "activation": "RELU_6",
    }


def test_json_of_a_config_with_errors_and_warnings(folder: Path):
    text = rewrite(
        folder, ("batch_size: 8", "batch_size: 0"), ("total_steps: 1000", "total_steps: 900")
    )
    run = holdfast(*CHECK, "--json", folder=folder)
    found = document(run)
    assert (run.returncode, found["ok"]) == (1, False)
    assert found["errors"] == [
        {
            "line": line_of("batch_size", text),
            "column": 15,
            "path": "train_config.batch_size",
            "message": "a batch of 0 images",
            "fix": "write at least 1",
            "set": {"train_config.batch_size": "8"},
        }
    ]
    assert [warning["line"] for warning in found["warnings"]] == [line_of("total_steps", text)]
    assert found["config"]["train_config"]["batch_size"] == 0


@pytest.mark.parametrize("name", ["run/gone.config", "run", "run/train.record"])
def test_json_of_what_cannot_be_read_has_no_config(folder: Path, name: str):
    run = holdfast("check", name, "--json", folder=folder)
    found = document(run)
    assert (run.returncode, found["ok"], found["config"]) == (2, False, None)
    assert found["errors"]


def test_json_of_an_unreadable_config_has_every_mistake(folder: Path):
    rewrite(folder, ("num_classes: 3", "num_clases: 3"), ("batch_size: 8", "batch_size: many"))
    found = document(holdfast(*CHECK, "--json", folder=folder))
    assert [error["path"] for error in found["errors"]] == [
        "model.ssd.num_clases",
        "train_config.batch_size",
    ]


# Surroundings.


def test_an_output_that_knows_ascii_only_gets_every_line_and_whole_json(folder: Path):
    rewrite(folder, ('"train.record"', '"größe.record"'))
    plain = holdfast(*CHECK, folder=folder, PYTHONIOENCODING="ascii")
    assert plain.returncode == 1
    assert "there is no file gr??e.record" in plain.stdout
    found = document(holdfast(*CHECK, "--json", folder=folder, PYTHONIOENCODING="ascii"))
    assert found["errors"][0]["message"] == "there is no file größe.record"


def test_a_file_in_the_working_directory_goes_first_and_that_is_said(folder: Path):
    (folder / "train.record").write_bytes(b"another")
    shown = words(holdfast(*CHECK, folder=folder).stdout)
    assert "train.record (from the working directory)" in shown
    assert "eval.record (from the config's folder)" in shown


def test_the_help_shows_an_example_that_runs(folder: Path):
    run = holdfast("check", "--help", folder=folder)
    assert run.returncode == 0
    assert "holdfast check pipeline.config --set train_config.batch_size=8" in words(run.stdout)
    example = ("check", "pipeline.config", "--set", "train_config.batch_size=8")
    assert holdfast(*example, folder=folder / "run").returncode == 0


def test_the_command_without_a_command_shows_the_help(folder: Path):
    run = holdfast("--help", folder=folder)
    assert run.returncode == 0
    assert "check" in run.stdout
    assert "Usage" in holdfast(folder=folder).stdout


def test_the_version_is_printed(folder: Path):
    from importlib.metadata import version

    run = holdfast("--version", folder=folder)
    assert (run.returncode, run.stdout.strip()) == (0, version("holdfast"))


NOT_READY = [*CHECK, "--set", "train_input_reader.label_map_path=gone.pbtxt"]


@pytest.mark.parametrize(
    "arguments", [["--help"], CHECK, [*CHECK, "--json"], ["check", "gone"], NOT_READY]
)
def test_neither_tensorflow_nor_keras_nor_numpy_is_imported(folder: Path, arguments: list[str]):
    program = (
        "import sys\n"
        "from holdfast.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        f"print('heavy:', *(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)\n"
        "print('alive:', 'typer' in sys.modules, file=sys.stderr)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout
    assert run.stderr.split("\n")[:2] == ["heavy:", "alive: True"]

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.validate.readers import check_files
from holdfast.errors import Problem

from ..texts import LABEL_MAP, config, edited, line_of, on_lines, write_files

TRAIN = "train_input_reader.tf_record_input_reader.input_path[0]"
EVAL = "eval_input_reader[0].tf_record_input_reader.input_path[0]"
LABELS = ("train_input_reader.label_map_path", "eval_input_reader[0].label_map_path")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the config, with all the files it names; the working directory is another."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    write_files(tmp_path / "run")
    return tmp_path / "run"


def judged(folder: Path, *replacements: tuple[str, str]) -> list[Problem]:
    text = edited(*replacements)
    return on_lines(list(check_files(config(text=text), folder)), text)


def trained_on(folder: Path, pattern: str) -> list[Problem]:
    """Judge another input_path, written as in a file."""
    return judged(folder, ('"train.record"', pattern))


def test_when_all_files_are_there_nothing_is_said(folder: Path):
    assert judged(folder) == []


def test_without_readers_there_is_nothing_to_look_up(folder: Path):
    assert list(check_files(TrainEvalPipelineConfig(), folder)) == []


# Placeholders.


def test_a_placeholder_is_refused_on_each_of_its_lines(folder: Path):
    text = edited(
        ('"train.record"', '"PATH_TO_BE_CONFIGURED/train2017-?????-of-00256.tfrecord"'),
        ('"start/ckpt-0"', '"PATH_TO_BE_CONFIGURED/mobilenet_v2.ckpt-1"'),
    ).replace('label_map_path: "labels.pbtxt"', 'label_map_path: "PATH_TO_BE_CONFIGURED"')
    problems = on_lines(list(check_files(config(text=text), folder)), text)
    assert {each.message for each in problems} == {"PATH_TO_BE_CONFIGURED was left in"}
    assert {each.severity for each in problems} == {"error"}
    assert sorted(each.path for each in problems) == sorted(
        [TRAIN, *LABELS, "train_config.fine_tune_checkpoint"]
    )
    lines = {each.line for each in problems}
    assert lines == {i for i, line in enumerate(text.split("\n"), 1) if "PATH_TO_BE" in line}


# Missing files.


def test_a_file_that_does_not_exist_is_refused(folder: Path):
    (problem,) = trained_on(folder, '"gone.record"')
    assert (problem.severity, problem.path) == ("error", TRAIN)
    assert problem.line == line_of('"train.record"')
    assert problem.message == "there is no file gone.record"
    assert "the working directory and the config's folder" in problem.fix


def test_every_missing_file_is_reported_at_once(folder: Path):
    problems = trained_on(folder, '["a.record", "train.record", "c.record"]')
    assert [(each.path[-3:], each.message) for each in problems] == [
        ("[0]", "there is no file a.record"),
        ("[2]", "there is no file c.record"),
    ]


def test_a_glob_that_matches_nothing_is_refused(folder: Path):
    (problem,) = trained_on(folder, '"gone-*.record"')
    assert (problem.severity, problem.path) == ("error", TRAIN)
    assert problem.message == "gone-*.record matches no file"
    assert trained_on(folder, '"tra*.record"') == []


def test_a_link_that_leads_nowhere_is_a_missing_file(folder: Path):
    (folder / "link.record").symlink_to(folder / "gone")
    (problem,) = trained_on(folder, '"link.record"')
    assert problem.message == "there is no file link.record"
    (problem,) = trained_on(folder, '"li*.record"')
    assert problem.message == "li*.record matches no file"


def test_a_folder_instead_of_a_file_is_refused_with_a_glob_to_write(folder: Path):
    (folder / "shards").mkdir()
    (problem,) = trained_on(folder, '"shards"')
    assert problem.message == f"{folder / 'shards'} is a folder"
    assert problem.fix == f'write "{folder / "shards" / "*.record"}"'


def test_an_empty_file_is_refused(folder: Path):
    (folder / "train.record").write_bytes(b"")
    (problem,) = judged(folder)
    assert (problem.path, problem.message) == (TRAIN, f"{folder / 'train.record'} is empty")


def test_a_missing_input_path_is_refused(folder: Path):
    for reader in ("tf_record_input_reader { }", ""):
        (problem,) = judged(
            folder, ('tf_record_input_reader { input_path: "eval.record" }', reader)
        )
        assert problem.severity == "error"
        assert problem.path == "eval_input_reader[0].tf_record_input_reader.input_path"
        assert problem.message == "it is missing"
        assert problem.line is not None


def test_a_reader_made_by_other_code_is_refused(folder: Path):
    reader = 'tf_record_input_reader { input_path: "eval.record" }'
    (problem,) = judged(folder, (reader, "external_input_reader { }"))
    assert problem.severity == "error"
    assert problem.path == "eval_input_reader[0].external_input_reader"
    assert problem.message == "Holdfast does not support it"


@pytest.mark.parametrize(
    "setting",
    [
        "num_additional_channels: 1",
        "input_type: TF_SEQUENCE_EXAMPLE",
        "sample_from_datasets_weights: 0.5",
        "expand_labels_hierarchy: true",
        "load_context_features: true",
        "load_dense_pose: true",
        "load_track_id: true",
        "load_keypoint_depth_features: true",
    ],
)
def test_settings_that_nothing_obeys_are_refused(folder: Path, setting: str):
    (problem,) = judged(folder, ("train_input_reader {", f"train_input_reader {{ {setting}"))
    assert problem.severity == "error"
    assert problem.path == f"train_input_reader.{setting.partition(':')[0]}"
    assert problem.line == line_of("train_input_reader {")


def test_files_in_a_bucket_are_not_looked_up(folder: Path):
    text = edited(
        ('"train.record"', '"gs://bucket/train-?????-of-00010"'),
        ('"start/ckpt-0"', '"gs://bucket/ckpt-0"'),
    ).replace('"labels.pbtxt"', '"gs://bucket/labels.pbtxt"')
    assert list(check_files(config(text=text), folder)) == []


def test_the_keypoint_label_map_is_looked_up_too(folder: Path):
    text = 'model { center_net {\n keypoint_label_map_path: "%s" } }'
    assert list(check_files(config(text=text % "labels.pbtxt"), folder)) == []
    assert list(check_files(config(text="model { center_net { } }"), folder)) == []
    (problem,) = on_lines(list(check_files(config(text=text % "gone"), folder)), text)
    assert problem.path == "model.center_net.keypoint_label_map_path"
    assert (problem.message, problem.line) == ("there is no file gone", 2)


# Windows paths.


@pytest.mark.parametrize(
    ("written", "escape", "meant"),
    [
        (r"C:\data\train.record", r"`\t`", "C:/data/train.record"),
        (r"D:\new\Pictures\a.record", r"`\n`", "D:/new/Pictures/a.record"),
        (r"C:\bin\arrow\files\raw\volume", r"`\b`", "C:/bin/arrow/files/raw/volume"),
        (r"C:\My data\train.record", r"`\t`", "C:/My data/train.record"),
        (r"C:\1\train.record", r"`\1`", "C:/1/train.record"),
        (r"C:\07\*.record", r"`\a`", None),
        (r"C:\0\*.record", r"`\0`", "C:/0/*.record"),
    ],
)
def test_backslashes_eaten_as_escapes_are_refused_with_the_path_that_was_meant(
    folder: Path, written: str, escape: str, meant: str | None
):
    (problem,) = trained_on(folder, f'"{written}"')
    assert (problem.severity, problem.path) == ("error", TRAIN)
    assert problem.line == line_of('"train.record"')
    assert problem.message == f"its {escape} was read as an escape, not as a folder"
    if meant is not None:
        assert problem.fix == f'write "{meant}"'


def test_backslashes_that_survived_are_told_to_turn_around_when_the_file_is_missing(folder: Path):
    (problem,) = trained_on(folder, r'"D:\Projects\Models\s.record"')
    assert problem.message == r"there is no file D:\Projects\Models\s.record"
    assert problem.fix == 'write "D:/Projects/Models/s.record"'


def test_a_backslash_in_the_name_of_a_file_that_exists_is_fine(folder: Path):
    (folder / r"odd\Name.record").write_bytes(b"x")
    assert trained_on(folder, r'"odd\\Name.record"') == []


def test_eaten_backslashes_are_found_in_label_maps_and_checkpoints_too(folder: Path):
    (problem,) = judged(folder, ('"start/ckpt-0"', r'"C:\tf\ckpt-0"'))
    assert problem.fix == 'write "C:/tf/ckpt-0"'
    text = edited().replace('"labels.pbtxt"', r'"C:\new\labels.pbtxt"')
    assert [each.path for each in check_files(config(text=text), folder)] == list(LABELS)


# Shards.


def shards(folder: Path, *numbers: int) -> None:
    for number in numbers:
        (folder / f"part-{number:05d}-of-00003").write_bytes(b"x")


def test_missing_shards_are_a_warning(folder: Path):
    shards(folder, 0, 2)
    (problem,) = trained_on(folder, '"part-?????-of-00003"')
    assert (problem.severity, problem.path) == ("warning", TRAIN)
    assert problem.line == line_of('"train.record"')
    assert problem.message == "2 of 3 shards are there"


def test_all_shards_together_are_fine_however_they_are_named(folder: Path):
    shards(folder, 0, 1, 2)
    assert trained_on(folder, '"part-*"') == []
    assert trained_on(folder, '["part-00000-of-00003", "part-0000[12]-of-00003"]') == []


def test_shards_named_one_by_one_are_counted_together_and_reported_once(folder: Path):
    shards(folder, 0, 1, 2)
    problems = trained_on(folder, '["part-00000-of-00003", "part-00001-of-00003"]')
    assert [(each.path, each.message) for each in problems] == [(TRAIN, "2 of 3 shards are there")]


def test_without_weights_any_number_of_files_is_fine(folder: Path):
    (folder / "b.record").write_bytes(b"x")
    assert trained_on(folder, '["train.record", "b.record"]') == []


# Label maps.


def test_a_label_map_that_does_not_exist_is_refused_for_each_reader(folder: Path):
    (folder / "labels.pbtxt").unlink()
    problems = judged(folder)
    assert [each.path for each in problems] == list(LABELS)
    assert {each.message for each in problems} == {"there is no file labels.pbtxt"}
    assert problems[0].line != problems[1].line


@pytest.mark.parametrize(
    ("number", "severity", "message"),
    [
        (2, "error", "2 classes, but the largest id in {file} is 3"),
        (
            4,
            "warning",
            "4 classes, but the largest id in {file} is 3: the others are never learned",
        ),
    ],
)
def test_num_classes_must_be_the_largest_id(folder: Path, number: int, severity: str, message: str):
    (problem,) = judged(folder, ("num_classes: 3", f"num_classes: {number}"))
    assert (problem.severity, problem.path, problem.line) == (severity, "model.ssd.num_classes", 3)
    assert problem.message == message.format(file=folder / "labels.pbtxt")
    assert problem.fix == "set num_classes to 3"


def test_num_classes_of_0_is_left_to_the_check_of_the_network(folder: Path):
    assert judged(folder, ("num_classes: 3", "num_classes: 0")) == []


def test_num_classes_reaches_over_gaps_in_the_ids(folder: Path):
    (folder / "labels.pbtxt").write_text(LABEL_MAP.replace("id: 3", "id: 7"))
    problems = judged(folder)
    assert [each.message for each in problems if each.severity == "error"] == [
        f"3 classes, but the largest id in {folder / 'labels.pbtxt'} is 7"
    ]
    assert all(
        "ids 1 to 7 are unused" in each.message
        for each in judged(folder, ("num_classes: 3", "num_classes: 7"))
    )


def test_mistakes_in_a_label_map_are_reported_with_their_line_in_it(folder: Path):
    (folder / "labels.pbtxt").write_text(LABEL_MAP.replace("id: 2", "id: 0"))
    problems = judged(folder)
    errors = [each for each in problems if each.severity == "error"]
    assert [each.path for each in errors] == list(LABELS)
    place = f"{folder / 'labels.pbtxt'}, line 2: "
    assert {each.message for each in errors} == {f"{place}id 0 is reserved for the background"}
    assert not any("num_classes" in each.path for each in problems)


def test_a_label_map_that_cannot_be_read_is_reported(folder: Path):
    (folder / "labels.pbtxt").write_bytes(b"item { name: '\xff' }")
    problems = judged(folder)
    assert [each.path for each in problems] == list(LABELS)
    assert all("byte 0xff is not UTF-8" in each.message for each in problems)
    (folder / "labels.pbtxt").unlink()
    (folder / "labels.pbtxt").mkdir()
    assert all("it is a folder" in each.message for each in judged(folder))


def test_a_reader_without_a_label_map_is_not_judged(folder: Path):
    text = edited(("num_classes: 3", "num_classes: 99")).replace(
        '  label_map_path: "labels.pbtxt"\n', ""
    )
    assert list(check_files(config(text=text), folder)) == []


# Checkpoints.


def checkpoint(folder: Path, path: str) -> list[Problem]:
    return judged(folder, ('"start/ckpt-0"', f'"{path}"'))


def test_a_checkpoint_is_a_prefix_or_a_folder(folder: Path):
    assert checkpoint(folder, "start/ckpt-0") == []
    assert checkpoint(folder, "start") == []


def test_a_folder_of_several_checkpoints_is_refused_as_training_would(folder: Path):
    (folder / "start" / "model.ckpt-7.index").write_bytes(b"x")
    (problem,) = checkpoint(folder, "start")
    assert problem.message == "the folder holds several checkpoints: ckpt-0, model.ckpt-7"
    assert problem.fix == 'write the prefix of one, e.g. "start/model.ckpt-7"'


def test_a_remote_checkpoint_is_left_to_training(folder: Path):
    assert checkpoint(folder, "gs://bucket/start/ckpt-0") == []


def test_a_missing_checkpoint_is_refused(folder: Path):
    for path in ("start/ckpt-1", "gone"):
        (problem,) = checkpoint(folder, path)
        assert (problem.severity, problem.path) == ("error", "train_config.fine_tune_checkpoint")
        assert problem.line == line_of('"start/ckpt-0"')
        assert problem.message == f"there is no checkpoint {path} (no {path}.index)"


@pytest.mark.parametrize("part", ["index", "meta", "data-00000-of-00001"])
def test_one_file_of_a_checkpoint_is_refused_with_the_prefix(folder: Path, part: str):
    (problem,) = checkpoint(folder, f"start/ckpt-0.{part}")
    assert problem.severity == "error"
    assert problem.message == f"start/ckpt-0.{part} is one file of a checkpoint"
    assert problem.fix == 'write the prefix, "start/ckpt-0"'


def test_a_placeholder_in_front_of_a_checkpoint_file_is_said_as_well(folder: Path):
    problems = checkpoint(folder, "PATH_TO_BE_CONFIGURED/ckpt-0.index")
    assert [each.message for each in problems] == [
        "PATH_TO_BE_CONFIGURED was left in",
        "PATH_TO_BE_CONFIGURED/ckpt-0.index is one file of a checkpoint",
    ]


def test_without_a_checkpoint_none_is_looked_up(folder: Path):
    assert judged(folder, ('  fine_tune_checkpoint: "start/ckpt-0"\n', "")) == []


# Held-out data.


def test_evaluating_on_the_training_data_is_a_warning(folder: Path):
    (problem,) = judged(folder, ('"eval.record"', '["eval.record", "train.record"]'))
    assert problem.severity == "warning"
    assert problem.path == "eval_input_reader[0].tf_record_input_reader.input_path"
    assert problem.message == "it evaluates on what it trains on: train.record"


def test_placeholders_are_not_the_same_data(folder: Path):
    text = edited(
        ('"train.record"', '"PATH_TO_BE_CONFIGURED"'), ('"eval.record"', '"PATH_TO_BE_CONFIGURED"')
    )
    assert not any("trains on" in each.message for each in check_files(config(text=text), folder))

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import holdfast
from holdfast.config.load import (
    load_config,
    placed,
    read_config,
    read_message,
    read_text,
    save_config,
)
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.tokens import Position
from holdfast.errors import ConfigError, Problem

from .texts import CONFIG, LABEL_MAP, config, edited, line_of


def written(folder: Path, text: str | bytes = CONFIG) -> Path:
    path = folder / "pipeline.config"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def mistakes(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert caught.value.source == str(path)
    return caught.value.problems


def test_a_config_is_loaded_by_path_or_text(tmp_path: Path):
    path = written(tmp_path)
    assert load_config(path) == load_config(str(path)) == config()


def test_the_package_offers_loading_and_saving(tmp_path: Path):
    loaded = holdfast.load_config(written(tmp_path), overrides={"train_config.batch_size": 5})
    assert loaded.train_config is not None
    assert loaded.train_config.batch_size == 5
    holdfast.save_config(loaded, tmp_path / "copy.config")
    assert holdfast.load_config(tmp_path / "copy.config") == loaded
    assert holdfast.ConfigError is ConfigError
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = holdfast.no_such_name  # type: ignore[attr-defined]


def test_a_saved_config_reads_back_equal_and_makes_its_folder(tmp_path: Path):
    path = tmp_path / "new" / "folder" / "pipeline.config"
    save_config(config(), path)
    assert load_config(path) == config()
    assert "eval_input_reader" in path.read_text(encoding="utf-8")


def test_fields_that_were_never_set_are_not_saved(tmp_path: Path):
    save_config(config(), tmp_path / "a.config")
    text = (tmp_path / "a.config").read_text(encoding="utf-8")
    assert "sync_replicas" not in text
    assert text.count("batch_size") == 1


def test_every_mistake_is_listed_with_its_line(tmp_path: Path):
    text = edited(
        ("batch_size: 8", "bach_size: 8"),
        ("num_classes: 3", 'num_classes: "three"'),
        ("shuffle: false", "shuffle: nope"),
    )
    assert [(problem.line, problem.path) for problem in mistakes(written(tmp_path, text))] == [
        (line_of('"three"', text), "model.ssd.num_classes"),
        (line_of("bach_size", text), "train_config.bach_size"),
        (line_of("nope", text), "eval_input_reader[0].shuffle"),
    ]


def test_mistakes_in_overrides_are_listed_with_those_of_the_file(tmp_path: Path):
    path = written(tmp_path, edited(("num_classes: 3", "num_classes: three")))
    with pytest.raises(ConfigError) as caught:
        load_config(path, {"train_config.batch_size": "x", "train_config.num_steps": 7})
    assert [(problem.line, problem.path) for problem in caught.value.problems] == [
        (None, "train_config.batch_size"),
        (3, "model.ssd.num_classes"),
    ]


def test_reading_keeps_mistakes_places_and_what_could_be_understood(tmp_path: Path):
    text = edited(("batch_size: 8", "bach_size: 8"))
    source = read_config(written(tmp_path, text), {"train_config.num_steps": 7})
    assert [problem.path for problem in source.problems] == ["train_config.bach_size"]
    assert source.message.train_config is not None
    assert source.message.train_config.num_steps == 7
    assert source.message.model == config().model
    assert source.positions["train_config.num_steps"] == (line_of("num_steps", text), 14)


def test_other_messages_are_read_the_same_way(tmp_path: Path):
    path = written(tmp_path, LABEL_MAP)
    source = read_message(path, StringIntLabelMap)
    assert source.path == path
    assert source.problems == ()
    assert [item.name for item in source.message.item] == ["cat", "dog", "owl"]


# Files that cannot be read.


def test_a_missing_file_is_answered_with_the_nearest_name(tmp_path: Path):
    written(tmp_path)
    (problem,) = mistakes(tmp_path / "pipline.config")
    assert problem.message == "there is no such file"
    assert problem.fix == f"did you mean {tmp_path / 'pipeline.config'}?"


@pytest.mark.parametrize("name", ["other", "no/such/folder/pipeline.config", "a.txt/b"])
def test_a_missing_file_like_no_other_is_just_missing(tmp_path: Path, name: str):
    (tmp_path / "a.txt").write_text("")
    (problem,) = mistakes(tmp_path / name)
    assert (problem.message, problem.fix) == ("there is no such file", "check the path")


def test_a_folder_is_answered_with_the_config_in_it(tmp_path: Path):
    (problem,) = mistakes(tmp_path)
    assert problem.message == "it is a folder"
    assert problem.fix == f"give a file; `holdfast inspect {tmp_path}` looks at data"
    path = written(tmp_path)
    (problem,) = mistakes(tmp_path)
    assert problem.fix == f"give the file: {path}"


def test_a_name_that_the_system_refuses_is_reported(tmp_path: Path):
    (problem,) = mistakes(tmp_path / ("a" * 300))
    assert problem.message == f"it cannot be read: {os.strerror(errno.ENAMETOOLONG)}"


def test_a_file_without_permission_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = written(tmp_path)

    def denied(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)  # root may read everything
    (problem,) = mistakes(path)
    assert problem.message == "it cannot be read: Permission denied"
    assert "permissions" in problem.fix


def test_a_byte_that_is_not_utf8_is_reported_with_its_place(tmp_path: Path):
    (problem,) = mistakes(written(tmp_path, b"model {\n  # \xc3\xa9t\xe9\n}\n"))
    assert problem.message == "byte 0xe9 is not UTF-8"
    assert (problem.line, problem.column) == (2, 7)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_is_named(tmp_path: Path, encoding: str):
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    (problem,) = mistakes(written(tmp_path, mark + CONFIG.encode(encoding)))
    assert problem.message == "it is encoded as UTF-16"
    assert (problem.fix, problem.line, problem.column) == ("save it as UTF-8", 1, 1)


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path):
    text = b"\xef\xbb\xbf" + CONFIG.replace("\n", "\r\n").encode()
    assert load_config(written(tmp_path, text)) == config()


def test_text_is_read_as_it_is(tmp_path: Path):
    assert read_text(written(tmp_path, "größe\r\n")) == "größe\r\n"


def test_an_empty_file_is_an_empty_config(tmp_path: Path):
    assert load_config(written(tmp_path, "")) == TrainEvalPipelineConfig()


# Places.

POSITIONS = {
    "train_config": Position(1, 14),
    "train_config.batch_size": Position(2, 3),
    "eval_input_reader[0]": Position(5, 19),
}


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ("train_config.batch_size", 2, 3),
        ("train_config.num_steps", 1, 14),
        ("train_config.optimizer.adam_optimizer.epsilon", 1, 14),
        ("train_config.data_augmentation_options[2]", 1, 14),
        ("eval_input_reader[0].label_map_path", 5, 19),
        ("eval_input_reader[1].label_map_path", None, None),
        ("model.ssd", None, None),
        ("", None, None),
    ],
)
def test_a_problem_gets_the_place_of_its_field_or_of_the_block_around_it(
    path: str, line: int | None, column: int | None
):
    problem = placed(Problem(message="x", fix="y", severity="warning", path=path), POSITIONS)
    assert (problem.line, problem.column) == (line, column)
    assert (problem.path, problem.message, problem.fix, problem.severity) == (
        path,
        "x",
        "y",
        "warning",
    )


def test_a_remote_config_is_said_to_be_remote():
    for path in ("s3://bucket/pipeline.config", Path("s3://bucket/pipeline.config")):
        with pytest.raises(ConfigError, match=r"s3://bucket/pipeline.config is remote"):
            load_config(path)

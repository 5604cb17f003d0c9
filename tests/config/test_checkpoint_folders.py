"""Which checkpoint of a folder is meant; the same rules serve local and remote folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.checkpoint_folders import meant_checkpoints, prefix_exists


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in (1, 2, 10):
        (tmp_path / f"ckpt-{number}.index").write_bytes(b"")
    return tmp_path


def meant(folder: Path) -> list[str]:
    return [
        Path(prefix).relative_to(folder).as_posix() for prefix in meant_checkpoints(str(folder))
    ]


def test_a_prefix_means_itself(folder):
    assert meant_checkpoints(f"{folder}/ckpt-2") == (f"{folder}/ckpt-2",)
    assert meant_checkpoints(f"{folder}/ckpt-3") == ()


def test_a_prefix_beside_a_folder_of_its_name_means_the_checkpoint(folder):
    (folder / "ckpt-2").mkdir()
    assert meant_checkpoints(f"{folder}/ckpt-2") == (f"{folder}/ckpt-2",)


def test_the_highest_number_is_the_latest(folder):
    assert meant(folder) == ["ckpt-10"]


@pytest.mark.parametrize(
    "named",
    ["ckpt-2", "/home/ann/ckpt-2", r"C:\\train\\ckpt-2", "./ckpt-2"],
)
def test_the_state_file_decides_also_after_a_move(folder, named):
    state = f'model_checkpoint_path: "{named}"\nall_model_checkpoint_paths: "ckpt-10"\n'
    (folder / "checkpoint").write_text(state + "all_model_checkpoint_timestamps: 1.6e9\n")
    assert [Path(each).name for each in meant(folder)] == ["ckpt-2"]


@pytest.mark.parametrize("text", ["", "not { a state", 'model_checkpoint_path: "ckpt-7"'])
def test_a_state_file_that_names_no_checkpoint_decides_nothing(folder, text):
    (folder / "checkpoint").write_text(text)
    assert meant(folder) == ["ckpt-10"]


def test_a_state_file_that_is_not_text_decides_nothing(folder):
    (folder / "checkpoint").write_bytes(b"\xff\x00\xfe")
    assert meant(folder) == ["ckpt-10"]


def test_different_names_are_not_chosen_from(folder):
    (folder / "model.ckpt-99.index").write_bytes(b"")
    assert len(meant(folder)) == 4


def test_an_empty_folder_means_nothing(tmp_path):
    assert meant(tmp_path) == []


def test_a_folder_is_not_a_checkpoint_file(tmp_path):
    assert not prefix_exists(str(tmp_path))

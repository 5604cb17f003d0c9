"""Which detector `--teacher` means, and how its weights are told from others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.config.load import save_config
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import HoldfastError
from holdfast.training.open_journal import open_journal
from holdfast.training.teaching.teacher_choice import find_teacher
from holdfast.training.training_settings import TrainingSettings


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    with open_journal(TrainEvalPipelineConfig(), folder, TrainingSettings(), tmp_path):
        pass
    add_checkpoint(folder, 10, b"first")
    return folder


def add_checkpoint(run: Path, step: int, weights: bytes) -> Path:
    folder = run / "checkpoints" / f"step-{step:08d}"
    folder.mkdir(parents=True)
    (folder / "tensors.index").write_bytes(b"index")
    (folder / "tensors.data-00000-of-00001").write_bytes(weights)
    (folder / "checkpoint.json").write_text(
        f'{{"format": 1, "step": {step}, "extra": {{}}, "metric": null, "higher_is_better": true}}'
    )
    return folder


def test_a_run_and_one_of_its_checkpoints_are_the_same_teacher(run):
    of_run = find_teacher(str(run))
    of_checkpoint = find_teacher(str(run / "checkpoints" / "step-00000010"))
    assert of_run.name == of_checkpoint.name == "step-00000010"
    assert of_run.digest() == of_checkpoint.digest()


def test_the_digest_is_of_the_weights_and_not_of_the_place_or_the_metric(run, tmp_path):
    before = find_teacher(str(run)).digest()
    moved = tmp_path / "moved"
    shutil.move(run, moved)
    document = moved / "checkpoints" / "step-00000010" / "checkpoint.json"
    document.write_text(document.read_text().replace("null", "0.5"))
    assert find_teacher(str(moved)).digest() == before
    add_checkpoint(moved, 20, b"second")
    later = find_teacher(str(moved / "checkpoints" / "step-00000020"))
    assert later.digest() != before


def test_a_folder_with_config_and_checkpoint_is_a_teacher(tmp_path):
    save_config(TrainEvalPipelineConfig(), tmp_path / "pipeline.config")
    (tmp_path / "checkpoint").mkdir()
    for name in ("ckpt-0.index", "ckpt-0.data-00000-of-00001"):
        (tmp_path / "checkpoint" / name).write_bytes(b"")
    choice = find_teacher(str(tmp_path))
    assert choice.trained is not None
    assert choice.name == "ckpt-0"


def test_an_export_is_a_teacher(tmp_path):
    (tmp_path / "saved_model").mkdir()
    (tmp_path / "saved_model" / "saved_model.pb").write_bytes(b"")
    choice = find_teacher(str(tmp_path))
    assert choice.trained is None
    assert choice.folder == tmp_path / "saved_model"


def test_a_place_without_a_detector_is_told(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(HoldfastError, match="no detector at"):
            find_teacher(str(path))

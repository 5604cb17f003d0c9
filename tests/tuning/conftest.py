"""A config that can be searched, and a search whose trainings are pretended."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.commands import CONFIG

from holdfast.tuning import trial_process

from . import pretended_holdfast


@pytest.fixture
def config(tmp_path, monkeypatch) -> Path:
    """A config with files where it says; nobody looks into them."""
    path = tmp_path / "pipeline.config"
    path.write_text(CONFIG)
    records = tmp_path / "records"
    records.mkdir()
    (records / "label_map.pbtxt").write_text(
        "".join(f'item {{ id: {number} name: "{number}" }}\n' for number in range(1, 5))
    )
    for name in ("train", "val"):
        (records / f"{name}.record-00000-of-00001").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return Path("pipeline.config")


@pytest.fixture
def pretended(monkeypatch) -> None:
    monkeypatch.setattr(trial_process, "holdfast_command", pretended_holdfast.command)

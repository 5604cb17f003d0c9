"""The folder that the examples of the public functions run in: a config, its data, a checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

# Modules whose examples call Holdfast as a program would.
_PUBLIC = {
    "holdfast.checkpoints.transfer",
    "holdfast.config.load",
    "holdfast.doctor.diagnose",
    "holdfast.models.detectors.build_detector",
    "holdfast.prediction.load_model",
    "holdfast.training.api",
}


@pytest.fixture(scope="session")
def example_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make 16 small images of shapes, the config of a small detector, and a checkpoint of it."""
    from tests.training.small_training import config_text

    import holdfast
    from holdfast.checkpoints.own.own_names import own_names
    from holdfast.checkpoints.own.store import CheckpointStore
    from holdfast.data.conversion.to_records import convert
    from holdfast.data.sources.open_source import open_source

    folder = tmp_path_factory.mktemp("project")
    convert(open_source("16@64", format_name="synthetic"), str(folder), val=0.0)
    (folder / "pipeline.config").write_text(config_text(chance=False))
    detector = holdfast.build_detector(holdfast.load_config(folder / "pipeline.config"))
    weights = {each.names[0]: each.variable.value for each in own_names(detector, "full")}
    CheckpointStore(folder / "checkpoints").save(1, weights)
    return folder


@pytest.fixture(autouse=True)
def in_example_project(
    request: pytest.FixtureRequest,
    doctest_namespace: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Run the examples of the public functions in a copy of the project, with holdfast imported."""
    if request.node.name.rpartition(".")[0] in _PUBLIC:
        import numpy

        import holdfast

        project = request.getfixturevalue("example_project")
        shutil.copytree(project, tmp_path, dirs_exist_ok=True)
        monkeypatch.chdir(tmp_path)
        doctest_namespace |= {"holdfast": holdfast, "np": numpy}

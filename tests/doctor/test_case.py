from __future__ import annotations

from pathlib import Path

import pytest
from tests.doctor.cases import HEALTHY, case_of

from holdfast.doctor.case import Case
from holdfast.doctor.lazy_part import LazyPart, MissingError
from holdfast.runs.manifest import RunManifest
from holdfast.runs.run import STEPS, Run


def run_with(path: Path, **facts: object) -> Case:
    manifest = RunManifest(config={}, seed=0, versions={}, started="2026-01-01", facts=facts)
    Run.create(path, manifest, HEALTHY).close()
    return Case(run_path=path)


def test_the_steps_of_a_run_are_those_it_was_asked_for(tmp_path: Path):
    assert run_with(tmp_path / "asked", **{STEPS: 300}).num_steps == 300
    assert run_with(tmp_path / "plain").num_steps == 2000


def test_a_run_has_its_own_config(tmp_path: Path):
    case = run_with(tmp_path / "run")
    assert case.config.train_config == case_of(HEALTHY).config.train_config
    assert case.shown_path.endswith("run/pipeline.config")


def test_what_a_library_cannot_read_is_missing_and_tried_once():
    tried = []

    class Broken:
        @LazyPart
        def data(self) -> int:
            tried.append(1)
            raise ZeroDivisionError("of a library")

    broken = Broken()
    for _ in range(2):
        with pytest.raises(MissingError, match="ZeroDivisionError: of a library"):
            _ = broken.data
    assert tried == [1]

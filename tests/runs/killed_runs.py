"""A script: kills the making and changing of a run at every file operation, and looks at the rest.

Usage: python -m tests.runs.killed_runs EMPTY_FOLDER
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from holdfast.runs.manifest import RunManifest
from holdfast.runs.run import Run, is_run

from .crashes import at_each_operation

OLD = RunManifest(
    config={"model": {"ssd": {"num_classes": 3}}},
    seed=7,
    versions={"holdfast": "0"},
    started="2026-01-02T03:04:05+00:00",
    plan={"fits": True},
)
NEW = replace(OLD, plan={"fits": False}, measured_peak_bytes=12)


def making(folder: Path) -> None:
    for _ in at_each_operation(
        lambda: shutil.rmtree(folder, ignore_errors=True), lambda: make(folder)
    ):
        if not is_run(folder):
            make(folder)
        with Run.resume(folder) as run:
            check(run, OLD)
            assert run.config_path.read_text() == "model {}\n"


def changing(folder: Path) -> None:
    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        make(folder)

    def change() -> None:
        with Run.resume(folder) as run:
            run.update(plan=NEW.plan, measured_peak_bytes=12)

    seen = set()
    for _ in at_each_operation(prepare, change):
        with Run.resume(folder) as run:
            check(run, NEW if run.manifest == NEW else OLD)
            seen.add(run.manifest == NEW)
    assert seen == {False, True}


def truncating(folder: Path) -> None:
    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        make(folder)
        with Run.resume(folder) as run:
            for step in range(10):
                run.events.append(step, "step", loss=step / 2)

    def truncate() -> None:
        with Run.resume(folder) as run:
            run.events.truncate_after(5)

    for _ in at_each_operation(prepare, truncate):
        with Run.resume(folder) as run:
            assert [event.step for event in run.read_events()] in (list(range(10)), list(range(6)))
            run.events.truncate_after(5)
            assert [event.step for event in run.read_events()] == list(range(6))
            check(run, OLD)


def make(folder: Path) -> None:
    Run.create(folder, OLD, "model {}\n").close()


def check(run: Run, manifest: RunManifest) -> None:
    assert run.manifest == manifest
    assert json.loads(run.plan_path.read_text()) == manifest.plan
    names = {path.name for path in run.path.iterdir()}
    assert names - {"events.jsonl"} == {".lock", "manifest.json", "plan.json", "pipeline.config"}


if __name__ == "__main__":
    making(Path(sys.argv[1]) / "making")
    changing(Path(sys.argv[1]) / "changing")
    truncating(Path(sys.argv[1]) / "truncating")

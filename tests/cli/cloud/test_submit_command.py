from __future__ import annotations

import io
import os

import pytest

from ..commands import CONFIG, holdfast, words

PROGRAMS = {"vertex": "gcloud", "kubernetes": "kubectl", "slurm": "sbatch"}


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Stand-ins for the programs that start jobs; gives the file that has their arguments."""
    (tmp_path / "bin").mkdir()
    for name in PROGRAMS.values():
        program = tmp_path / "bin" / name
        program.write_text(
            f'#!/bin/bash\necho {name} "$@" >> {tmp_path}/started\nexit ${{CODE:-0}}\n'
        )
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "pipeline.config").write_text(CONFIG)
    return tmp_path / "started"


def submit(folder, kind, *more):
    run = "/shared/one" if kind == "slurm" else "gs://cells/one"
    options = ("--on", "g2-standard-8", "--run", run, "--out", folder / "job", "--for", kind)
    return holdfast("cloud", "submit", folder / "pipeline.config", *options, *more)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_the_command_is_shown_and_run_as_shown(kind, started, tmp_path):
    done = submit(tmp_path, kind, "--yes")
    assert done.code == 0
    command = started.read_text().strip()
    assert command.startswith(PROGRAMS[kind])
    assert command in words(done.out)
    assert str(tmp_path / "job") in command


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_without_a_yes_nothing_is_started_and_the_files_stay(
    answer, started, tmp_path, monkeypatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    done = submit(tmp_path, "vertex")
    assert done.code == 1
    assert not started.exists()
    assert (tmp_path / "job" / "vertex_job.json").exists()


def test_a_job_that_is_refused_and_a_missing_program_are_told(started, tmp_path, monkeypatch):
    monkeypatch.setenv("CODE", "3")
    done = submit(tmp_path, "vertex", "--yes")
    assert (done.code, "ended with code 3" in words(done.out)) == (1, True)
    (tmp_path / "bin" / "sbatch").unlink()
    done = submit(tmp_path, "slurm", "--yes")
    assert (done.code, "sbatch is not installed here" in words(done.err)) == (2, True)

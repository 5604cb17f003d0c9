from __future__ import annotations

import pytest

from holdfast.cloud.write_job import JobKind, write_job
from holdfast.errors import HoldfastError

from .jobs import make_job


def test_all_kinds_that_can_run_a_job_are_written_and_the_others_named(tmp_path):
    written = write_job(make_job(), JobKind.ALL, tmp_path, replaces=False)
    assert {path.name for path in written.files} == {path.name for path in tmp_path.iterdir()}
    assert set(written.commands) == {"docker", "vertex", "kubernetes"}
    assert "is a bucket" in written.left_out["slurm"]
    shared = write_job(make_job(run="/shared/run"), JobKind.ALL, tmp_path / "b", replaces=False)
    assert set(shared.left_out) == {"vertex", "kubernetes"}


@pytest.mark.parametrize(
    ("kind", "run"), [("slurm", "gs://cells/run"), ("vertex", "/run"), ("kubernetes", "run")]
)
def test_a_kind_that_cannot_keep_the_run_is_refused(kind, run, tmp_path):
    with pytest.raises(HoldfastError, match="bucket"):
        write_job(make_job(run=run), JobKind(kind), tmp_path, replaces=False)
    assert list(tmp_path.iterdir()) == []


def test_files_that_were_changed_are_written_over_only_when_asked(tmp_path):
    write_job(make_job(), JobKind.ALL, tmp_path, replaces=False)
    write_job(make_job(), JobKind.ALL, tmp_path, replaces=False)  # the same again is no harm
    dockerfile = tmp_path / "Dockerfile"
    whole = dockerfile.read_text()
    dockerfile.write_text("FROM mine\n")
    jobset = (tmp_path / "jobset.yaml").read_text()
    with pytest.raises(HoldfastError, match=r"Dockerfile, .* would be written over"):
        write_job(make_job(workers=2), JobKind.ALL, tmp_path, replaces=False)
    assert dockerfile.read_text() == "FROM mine\n"
    assert (tmp_path / "jobset.yaml").read_text() == jobset
    write_job(make_job(), JobKind.ALL, tmp_path, replaces=True)
    assert dockerfile.read_text() == whole


def test_commands_name_the_files_that_were_written(tmp_path):
    folder = tmp_path / "a job"
    written = write_job(make_job(), JobKind.VERTEX, folder, replaces=False)
    assert f"--config='{folder}'/vertex_job.json" in written.commands["vertex"][0]
    assert "--region=europe-west4" in written.commands["vertex"][0]

from __future__ import annotations

import json

import pytest

from ..commands import CONFIG, holdfast, words


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "pipeline.config"
    path.write_text(CONFIG.replace('"records/', '"gs://cells/records/'))
    return path


def test_the_files_of_a_job_are_listed_as_json(config, tmp_path):
    options = ("--on", "g2-standard-8", "--run", "gs://cells/one", "--out", tmp_path / "job")
    done = holdfast("cloud", "job", config, *options, "--workers", 2, "--json")
    assert (done.code, done.err) == (0, "")
    files = json.loads(done.out)["files"]
    assert sorted(files) == sorted(map(str, (tmp_path / "job").iterdir()))
    assert "gs://" not in (tmp_path / "job" / "pipeline.config").read_text()


def test_the_commands_that_start_a_job_are_printed(config, tmp_path):
    options = ("--on", "n1-standard-8", "--card", "T4", "--run", "/shared/one", "--out", tmp_path)
    done = holdfast("cloud", "job", config, *options, "--for", "slurm")
    assert done.code == 0
    assert f"sbatch {tmp_path}/slurm_job.sh" in words(done.out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--on", "g2-standard-7", "--run", "gs://cells/one"), "No machine type is known"),
        (("--on", "g2-standard-8", "--run", "gs://Cells/one"), "does not name a bucket"),
        (("--on", "g2-standard-8", "--run", "one", "--for", "vertex"), "not in a bucket"),
    ],
)
def test_a_job_that_cannot_run_is_refused_in_words(options, message, config, tmp_path):
    done = holdfast("cloud", "job", config, *options, "--out", tmp_path / "job")
    assert done.code == 2
    assert message in words(done.err)
    assert not (tmp_path / "job").exists()


def test_a_config_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "wrong.config").write_text("modle { }")
    options = ("--on", "g2-standard-8", "--run", "gs://cells/one", "--out", tmp_path / "job")
    done = holdfast("cloud", "job", tmp_path / "wrong.config", *options)
    assert (done.code, (tmp_path / "job").exists()) == (2, False)

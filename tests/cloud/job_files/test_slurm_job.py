from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from holdfast.cloud.job_files.slurm_job import slurm_files

from ..jobs import make_job

SRUN = """#!/bin/bash
shift  # --kill-on-bad-exit
for ((index = 0; index < SLURM_NTASKS; index++)); do SLURM_PROCID=$index "$@"; done
"""
SCONTROL = '#!/bin/bash\n[ "$1 $2 $3" = "show hostnames node[1-2]" ] && printf "node1\\nnode2\\n"\n'
HOLDFAST = '#!/bin/bash\necho "${TF_CONFIG:-none}|$*"\n'


def run_script(folder: Path, workers: int) -> list[list[str]]:
    """Run the script with a Slurm of our own, and give what each process was told."""
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("holdfast", HOLDFAST)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (file,) = slurm_files(make_job(workers=workers, run="/shared/my run"))
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "41",
        "SLURM_JOB_NODELIST": "node[1-2]",
        "SLURM_NTASKS": str(workers),
    }
    environment.pop("TF_CONFIG", None)
    done = subprocess.run(
        ["bash", "-c", file.text], env=environment, capture_output=True, text=True, check=True
    )
    return [line.split("|") for line in done.stdout.splitlines()]


def test_each_process_finds_itself_in_the_cluster(tmp_path):
    told = run_script(tmp_path, workers=2)
    for index, (cluster, _) in enumerate(told):
        assert json.loads(cluster) == {
            "cluster": {"worker": ["node1:20041", "node2:20041"]},
            "task": {"type": "worker", "index": index},
        }
    assert len(told) == 2


def test_one_process_has_no_cluster_and_the_command_is_whole(tmp_path):
    ((cluster, command),) = run_script(tmp_path, workers=1)
    assert cluster == "none"
    config = Path("pipeline.config").resolve()
    assert command == f"train {config} --run /shared/my run --checkpoint-every 200"


@pytest.mark.parametrize("workers", [1, 3])
def test_slurm_is_asked_for_one_process_a_node(workers):
    (file,) = slurm_files(make_job(workers=workers))
    assert f"#SBATCH --nodes={workers}\n#SBATCH --ntasks-per-node=1\n" in file.text


# Options of sbatch that our script uses, and what their values look like.
SBATCH = {
    "job-name": r"[a-z0-9-]+",
    "nodes": r"\d+",
    "ntasks-per-node": r"\d+",
    "gpus-per-node": r"\d+",
    "signal": r"(B:)?[A-Z]+@\d+",
    "requeue": r"",
    "open-mode": r"append|truncate",
}


@pytest.mark.parametrize("workers", [1, 4])
def test_bash_and_sbatch_can_read_the_script(workers, tmp_path):
    (file,) = slurm_files(make_job(workers=workers, run="/shared/my run"))
    script = tmp_path / "job.sh"
    script.write_text(file.text)
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    lines = file.text.splitlines()
    options = [line.removeprefix("#SBATCH --") for line in lines if line.startswith("#SBATCH")]
    for option in options:
        name, _, value = option.partition("=")
        assert re.fullmatch(SBATCH[name], value), option
    # sbatch reads options up to the first line that is a command.
    first = next(number for number, line in enumerate(lines) if line and line[0] != "#")
    assert not [line for line in lines[first:] if line.startswith("#SBATCH")]
    assert f"nodes={workers}" in options

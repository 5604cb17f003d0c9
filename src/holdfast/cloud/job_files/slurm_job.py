"""A batch script of Slurm: one process a node, TF_CONFIG by the list of nodes."""

from __future__ import annotations

import shlex

from holdfast.cloud.job_request import JobFile, JobRequest

NAME = "slurm_job.sh"
_TEXT = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes={workers}
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node={num_cards}
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
# Two minutes before its time ends, the training is told to save and stop; the same script resumes.
set -euo pipefail

port=$((20000 + SLURM_JOB_ID % 20000))
addresses=""
for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
  addresses+="${{addresses:+, }}\\"$host:$port\\""
done
export HOLDFAST_ADDRESSES="$addresses"

# Each process is told its own place: SLURM_PROCID counts in the order of the nodes.
srun --kill-on-bad-exit=1 bash -c '
  if [ "$SLURM_NTASKS" -gt 1 ]; then
    task="{{\\"type\\": \\"worker\\", \\"index\\": $SLURM_PROCID}}"
    export TF_CONFIG="{{\\"cluster\\": {{\\"worker\\": [$HOLDFAST_ADDRESSES]}}, \\"task\\": $task}}"
  fi
  exec "$@"' holdfast-worker {command}
"""


def slurm_files(job: JobRequest) -> tuple[JobFile, ...]:
    """Write the script; config and run lie on a disk that all nodes share."""
    text = _TEXT.format(
        name=job.name,
        workers=job.workers,
        num_cards=job.machine.num_cards,
        command=shlex.join(job.command(str(job.config.resolve()))),
    )
    return (JobFile(NAME, text, (f"sbatch OUT/{NAME}",)),)

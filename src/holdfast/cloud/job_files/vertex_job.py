"""The specification of a custom job of Vertex AI, as `gcloud ai custom-jobs create` takes it."""

from __future__ import annotations

import json
from typing import Any

from holdfast.cloud.job_request import JobFile, JobRequest

NAME = "vertex_job.json"
_DISK_GB = 100
_WEEK = f"{7 * 24 * 60 * 60}s"


def vertex_files(job: JobRequest) -> tuple[JobFile, ...]:
    """Write a CustomJobSpec; TF_CONFIG is set on each machine by Vertex itself."""
    pools = [_pool(job, 1)] + ([_pool(job, job.workers - 1)] if job.workers > 1 else [])
    document: dict[str, Any] = {
        "workerPoolSpecs": pools,
        "scheduling": {
            "strategy": "SPOT" if job.is_spot else "STANDARD",
            "timeout": _WEEK,
            # The others cannot go on without one of them; together they resume.
            "restartJobOnWorkerRestart": job.workers > 1,
        },
    }
    command = (
        f"gcloud ai custom-jobs create --region={job.region} --display-name={job.name} "
        f"--config=OUT/{NAME}"
    )
    return (JobFile(NAME, json.dumps(document, indent=2) + "\n", (command,)),)


def _pool(job: JobRequest, replicas: int) -> dict[str, Any]:
    machine: dict[str, Any] = {"machineType": job.machine.name}
    if job.machine.card is not None:
        machine["acceleratorType"] = job.machine.card.vertex_name
        machine["acceleratorCount"] = job.machine.num_cards
    return {
        "machineSpec": machine,
        "replicaCount": replicas,
        "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": _DISK_GB},
        "containerSpec": {"imageUri": job.image, "command": job.command()},
    }

"""A JobSet of Kubernetes: one pod for each worker, TF_CONFIG by the pod's index."""

from __future__ import annotations

import json
from typing import Any

from holdfast.cloud.job_request import JobFile, JobRequest
from holdfast.cloud.mounts import bucket_of, buckets_in_config

NAME = "jobset.yaml"
_PORT = 2222
_GRACE_SECONDS = 120  # of which a spot machine of GKE leaves 15
_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def kubernetes_files(job: JobRequest) -> tuple[JobFile, ...]:
    """Write the JobSet; buckets are mounted by GKE's driver for Cloud Storage."""
    import yaml  # here: the command's help does without it

    text = yaml.safe_dump(_document(job), sort_keys=False, width=1000)
    return (JobFile(NAME, text, (f"kubectl apply --filename OUT/{NAME}",)),)


def _document(job: JobRequest) -> dict[str, Any]:
    worker = {
        "name": "worker",
        "replicas": 1,
        "template": {
            "spec": {
                "parallelism": job.workers,
                "completions": job.workers,
                "completionMode": "Indexed",
                "backoffLimit": 0,  # one that fails ends all; the JobSet starts all again
                "template": {
                    "metadata": {"annotations": {"gke-gcsfuse/volumes": "true"}},
                    "spec": _pod(job),
                },
            }
        },
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": job.name},
        "spec": {
            "failurePolicy": {"maxRestarts": 10},
            "network": {"enableDNSHostnames": True, "subdomain": job.name},
            "replicatedJobs": [worker],
        },
    }


def _pod(job: JobRequest) -> dict[str, Any]:
    buckets = dict.fromkeys([bucket_of(job.run) or "", *buckets_in_config(job.config_text)])
    named = {f"bucket-{index}": bucket for index, bucket in enumerate(filter(None, buckets))}
    selector = {"node.kubernetes.io/instance-type": job.machine.name}
    if job.is_spot:
        selector["cloud.google.com/gke-spot"] = "true"
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "nodeSelector": selector,
        "containers": [
            {
                "name": "train",
                "image": job.image,
                "command": job.command(),
                "ports": [{"containerPort": _PORT}],
                "env": _environment(job),
                "resources": {"limits": {"nvidia.com/gpu": job.machine.num_cards}},
                "volumeMounts": [
                    {"name": name, "mountPath": f"/gcs/{bucket}"} for name, bucket in named.items()
                ],
            }
        ],
        "volumes": [
            {
                "name": name,
                "csi": {
                    "driver": "gcsfuse.csi.storage.gke.io",
                    "volumeAttributes": {"bucketName": bucket, "mountOptions": "implicit-dirs"},
                },
            }
            for name, bucket in named.items()
        ],
    }


def _environment(job: JobRequest) -> list[dict[str, Any]]:
    """Give TF_CONFIG; Kubernetes replaces $(WORKER_INDEX) by the variable defined before it."""
    if job.workers == 1:
        return []
    hosts = [f"{job.name}-worker-0-{index}.{job.name}:{_PORT}" for index in range(job.workers)]
    cluster = json.dumps({"worker": hosts})
    task = '{"type": "worker", "index": $(WORKER_INDEX)}'
    return [
        {"name": "WORKER_INDEX", "valueFrom": {"fieldRef": {"fieldPath": _INDEX}}},
        {"name": "TF_CONFIG", "value": f'{{"cluster": {cluster}, "task": {task}}}'},
    ]

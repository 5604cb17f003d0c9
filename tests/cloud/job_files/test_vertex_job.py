from __future__ import annotations

import json

import pytest

from holdfast.cloud.job_files.vertex_job import vertex_files
from holdfast.cloud.machine_types import MACHINES, find_machine

from ..jobs import make_job

# Names of the fields and accelerators in the types of google-cloud-aiplatform 2.7.0, which are
# asked themselves where that package is installed.
FIELDS = {
    "": {"workerPoolSpecs", "scheduling", "serviceAccount", "baseOutputDirectory", "tensorboard"},
    "workerPoolSpecs": {"containerSpec", "machineSpec", "replicaCount", "diskSpec", "nfsMounts"},
    "machineSpec": {"machineType", "acceleratorType", "acceleratorCount"},
    "diskSpec": {"bootDiskType", "bootDiskSizeGb"},
    "containerSpec": {"imageUri", "command", "args", "env"},
    "scheduling": {
        *("timeout", "restartJobOnWorkerRestart", "strategy"),
        *("disableRetries", "maxWaitDuration"),
    },
}
ACCELERATORS = {
    *("NVIDIA_TESLA_K80", "NVIDIA_TESLA_P100", "NVIDIA_TESLA_V100", "NVIDIA_TESLA_T4"),
    *("NVIDIA_TESLA_A100", "NVIDIA_A100_80GB", "NVIDIA_L4", "NVIDIA_H100_80GB"),
    *("NVIDIA_H100_MEGA_80GB", "NVIDIA_H200_141GB", "NVIDIA_B200", "NVIDIA_RTX_PRO_6000"),
}


def document(**changes: object) -> dict:
    (file,) = vertex_files(make_job(**changes))
    return json.loads(file.text)


def unknown_fields(value: object, name: str = "") -> set[str]:
    if isinstance(value, list):
        return {each for element in value for each in unknown_fields(element, name)}
    if not isinstance(value, dict):
        return set()
    inner = {each for key, part in value.items() for each in unknown_fields(part, key)}
    return inner | (value.keys() - FIELDS[name])


@pytest.mark.parametrize("workers", [1, 4])
def test_every_field_is_one_of_a_custom_job(workers):
    assert unknown_fields(document(workers=workers)) == set()


@pytest.mark.parametrize("workers", [1, 4])
def test_the_client_of_vertex_takes_the_specification(workers):
    types = pytest.importorskip("google.cloud.aiplatform_v1").types
    assert types.CustomJobSpec.from_json(json.dumps(document(workers=workers)))


def test_one_machine_is_the_chief_and_the_others_are_the_second_pool():
    assert [pool["replicaCount"] for pool in document(workers=4)["workerPoolSpecs"]] == [1, 3]
    assert [pool["replicaCount"] for pool in document()["workerPoolSpecs"]] == [1]


@pytest.mark.parametrize("name", MACHINES)
def test_every_machine_has_an_accelerator_that_vertex_knows(name):
    card = "T4" if name.startswith("n1-") else None
    spec = document(machine=find_machine(name, card))["workerPoolSpecs"][0]["machineSpec"]
    assert spec["acceleratorType"] in ACCELERATORS
    assert spec["acceleratorCount"] >= 1


def test_a_run_in_a_bucket_is_written_to_its_mount_and_vertex_sets_the_cluster():
    container = document(workers=2)["workerPoolSpecs"][1]["containerSpec"]
    assert container["command"][:5] == [
        *("holdfast", "train", "/job/pipeline.config", "--run", "/gcs/cells/runs/One Two"),
    ]
    assert "env" not in container


def test_spot_machines_are_asked_for_by_their_strategy():
    assert document(is_spot=True)["scheduling"]["strategy"] == "SPOT"
    assert document()["scheduling"]["strategy"] == "STANDARD"

from __future__ import annotations

import json

import yaml

from holdfast.cloud.job_files.kubernetes_job import kubernetes_files

from ..jobs import make_job


def spec_of(**changes: object) -> dict:
    (file,) = kubernetes_files(make_job(**changes))
    return yaml.safe_load(file.text)["spec"]


def pod_of(spec: dict) -> dict:
    return spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]


def test_each_pod_gets_its_own_index_of_one_cluster():
    spec = spec_of(workers=3)
    index, cluster = pod_of(spec)["containers"][0]["env"]
    assert "job-completion-index" in index["valueFrom"]["fieldRef"]["fieldPath"]
    found = json.loads(cluster["value"].replace(f"$({index['name']})", "2"))
    assert found["task"] == {"type": "worker", "index": 2}
    # JobSet names pods JOBSET-JOB-0-INDEX, below the subdomain.
    assert found["cluster"]["worker"][1] == (
        f"holdfast-one-two-worker-0-1.{spec['network']['subdomain']}:2222"
    )
    job = spec["replicatedJobs"][0]["template"]["spec"]
    assert (job["parallelism"], job["completions"], job["completionMode"]) == (3, 3, "Indexed")


def test_one_pod_has_no_cluster():
    assert pod_of(spec_of())["containers"][0]["env"] == []


def test_buckets_of_run_and_config_are_mounted_once_where_the_command_looks():
    pod = pod_of(spec_of())
    mounts = pod["containers"][0]["volumeMounts"]
    assert [each["mountPath"] for each in mounts] == ["/gcs/cells", "/gcs/labels"]
    assert [each["name"] for each in mounts] == [each["name"] for each in pod["volumes"]]


def test_pods_ask_for_the_machine_and_all_its_cards():
    pod = pod_of(spec_of(is_spot=True))
    assert pod["nodeSelector"] == {
        "node.kubernetes.io/instance-type": "g2-standard-8",
        "cloud.google.com/gke-spot": "true",
    }
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": 1}

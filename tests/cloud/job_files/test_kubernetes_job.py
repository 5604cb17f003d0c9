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


# What our files use of the schema of JobSet v1alpha2, batch/v1 and v1: name -> type, or the
# names below it; [..] is a list of such. "*": any name.
SCHEMA: dict = {
    "apiVersion": str,
    "kind": str,
    "metadata": {"name": str},
    "spec": {
        "failurePolicy": {"maxRestarts": int},
        "network": {"enableDNSHostnames": bool, "subdomain": str},
        "replicatedJobs": [
            {
                "name": str,
                "replicas": int,
                "template": {
                    "spec": {
                        "parallelism": int,
                        "completions": int,
                        "completionMode": str,
                        "backoffLimit": int,
                        "template": {
                            "metadata": {"annotations": {"*": str}},
                            "spec": {
                                "restartPolicy": str,
                                "terminationGracePeriodSeconds": int,
                                "nodeSelector": {"*": str},
                                "containers": [
                                    {
                                        "name": str,
                                        "image": str,
                                        "command": [str],
                                        "ports": [{"containerPort": int}],
                                        "env": [
                                            {
                                                "name": str,
                                                "value": str,
                                                "valueFrom": {"fieldRef": {"fieldPath": str}},
                                            }
                                        ],
                                        "resources": {"limits": {"*": int}},
                                        "volumeMounts": [{"name": str, "mountPath": str}],
                                    }
                                ],
                                "volumes": [
                                    {
                                        "name": str,
                                        "csi": {"driver": str, "volumeAttributes": {"*": str}},
                                    }
                                ],
                            },
                        },
                    }
                },
            }
        ],
    },
}


def faults(value: object, schema: object, place: str = "") -> list[str]:
    """List what a document has that the schema has not."""
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return [f"{place} is not an object"]
        unknown = [f"{place}.{name}" for name in value if name not in schema and "*" not in schema]
        known = [(name, schema.get(name, schema.get("*"))) for name in value]
        inner = [faults(value[name], below, f"{place}.{name}") for name, below in known if below]
        return unknown + [fault for each in inner for fault in each]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{place} is not a list"]
        return [fault for each in value for fault in faults(each, schema[0], f"{place}[]")]
    return [] if type(value) is schema else [f"{place} is {value!r}"]


def test_the_file_has_only_fields_of_the_schema_with_their_types():
    for changes in ({}, {"workers": 3, "is_spot": True}):
        (file,) = kubernetes_files(make_job(**changes))
        assert faults(yaml.safe_load(file.text), SCHEMA) == []
    assert faults({"kind": 3, "spce": {}}, SCHEMA) == [".spce", ".kind is 3"]

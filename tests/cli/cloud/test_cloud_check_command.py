from __future__ import annotations

import json
import os

import pytest

from holdfast.cloud.preflight import memory_looks
from holdfast.doctor.checks import storage_unreachable
from holdfast.doctor.checks.storage_unreachable import Answer

from ..commands import CONFIG, holdfast, words

GCLOUD = """#!/bin/bash
shift  # --quiet
case "$*" in
  "storage ls gs://cells/missing"*)
    echo "ERROR: (gcloud.storage.ls) matched no objects" >&2; exit 1;;
  "storage ls gs://cells/page.record") echo gs://cells/page.record;;
  "storage cat "*page.record) printf "<html><body>";;
  "storage cp - gs://locked/"*) echo "ERROR: HTTPError 403: no access" >&2; exit 1;;
  "storage cp - "* | "storage rm "*) ;;
  "storage buckets describe gs://cells "*) echo US-EAST1;;
  "storage buckets describe "*) echo EUROPE-WEST4;;
  *) echo "unexpected: $*" >&2; exit 2;;
esac
"""
READER = """eval_input_reader {{ label_map_path: "{map}"
  tf_record_input_reader {{ input_path: "{path}" }} }}
"""
MISTAKES = {
    "an unset variable": ("variable", "NOT_SET_ANYWHERE is not set"),
    "a variable that the job lacks": ("variable", "has a variable that the job does not know"),
    "a missing file in a bucket": ("path", "gs://cells/missing.pbtxt cannot be listed: matched no"),
    "a missing checkpoint in a bucket": ("path", "gs://cells/missing-ckpt cannot be listed"),
    "a web page for records": ("records", "gs://cells/page.record: it is not a TFRecord file"),
    "text for records": ("records", "text.record: it is not a TFRecord file"),
    "an empty file": ("records", "empty.record: it is empty"),
    "a file that was cut": ("records", "cut.record: it ends inside its first record"),
    "a missing local file": ("config", "there is no file gone.record"),
    "a placeholder": ("config", "PATH_TO_BE_CONFIGURED was left in"),
    "a local file": ("path", "text.record is on this machine, not on the job's"),
    "a missing optimizer": ("config", "train_config.optimizer: it is missing"),
    "an old card": ("gpu", "no code for a K80"),
    "too little memory": ("gpu-memory", "however it is computed"),
    "an odd batch": ("batch", "A batch of 5 cannot be split over 4 cards"),
    "another number of workers": ("cluster", "TF_CONFIG names 3 machines that train, --workers 2"),
    "credentials that are gone": ("credentials", "gone.json, which is not a file"),
    "a bucket that is gone": ("bucket", "There is no bucket gs://nowhere"),
    "another region": ("region", "gs://cells is in US-EAST1, the job in europe-west4"),
    "a run that cannot be written": ("run", "gs://locked/one cannot be written: HTTPError 403"),
    "rare checkpoints": ("checkpoints", "Up to 2 h 46 min of work is lost"),
}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store of our own behind `gcloud`, and no question to the network."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gcloud").write_text(GCLOUD)
    (tmp_path / "bin" / "gcloud").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    statuses = {"nowhere": 404}
    monkeypatch.setattr(
        storage_unreachable, "ask", lambda bucket: Answer(statuses.get(bucket, 403), "")
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    return tmp_path


@pytest.fixture
def plans(monkeypatch):
    """What the planner answers, without the seconds that it takes."""
    answer = {"fits": True, "base_bytes": 0, "predicted_peak_bytes": 2**30}
    monkeypatch.setattr(memory_looks, "_planned", lambda *_: (answer, ""))
    return answer


def checks(done):
    return json.loads(done.out)["checks"]


@pytest.fixture
def failed(store, plans, monkeypatch):
    """The failed checks of one run of the command, on a job with every mistake."""
    plans["fits"] = False
    monkeypatch.setenv("KNOWN_HERE", "gs://nowhere")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(store / "gone.json"))
    cluster = {"worker": ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]}
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    (store / "text.record").write_text("this is text and not a record")
    (store / "empty.record").touch()
    (store / "cut.record").write_bytes(_head_of_record(100))
    paths = ["text.record", "empty.record", "cut.record", "gone.record", "PATH_TO_BE_CONFIGURED"]
    paths += ["$NOT_SET_ANYWHERE/a.record", "$KNOWN_HERE/page.record", "gs://cells/page.record"]
    text = CONFIG.split("eval_input_reader")[0].replace("batch_size: 4 num", "batch_size: 5 num")
    text = text.replace("optimizer { momentum_optimizer { learning_rate {", "", 1)
    text = text.replace("constant_learning_rate { learning_rate: 0.01 } } } }", "", 1)
    text = text.replace(
        "num_steps: 4", 'num_steps: 4 fine_tune_checkpoint: "gs://cells/missing-ckpt"'
    )
    text += "".join(READER.format(map="gs://cells/missing.pbtxt", path=path) for path in paths)
    (store / "pipeline.config").write_text(text)
    options = ("--on", "n1-standard-8", "--card", "K80", "--cards", 2, "--workers", 2)
    options += ("--run", "gs://locked/one", "--region", "europe-west4", "--spot")
    options += ("--step-seconds", 20, "--json")
    done = holdfast("cloud", "check", "pipeline.config", *options)
    assert (done.code, json.loads(done.out)["ok"]) == (1, False)
    return [each for each in checks(done) if not each["ok"]]


def _head_of_record(length: int) -> bytes:
    """Give the head of a record of `length` bytes, of which nothing follows."""
    from holdfast.cloud.preflight import first_record

    head = length.to_bytes(8, "little")
    return head + first_record._masked(first_record._crc32c(head)).to_bytes(4, "little")


def test_every_mistake_is_named_with_a_fix_in_one_run(failed):
    missing = [
        mistake
        for mistake, (name, text) in MISTAKES.items()
        if not any(each["name"] == name and text in each["what"] for each in failed)
    ]
    assert missing == []
    assert [each["what"] for each in failed if not each["fix"]] == []


BESIDE = {
    "a misspelled field": ("config", "has no field `batch_sise`"),
    "an unknown kind of checkpoint": ("config", "'detecton' is not a checkpoint type"),
    "a missing local file": ("config", "there is no file gone.record"),
    "one file of a checkpoint": ("config", "ckpt.index is one file of a checkpoint"),
    "a folder for records": ("config", "runs is a folder"),
    "a lost slash": ("path", "gs:/cells/a.record lacks a slash"),
    "another store": ("path", "s3://cells/a.record cannot be read"),
    "a web address": ("path", "https://cells.com/a.record cannot be read"),
    "a missing file in a bucket": ("path", "gs://cells/missing.record cannot be listed"),
    "a web page for records": ("records", "page.record: it is not a TFRecord file"),
    "an odd batch": ("batch", "A batch of 5 cannot be split over 4 cards"),
    "two machines of one address": ("cluster", "names an address twice"),
    "a key that is none": ("credentials", "which is not JSON"),
    "a zone": ("region", "europe-west4-a is a zone"),
}


def test_a_field_that_cannot_be_read_hides_no_other_mistake(store, plans, monkeypatch):
    (store / "key.json").write_text("PRIVATE")
    (store / "runs").mkdir()
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(store / "key.json"))
    cluster = {"worker": ["10.0.0.1:1", "10.0.0.1:1"]}
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    paths = ["gone.record", "runs", "gs:/cells/a.record", "s3://cells/a.record"]
    paths += ["https://cells.com/a.record", "gs://cells/missing.record", "gs://cells/page.record"]
    text = CONFIG.split("eval_input_reader")[0].replace("batch_size: 4 num", "batch_size: 5 num")
    more = 'fine_tune_checkpoint: "gs://cells/ckpt.index" fine_tune_checkpoint_type: "detecton"'
    text = text.replace("num_steps: 4", f"num_steps: 4 batch_sise: 8 {more}")
    text += "".join(READER.format(map="gs://cells/page.record", path=path) for path in paths)
    (store / "pipeline.config").write_text(text)
    options = ("--on", "n1-standard-8", "--card", "T4", "--cards", 2, "--workers", 2)
    options += ("--run", "gs:/cells/one", "--region", "europe-west4-a", "--json")
    done = holdfast("cloud", "check", "pipeline.config", *options)
    failed = [each for each in checks(done) if not each["ok"]]
    missing = [
        mistake
        for mistake, (name, text) in BESIDE.items()
        if not any(each["name"] == name and text in each["what"] for each in failed)
    ]
    assert missing == []
    assert [each["what"] for each in failed if not each["fix"]] == []
    assert "PRIVATE" not in done.out
    assert "at gs://cells/one, from this machine" in done.out


def test_a_sound_job_has_no_failed_check(trained, store, plans):
    done = holdfast(
        *("cloud", "check", trained.config, "--on", "g2-standard-8"),
        *("--run", store / "runs" / "one", "--json"),
    )
    assert [each for each in checks(done) if not each["ok"]] == []
    assert done.code == 0
    assert {"records", "gpu", "gpu-memory", "run"} <= {each["name"] for each in checks(done)}
    assert not (store / "runs").exists()


def test_what_only_a_real_cloud_can_show_is_marked(trained, store, plans):
    options = ("--on", "g4-standard-48", "--spot", "--workers", 2)
    done = holdfast("cloud", "check", trained.config, *options)
    assert done.code == 0
    assert "only a real cloud can show gpu:" in words(done.out)
    assert "only a real cloud can show checkpoints:" in words(done.out)


@pytest.mark.slow
def test_memory_is_judged_by_the_planner_itself(trained, store):
    done = holdfast(
        *("cloud", "check", trained.config, "--on", "g2-standard-8", "--json"),
        *("--time-limit", 500),
    )
    (memory,) = [each for each in checks(done) if each["name"] == "gpu-memory"]
    assert memory["ok"]
    assert "of a L4" in memory["what"]


def test_a_plan_that_takes_too_long_is_said_and_the_rest_is_judged(trained, store):
    done = holdfast(
        *("cloud", "check", trained.config, "--on", "g2-standard-8", "--json"),
        *("--time-limit", 1),
    )
    wrong = [each for each in checks(done) if not each["ok"]]
    assert [each["name"] for each in wrong] == ["gpu-memory"]
    assert "no time for a plan" in wrong[0]["what"]
    assert done.code == 1

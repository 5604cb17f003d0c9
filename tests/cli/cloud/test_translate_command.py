from __future__ import annotations

import json

from ..commands import holdfast, words

SCRIPT = """#!/bin/bash
# gcloud ai-platform jobs submit training is what starts it
gcloud ml-engine jobs submit training detect_$(date +%s) \\
    --runtime-version 1.12 --job-dir=gs://cells/old --region us-central1 \\
    --module-name object_detection.model_main_tf2 --scale-tier CUSTOM \\
    --master-machine-type standard_p100 --worker-count 3 \\
    --worker-machine-type standard_p100 --parameter-server-count 3 -- \\
    --model_dir=gs://cells/runs/one --pipeline_config_path=gs://cells/ssd.config \\
    --num_train_steps=20000 --alsologtostderr
"""


def test_a_script_becomes_the_command_of_today_and_no_option_is_forgotten(tmp_path):
    script = tmp_path / "old.sh"
    script.write_text(SCRIPT)
    done = holdfast("cloud", "translate", script, "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert " ".join(found["command"]) == (
        "holdfast cloud job ssd.config --on n1-standard-8 --card P100 --cards 1 "
        "--run gs://cells/runs/one --workers 4 --region us-central1 --out job"
    )
    written = {each["option"].split()[0] for each in found["options"]}
    assert written == {
        word.split("=")[0] for word in SCRIPT.split() if word.startswith("--") and word != "--"
    }
    became = {each["option"].split()[0]: each["became"] for each in found["options"]}
    assert became["--num_train_steps"] == "train_config.num_steps: 20000, in the config"
    assert became["--runtime-version"].startswith("left out")


def test_the_command_is_printed_last(tmp_path):
    script = tmp_path / "old.sh"
    script.write_text(
        "gcloud ai-platform jobs submit training a --scale-tier BASIC_GPU --region eu"
    )
    done = holdfast("cloud", "translate", script)
    assert done.code == 0
    assert words(done.out).endswith("--run gs://BUCKET/FOLDER --region eu --out job")


def test_tpus_and_scripts_without_a_submission_are_refused(tmp_path):
    script = tmp_path / "old.sh"
    script.write_text("gcloud ai-platform jobs submit training a --scale-tier BASIC_TPU")
    assert "no TensorFlow 2.21 for them" in words(holdfast("cloud", "translate", script).err)
    script.write_text("echo hello")
    assert holdfast("cloud", "translate", script).code == 2

from __future__ import annotations

import json
import re

from holdfast.cloud.job_files.docker_image import docker_files

from ..jobs import make_job


def test_the_image_has_the_config_and_runs_the_training_without_a_shell():
    config, dockerfile = docker_files(make_job())
    assert 'label_map_path: "/gcs/labels/map.pbtxt" }  # gs://not-a-path' in config.text
    command = json.loads(re.search(r"^CMD (.*)$", dockerfile.text, re.MULTILINE)[1])
    assert command == make_job().command()
    copied = re.search(r"^COPY (\S+) (\S+)$", dockerfile.text.partition("RUN")[2], re.MULTILINE)
    assert copied.groups() == (config.name, command[2])

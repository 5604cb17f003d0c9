"""A job that the tests of its files share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.cloud.job_request import JobRequest
from holdfast.cloud.machine_types import find_machine

CONFIG = 'train_input_reader { label_map_path: "gs://labels/map.pbtxt" }  # gs://not-a-path\n'


def make_job(**changes: Any) -> JobRequest:
    job = JobRequest(
        config=Path("pipeline.config"),
        config_text=CONFIG,
        machine=find_machine("g2-standard-8"),
        workers=1,
        run="gs://cells/runs/One Two",
        image="eu.example/holdfast:1",
        region="europe-west4",
        checkpoint_every=200,
        is_spot=False,
    )
    return replace(job, **changes)

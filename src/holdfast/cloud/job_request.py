"""What a job is to do, as all kinds of job files need it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.cloud.machine_types import Machine
from holdfast.cloud.mounts import mounted
from holdfast.config.load import load_config

CONFIG_IN_IMAGE = "/job/pipeline.config"


class JobFile(NamedTuple):
    """A file of a job, and the commands that make something of it, with OUT for its folder."""

    name: str
    text: str
    commands: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """A training on rented machines."""

    config: Path
    config_text: str
    machine: Machine
    workers: int
    run: str  # gs://…, /gcs/… or a folder that all machines share
    image: str
    region: str
    checkpoint_every: int
    is_spot: bool

    @property
    def name(self) -> str:
        """A name that Vertex, Kubernetes and Slurm all take: small letters, digits and -."""
        plain = re.sub(r"[^a-z0-9]+", "-", Path(self.run).name.lower()).strip("-")
        return f"holdfast-{plain or 'run'}"[:40].rstrip("-")

    def command(self, config: str = CONFIG_IN_IMAGE) -> list[str]:
        """Give the command that every machine runs; the same one resumes."""
        return [
            *("holdfast", "train", config, "--run", mounted(self.run)),
            *("--checkpoint-every", str(self.checkpoint_every)),
        ]


def read_request(config: Path, **choices: Any) -> JobRequest:
    """Make a request of a config file; one that cannot be read is an error, and worth no job."""
    load_config(config)
    return JobRequest(config=config, config_text=config.read_text(encoding="utf-8"), **choices)

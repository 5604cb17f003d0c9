"""`holdfast train --pretrained`: the fields of the config that start it from published weights."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from holdfast.errors import HoldfastError

_CHECKPOINT = "train_config.fine_tune_checkpoint"


def pretrained_settings(
    name: str | None, config: Path, assignments: Sequence[str], mirror: str | None
) -> dict[str, str]:
    """Fetch weights, prove them on the config's network, and say what to set: nothing without name.

    Another process does it: to fill a network makes tensors, and a training has to choose its
    devices before the first one.
    """
    refuse_mirror(mirror, name)
    if name is None:
        return {}
    command = [sys.executable, "-m", "holdfast", "weights", "get", name, "--json"]
    command += ["--for", str(config)]
    command += [each for text in assignments for each in ("--set", text)]
    command += ["--mirror", mirror] if mirror else []
    finished = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if finished.returncode:
        raise typer.Exit(finished.returncode)  # it has said why
    found = json.loads(finished.stdout)
    return {
        _CHECKPOINT: found["path"],
        f"{_CHECKPOINT}_type": found["fine_tune_checkpoint_type"],
    }


def refuse_mirror(mirror: str | None, pretrained: str | None) -> None:
    """Raise if a mirror is named and nothing to fetch from it."""
    if mirror is not None and pretrained is None:
        raise HoldfastError("--mirror has no effect without --pretrained.", fix="Give both.")

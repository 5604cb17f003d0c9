"""`holdfast train --pretrained`: the fields of the config that start it from published weights."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from holdfast.cli.set_option import parse_assignments
from holdfast.errors import HoldfastError

_CHECKPOINT = "train_config.fine_tune_checkpoint"


def start_overrides(
    assignments: Sequence[str], pretrained: str | None, config: Path, mirror: str | None
) -> dict[str, str]:
    """Give what is set on the command line, and the published weights that were asked for."""
    refuse_mirror(mirror, pretrained)
    given = parse_assignments(assignments)
    if pretrained is None:
        return given
    return given | _pretrained_settings(pretrained, config, assignments, mirror)


def _pretrained_settings(
    name: str, config: Path, assignments: Sequence[str], mirror: str | None
) -> dict[str, str]:
    """Fetch weights, prove them on the config's network, and say what to set.

    Another process does it: to fill a network makes tensors, and a training has to choose its
    devices before the first one.
    """
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

"""Measure what a step really needs, in a process of its own that does nothing else."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.memory.devices.allocation import ENVIRONMENT
from holdfast.units import bytes_text


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a process held, and how long its fastest step took."""

    base_bytes: int  # before the detector was built
    peak_bytes: int  # the most it ever held above that
    step_seconds: float


def measure(
    command: Sequence[str], request: Mapping[str, Any], *, seconds: float | None = None
) -> Measured:
    """Run a process that takes some steps, and read what it held.

    command: a program that reads the request as JSON and prints the fields of Measured as its last
    line. HoldfastError if it fails, which a step that does not fit may make it do.
    """
    run = subprocess.run(
        list(command),
        input=json.dumps(request),
        env=os.environ | dict(ENVIRONMENT),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    lines = run.stdout.strip().splitlines()
    if run.returncode or not lines:
        raise HoldfastError(_failure(run.returncode, run.stderr), fix=_fix(run.returncode))
    return Measured(**json.loads(lines[-1]))


def _failure(code: int, errors: str) -> str:
    last = next((line for line in reversed(errors.splitlines()) if line.strip()), "")
    reason = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    return f"The process that measures a step {reason}. {last}".strip()


def _fix(code: int) -> str:
    if code == -9:
        from holdfast.memory.devices.host import peak_bytes

        held = bytes_text(peak_bytes())
        return (
            f"The system probably ran out of memory (this process holds {held}): split the batch."
        )
    return "Run `holdfast plan` without --measure, or train with a smaller batch."

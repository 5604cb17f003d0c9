"""What the doctor proposes about a run's learning rate, and the commands to try it."""

from __future__ import annotations

import shlex

from holdfast.doctor.case import Case
from holdfast.doctor.lazy_part import MissingError


def scaled_rate(case: Case, factor: float) -> dict[str, str]:
    """Give the fields that multiply all rates by a factor; {} where the config is not known."""
    try:
        return case.rate_curve.scaled(factor)
    except MissingError:
        return {}


def doctor_command(case: Case, *options: str) -> str:
    """Write a command of the doctor about the case's config."""
    try:
        path = str(case.config_path)
    except MissingError:
        path = "pipeline.config"
    return shlex.join(["holdfast", "doctor", path, *options])

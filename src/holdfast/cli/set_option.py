"""The `--set path=value` option of every command that takes a config."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.config.text.overrides import split_assignment
from holdfast.errors import HoldfastError


def parse_assignments(assignments: Iterable[str]) -> dict[str, str]:
    """Turn the values of `--set` into overrides, later ones winning."""
    try:
        return dict(split_assignment(assignment) for assignment in assignments)
    except ValueError as error:
        fix = "Write for example --set train_config.batch_size=8"
        raise HoldfastError(f"--set {error}", fix=fix) from None

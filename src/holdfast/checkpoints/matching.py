"""Finds for each variable of a detector its place in a checkpoint, by names and shapes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from holdfast.checkpoints.legacy_mapping.detector_names import Kind, names_of
from holdfast.checkpoints.legacy_mapping.sought import Sought
from holdfast.checkpoints.legacy_reader import LegacyCheckpoint
from holdfast.checkpoints.legacy_sorting import scopes_of
from holdfast.checkpoints.report import Report
from holdfast.errors import HoldfastError, nearest


def match(detector: Any, checkpoint: LegacyCheckpoint, kind: Kind) -> Report:
    """Say what of the checkpoint fits; HoldfastError if nothing does."""
    _check_kind(kind)
    sought = names_of(detector, checkpoint.generation, kind, checkpoint.shapes)
    report = _compare(checkpoint, sought)
    if not report.loaded:
        raise _nothing_fits(checkpoint, sought, report)
    return report


def _compare(checkpoint: LegacyCheckpoint, sought: Sequence[Sought]) -> Report:
    variables: dict[str, Any] = {}
    mismatched, missing = [], []
    scopes = {scope for name in checkpoint.shapes for scope in scopes_of(name)}
    for each in sought:
        name = next((name for name in each.names if name in checkpoint.shapes), None)
        if name is None:
            missing.append(_expected(each.names, scopes))
        elif checkpoint.shapes[name] != tuple(each.variable.shape):
            mismatched.append(name)
        else:
            variables[name] = each.variable
    used = {*variables, *mismatched}
    return Report(
        loaded=tuple(variables),
        mismatched=tuple(mismatched),
        unused=tuple(name for name in checkpoint.shapes if name not in used),
        other=checkpoint.other,
        missing=tuple(missing),
        variables=variables,
    )


def _expected(names: Sequence[str], scopes: set[str]) -> str:
    """Choose the name whose neighbours are in the checkpoint."""
    return max(names, key=lambda name: sum(scope in scopes for scope in scopes_of(name)))


def _check_kind(kind: str) -> None:
    kinds = get_args(Kind)
    if kind not in kinds:
        similar = nearest(kind, kinds)
        raise HoldfastError(
            f"There is no way {kind!r} to load a checkpoint.",
            fix=f"Did you mean {similar[0]}?" if similar else f"Known: {', '.join(kinds)}.",
        )


def _nothing_fits(
    checkpoint: LegacyCheckpoint, sought: Sequence[Sought], report: Report
) -> HoldfastError:
    if report.mismatched:
        name = report.mismatched[0]
        own = next(tuple(each.variable.shape) for each in sought if name in each.names)
        why = f"{name} has the shape {checkpoint.shapes[name]} there and {own} here"
    else:
        held = next(iter(checkpoint.shapes), "no variable of a model")
        why = f"it holds {held}, and {sought[0].names[0]} is looked for"
    return HoldfastError(
        f"Nothing in {checkpoint.prefix} fits this detector: {why}.",
        fix="Give a checkpoint of the same feature extractor with the same depth_multiplier.",
    )

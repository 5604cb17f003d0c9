"""Finds for each variable of a detector its place in a checkpoint, by names and shapes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, get_args

import numpy as np

from holdfast.checkpoints.legacy.detector_names import Kind, names_of
from holdfast.checkpoints.legacy.legacy_reader import LegacyCheckpoint
from holdfast.checkpoints.legacy.legacy_sorting import scopes_of
from holdfast.checkpoints.legacy.sought_names import Sought
from holdfast.checkpoints.own.own_names import own_names
from holdfast.checkpoints.own.own_reader import OwnCheckpoint
from holdfast.checkpoints.report import ImpliedValue, Report
from holdfast.errors import HoldfastError, nearest
from holdfast.models.detectors.interface import Detector


class OpenCheckpoint(Protocol):
    """What a checkpoint tells of itself, whoever wrote it."""

    @property
    def prefix(self) -> str:
        """What comes before .index and .data-00000-of-00001."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The model's variables, by name, sorted."""

    @property
    def ranges(self) -> Mapping[str, tuple[int, ...]]:
        """What the OD API observed for quantization: other things, unless they are asked for."""

    @property
    def averages(self) -> Mapping[str, str]:
        """Name of a model's variable -> name of its moving average."""

    @property
    def other(self) -> tuple[str, ...]:
        """What is not the model's."""

    def value(self, name: str) -> np.ndarray:
        """Read one tensor; HoldfastError when its file is damaged."""


def match(detector: Detector, checkpoint: LegacyCheckpoint, kind: Kind) -> Report:
    """Say what of a checkpoint of the OD API fits; HoldfastError if nothing does."""
    _check_kind(kind)
    return _match_names(
        checkpoint, names_of(detector, checkpoint.generation, kind, checkpoint.shapes)
    )


def match_own(detector: Detector, checkpoint: OwnCheckpoint, kind: Kind) -> Report:
    """Say what of a checkpoint of Holdfast fits; HoldfastError if nothing does."""
    _check_kind(kind)
    return _match_names(checkpoint, own_names(detector, kind))


def _match_names(checkpoint: OpenCheckpoint, sought: Sequence[Sought]) -> Report:
    report = _compare(checkpoint, sought)
    if not report.loaded:
        raise _nothing_fits(checkpoint, sought, report)
    return report


def _compare(checkpoint: OpenCheckpoint, sought: Sequence[Sought]) -> Report:
    variables: dict[str, Any] = {}
    implied: list[ImpliedValue] = []
    mismatched, missing = [], []
    changes: list[str] = []
    shapes = {**checkpoint.shapes, **checkpoint.ranges}
    scopes = {scope for name in checkpoint.shapes for scope in scopes_of(name)}
    for each in sought:
        name = next((name for name in each.names if name in shapes), None)
        if name is None and each.implied and not shapes.keys().isdisjoint(each.implied.by):
            implied.append(ImpliedValue(each.names[0], each.variable, each.implied.value))
            changes.append(each.implied.change)
        elif name is None and not each.is_optional:
            missing.append(_expected(each.names, scopes))
        elif name is not None and shapes[name] != tuple(each.variable.shape):
            mismatched.append(name)
        elif name is not None:
            variables[name] = each.variable
    used = {*variables, *mismatched}
    return Report(
        loaded=tuple(variables),
        mismatched=tuple(mismatched),
        unused=tuple(name for name in checkpoint.shapes if name not in used),
        other=tuple(name for name in checkpoint.other if name not in used),
        missing=tuple(missing),
        variables=variables,
        implied=tuple(implied),
        changes=tuple(dict.fromkeys(changes)),
    )


def _expected(names: Sequence[str], scopes: set[str]) -> str:
    """Choose the name whose neighbors are in the checkpoint."""
    return max(names, key=lambda name: sum(scope in scopes for scope in scopes_of(name)))


def _check_kind(kind: str) -> None:
    kinds = get_args(Kind)
    if kind not in kinds:
        similar = nearest(kind, kinds)
        raise HoldfastError(
            f"{kind!r} is not a way to load a checkpoint.",
            fix=f"Did you mean {similar[0]}?" if similar else f"Known: {', '.join(kinds)}.",
        )


def _nothing_fits(
    checkpoint: OpenCheckpoint, sought: Sequence[Sought], report: Report
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

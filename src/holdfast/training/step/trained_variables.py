"""Which variables of a detector are trained: those a config updates, without those it freezes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import keras

from holdfast.checkpoints.legacy.detector_names import names_of
from holdfast.checkpoints.legacy.legacy_sorting import VALUE_SUFFIX
from holdfast.checkpoints.legacy.sought_names import Sought
from holdfast.errors import HoldfastError, nearest
from holdfast.models.detectors.interface import Detector

Naming = Literal["tf1", "holdfast", "tf2"]
Names = Mapping[str, str]  # path of a variable -> its name in one naming


@dataclass(frozen=True, kw_only=True)
class VariableChoice:
    """What one regular expression of the config picked out."""

    field: str  # freeze_variables or update_trainable_variables
    pattern: str
    naming: Naming  # whose names it was read as
    paths: tuple[str, ...]  # of the variables picked out


@dataclass(frozen=True, kw_only=True)
class TrainedVariables:
    """The variables that training changes by gradients, and why these."""

    variables: tuple[keras.Variable, ...]  # in the order of the detector
    frozen: tuple[str, ...]  # paths of the others that gradients could change
    choices: tuple[VariableChoice, ...]


def choose_trained_variables(
    detector: Detector, *, update: Sequence[str] = (), freeze: Sequence[str] = ()
) -> TrainedVariables:
    """Choose as the OD API does: all, or those that update finds, without those freeze finds.

    A regular expression may be found anywhere in a name. Each is read in one naming: the first of
    TF1's names (which the OD API means; in TF2 it ignores both fields), Holdfast's paths and the
    keys of TF2 checkpoints in which it tells variables apart. One that finds nothing is an error.
    A frozen batch norm still follows its batches: freeze_batchnorm is there to stop that.
    """
    idle = _idle_paths(detector)
    trainable = [each for each in detector.trainable_variables if each.path not in idle]
    namings = _namings(detector, trainable)
    updated = _choices("update_trainable_variables", update, namings)
    frozen = _choices("freeze_variables", freeze, namings)
    kept = _found(updated) if update else {variable.path for variable in trainable}
    kept -= _found(frozen)
    if not kept:
        raise HoldfastError(
            "No variable is left to train: freeze_variables and update_trainable_variables "
            f"leave out all {len(trainable)}.",
            fix="Freeze less; `freeze_variables` counts where both find a variable.",
        )
    return TrainedVariables(
        variables=tuple(variable for variable in trainable if variable.path in kept),
        frozen=tuple(variable.path for variable in trainable if variable.path not in kept),
        choices=(*updated, *frozen),
    )


def _choices(
    field: str, patterns: Sequence[str], namings: Mapping[Naming, Names]
) -> tuple[VariableChoice, ...]:
    choices = {pattern: _choice(field, pattern, namings) for pattern in patterns}
    if idle := [pattern for pattern, choice in choices.items() if choice is None]:
        raise _found_nothing(field, idle, namings)
    return tuple(choice for choice in choices.values() if choice is not None)


def _choice(field: str, pattern: str, namings: Mapping[Naming, Names]) -> VariableChoice | None:
    expression = _compiled(field, pattern)
    everything = None
    for naming, names in namings.items():
        paths = tuple(path for path, name in names.items() if expression.search(name))
        if not paths:
            continue
        choice = VariableChoice(field=field, pattern=pattern, naming=naming, paths=paths)
        # `^(?!.*BoxPredictor)` finds everything where nothing is called so: that is not its naming.
        if len(paths) < len(names):
            return choice
        everything = everything or choice
    return everything


def _compiled(field: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise HoldfastError(
            f"{field}: {pattern!r} is not a valid regular expression: {error}.",
            fix=r"In a config, a bracket that means itself is written \\( or \\[.",
        ) from error


def _found(choices: Sequence[VariableChoice]) -> set[str]:
    return {path for choice in choices for path in choice.paths}


def _idle_paths(detector: Detector) -> set[str]:
    """List what no output depends on: EfficientDet carries the end of its classifier along."""
    return {
        variable.path
        for part in detector.parts().values()
        for block in getattr(part, "idle_blocks", ())
        for variable in block.weights
    }


# --- names -------------------------------------------------------------------------------------


def _namings(detector: Detector, variables: Sequence[keras.Variable]) -> dict[Naming, Names]:
    namings: dict[Naming, Names] = {
        "tf1": _by_path(_legacy_names(detector, "tf1"), variables),
        "holdfast": {variable.path: variable.path for variable in variables},
        "tf2": _by_path(_legacy_names(detector, "tf2"), variables),
    }
    return {naming: names for naming, names in namings.items() if names}


def _legacy_names(detector: Detector, generation: Literal["tf1", "tf2"]) -> Sequence[Sought]:
    try:
        return names_of(detector, generation, "full", ())
    except HoldfastError:  # a network that this generation did not have
        return ()


def _by_path(sought: Sequence[Sought], variables: Sequence[keras.Variable]) -> Names:
    names = {each.variable.path: each.names[0].removesuffix(VALUE_SUFFIX) for each in sought}
    return {variable.path: names[variable.path] for variable in variables if variable.path in names}


def _found_nothing(
    field: str, patterns: Sequence[str], namings: Mapping[Naming, Names]
) -> HoldfastError:
    scopes = dict.fromkeys(
        scope for names in namings.values() for name in names.values() for scope in _scopes(name)
    )
    similar = {pattern: nearest(_plain(pattern), scopes, 3) for pattern in patterns[:3]}
    hints = [
        f"{each}: did you mean {' or '.join(found)}?" for each, found in similar.items() if found
    ]
    looks = ", or ".join(next(iter(names.values())) for names in namings.values())
    return HoldfastError(
        f"{field} names what is not a trainable variable of this detector: {', '.join(patterns)}.",
        fix="\n".join([*hints, f"Names look like {looks}."]),
    )


def _plain(pattern: str) -> str:
    """Leave out the signs of a regular expression."""
    return re.sub(r"\.\*|\\(.)|[\^$*+?()\[\]{}|]", r"\1", pattern).strip("/")


def _scopes(name: str) -> Iterator[str]:
    """List what a user may write of a name: each of its parts, and each beginning."""
    parts = name.split("/")
    yield from parts
    for end in range(2, len(parts) + 1):
        yield "/".join(parts[:end])

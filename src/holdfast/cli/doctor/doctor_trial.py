"""`holdfast doctor --try`: short trainings with and without a fix, and what the fix gains."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.doctor.case import Case
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.trial_plan import TriedFix
from holdfast.doctor.trial_verdict import MeasuredArm, TrialVerdict, judge, measured
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.training.training_settings import TrainingSettings
    from holdfast.training.trial import ArmOutcome

STEPS = 200
OWN = "set"  # the fix is what --set says
AS_IT_IS, FIXED, OTHER_SEED = "as it is", "with the fix", "as it is, another seed"
_AT_HALF = "DetectionBoxes_Precision/mAP@.50IOU"


def fix_to_try(case: Case, chosen: str, overrides: Mapping[str, str]) -> TriedFix:
    """Give the fix that the command line names: of a finding, or the user's own."""
    from holdfast.doctor.trial_plan import fix_of

    if chosen != OWN:
        return fix_of(case, chosen)
    if not overrides:
        raise HoldfastError(
            "--try set tries what --set says, and there is no --set.",
            fix="Give --set FIELD=VALUE, or the code of a finding instead of `set`.",
        )
    return TriedFix(name=OWN, text="the given settings", overrides=dict(overrides))


def try_fix(case: Case, fix: TriedFix, *, steps: int | None, as_json: bool) -> None:
    """Train with and without it, and say whether it helps; exit code 1 if it does not."""
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.doctor.trial_plan import start_of

    load_tensorflow()
    start = start_of(case, fix)
    outcomes = run_arms(case, fix, steps or STEPS, start)
    verdict = verdict_of(outcomes, fix)
    document = {
        "fix": {"name": fix.name, "text": fix.text, "set": dict(fix.overrides)},
        "started_from": None if start is None else start.step,
        "steps": steps or STEPS,
        "trials": [_row(each) for each in outcomes],
        "judged_by": verdict.judged_by,
        "gain": verdict.gain,
        "noise": verdict.noise,
        "offered": verdict.is_offered,
    }
    if as_json:
        typer.echo(json.dumps(document, indent=1))
    else:
        _print(document, verdict)
    raise typer.Exit(0 if verdict.is_offered else 1)


def run_arms(case: Case, fix: TriedFix, steps: int, start: Any) -> tuple[ArmOutcome, ...]:
    """Train the three arms, in a folder that is gone afterwards."""
    from holdfast.cli.progress_bar import progress
    from holdfast.config.text.overrides import apply_overrides
    from holdfast.errors import ConfigError, errors_of
    from holdfast.training.trial import Arm, try_arms

    config, problems = apply_overrides(case.config, dict(fix.overrides))
    if wrong := errors_of(problems):
        raise ConfigError("the fix", wrong)
    own = run_settings(case)
    weights = fix.class_weights or own.class_weights
    arms = (
        Arm(name=AS_IT_IS, config=case.config, settings=own),
        Arm(name=FIXED, config=config, settings=replace(own, class_weights=weights)),
        Arm(name=OTHER_SEED, config=case.config, settings=replace(own, seed=own.seed + 1)),
    )
    with tempfile.TemporaryDirectory(prefix="holdfast-trial-") as place:
        return try_arms(
            arms, Path(place), steps=steps, checkpoint=start, folder=case.folder, watch=progress
        )


def run_settings(case: Case) -> TrainingSettings:
    """Give the settings of the case's run; those of a training without options, if it has none."""
    from holdfast.training.training_settings import TrainingSettings
    from holdfast.training.trial import settings_of

    try:
        return settings_of(case.manifest)
    except MissingError:
        return TrainingSettings()


def verdict_of(outcomes: Sequence[ArmOutcome], fix: TriedFix) -> TrialVerdict:
    """Compare the arms."""
    as_it_is, fixed, other = map(_measured, outcomes)
    return judge(as_it_is, fixed, other, compares_loss=fix.keeps_loss)


def _measured(outcome: ArmOutcome) -> MeasuredArm:
    if outcome.failed is not None:
        return MeasuredArm(precision=None, loss=None)
    return measured(_precision(outcome), outcome.losses)


def _precision(outcome: ArmOutcome) -> float | None:
    return None if outcome.evaluation is None else outcome.evaluation.metrics.get(_AT_HALF)


def _row(outcome: ArmOutcome) -> dict[str, Any]:
    evaluation = outcome.evaluation
    scores = {} if evaluation is None else evaluation.per_class
    return {
        "name": outcome.name,
        "map_50": _precision(outcome),
        "loss": _measured(outcome).loss,
        "failed": outcome.failed,
        "per_class": {name: score.ap50 for name, score in scores.items()},
    }


def _print(document: Mapping[str, Any], verdict: TrialVerdict) -> None:
    from rich.table import Table
    from rich.text import Text

    from holdfast.cli.terminal import console

    terminal = console()
    start = document["started_from"]
    where = "from the start" if start is None else f"on from step {start}"
    table = Table("", "mAP at 0.5", "loss", title=f"{document['steps']} steps {where}")
    for row in document["trials"]:
        told = [
            "failed" if row["failed"] else "-" if value is None else f"{value:.4g}"
            for value in (row["map_50"], row["loss"])
        ]
        table.add_row(row["name"], *told)
    terminal.print(table)
    terminal.print(Text(verdict.text, style="bold green" if verdict.is_offered else "bold yellow"))
    if verdict.is_offered:
        options = " ".join(
            f"--set {path}={value}" for path, value in document["fix"]["set"].items()
        )
        terminal.print(
            Text(f"  {options or document['fix']['text']}", style="bold"), soft_wrap=True
        )

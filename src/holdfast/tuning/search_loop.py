"""The search: claim a trial, ask whether it fits, train it, remember what came of it, and again."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.config.check_config import check_config
from holdfast.config.load import load_config
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.encode import encode
from holdfast.config.text.overrides import apply_overrides
from holdfast.errors import ConfigError, HoldfastError, Problem
from holdfast.tuning.named_groups import Variant
from holdfast.tuning.search_space import Dimension, Value
from holdfast.tuning.search_study import ClaimedTrial, SearchStudy, TrialState
from holdfast.tuning.trial_memory import trial_memory
from holdfast.tuning.trial_process import (
    HeardEvaluation,
    ProcessEnd,
    SearchStoppedError,
    metric_of,
    train_trial,
)
from holdfast.tuning.trial_settings import configured_settings, trial_variant

LOSSES = "Loss/"  # metrics of this kind are better the lower they are


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """What to search, by which trainings, and where."""

    config: Path
    overrides: Mapping[str, str]  # of --set
    space: tuple[Dimension, ...]
    out: Path
    trials: int
    metric: str
    steps: int
    evaluate_every: int
    seed: int = 0
    use: tuple[str, ...] = ()  # parts of a user's own, as --use takes them
    plan_options: tuple[str, ...] = ()  # that `holdfast plan` and `holdfast train` both take

    @property
    def is_minimized(self) -> bool:
        """Whether a lower metric is the better one."""
        return self.metric.startswith(LOSSES)

    @property
    def evaluations(self) -> int:
        """How many a whole trial has."""
        return math.ceil(self.steps / self.evaluate_every)

    def base(self) -> TrainEvalPipelineConfig:
        """Read the config that the trials vary."""
        return load_config(self.config, self.overrides, self.use)

    def variant(self, settings: Mapping[str, Value]) -> Variant:
        """Give what a trial changes."""
        return trial_variant(self.base(), self.space, settings, self.steps)

    def run(self, number: int) -> Path:
        """Name the run folder of a trial."""
        return self.out / "trials" / f"{number:04d}"


class SearchReporter:
    """Hears what the search does and says nothing; override what you want to hear."""

    def began(self, trial: ClaimedTrial) -> None:
        """Hear that a trial begins, or goes on."""

    def evaluated(self, trial: ClaimedTrial, evaluation: int, value: float | None) -> None:
        """Hear an evaluation of a trial."""

    def ended(self, trial: ClaimedTrial, state: TrialState, reason: str) -> None:
        """Hear how a trial ended."""


def open_study(request: SearchRequest) -> SearchStudy:
    """Begin a search, or go on with it, when everything that it would try is legal."""
    check_request(request)
    digest = hashlib.sha256(encode(request.base()).encode()).hexdigest()
    return SearchStudy(
        request.out,
        request.space,
        facts={
            "--over": [str(each) for each in request.space],
            "config": digest[:16],
            "--metric": request.metric,
            "--steps": request.steps,
            "--evaluate-every": request.evaluate_every,
            "options": list(request.plan_options),
        },
        evaluations=request.evaluations,
        is_minimized=request.is_minimized,
        seed=request.seed,
        first=configured_settings(request.base(), request.space),
    )


def search(request: SearchRequest, study: SearchStudy, reporter: SearchReporter) -> None:
    """Train trials until there are as many as asked for, or all are in others' hands.

    Raises SearchStoppedError after Ctrl-C or SIGTERM: what was begun is kept, and the same search
    goes on with it.
    """
    while (trial := study.claim(request.trials)) is not None:
        reporter.began(trial)
        try:
            state, reason = _tried(request, trial, reporter)
        except (SearchStoppedError, KeyboardInterrupt):
            trial.let_go()
            raise SearchStoppedError from None
        except BaseException:
            trial.let_go()
            raise
        trial.end(state, reason)
        reporter.ended(trial, state, reason)


def _tried(
    request: SearchRequest, trial: ClaimedTrial, reporter: SearchReporter
) -> tuple[TrialState, str]:
    """Train one; say how it ended, and why if it did not end well."""
    variant = request.variant(trial.settings)
    config, _ = apply_overrides(request.base(), variant.overrides)
    known = [str(request.config), *_assignments(request.overrides, variant.overrides)]
    known += request.plan_options
    try:
        memory = trial_memory(config, known, request.out / "plans")
    except HoldfastError as error:
        return TrialState.FAILED, error.message
    if memory.too_large:
        return TrialState.SKIPPED, memory.too_large
    run = request.run(trial.number)
    arguments = [
        *known,
        *("--run", str(run), "--steps", str(request.steps), "--seed", str(request.seed)),
        *("--evaluate-every", str(request.evaluate_every), "--keep", "1"),
        *("--checkpoint-every", str(request.evaluate_every), "--plan", str(memory.plan)),
        *variant.options,
    ]

    def hear(heard: HeardEvaluation) -> bool:
        value = metric_of(heard, request.metric)
        evaluation = math.ceil(heard.step / request.evaluate_every)
        reporter.evaluated(trial, evaluation, value)
        if value is None or not math.isfinite(value):
            return False
        is_hopeless = trial.report(evaluation, value)
        return is_hopeless and heard.step < request.steps

    log = request.out / "logs" / f"{trial.number:04d}.txt"
    return _judged(train_trial(arguments, run, log, hear), trial)


def _judged(end: ProcessEnd, trial: ClaimedTrial) -> tuple[TrialState, str]:
    if end.was_stopped:
        return TrialState.PRUNED, "Others were better by then."
    if end.code < 0:
        return TrialState.FAILED, f"Signal {-end.code} ended it. {end.reason}"
    if end.code:
        return TrialState.FAILED, end.reason
    if trial.metric is None:
        return TrialState.FAILED, "No evaluation gave the metric as a number."
    return TrialState.COMPLETE, ""


def _assignments(*overrides: Mapping[str, str]) -> list[str]:
    """Write fields as options, later ones winning."""
    merged = {path: value for each in overrides for path, value in each.items()}
    return [part for path, value in merged.items() for part in ("--set", f"{path}={value}")]


def check_request(request: SearchRequest) -> None:
    """Raise every mistake of the config, and of each value at the ends of what is searched."""
    if not request.space:
        raise HoldfastError(
            "Nothing is searched over.", fix="Give --over, for example --over optimizer."
        )
    searched = {path for each in request.space for path in each.paths}
    if both := sorted(searched & request.overrides.keys()):
        raise HoldfastError(
            f"{both[0]} is given by --set and by --over.", fix="Leave one of them out."
        )
    problems: dict[tuple[str, str], Problem] = {}
    for settings in _corners(request.space):
        variant = request.variant(settings)
        overrides = {**request.overrides, **variant.overrides}
        report = check_config(request.config, overrides, use=request.use)
        problems |= {(each.path, each.message): each for each in report.errors}
    if problems:
        raise ConfigError(str(request.config), problems.values())
    if not request.base().eval_input_reader:
        raise HoldfastError(
            "The config has no data to evaluate on, so trials cannot be compared.",
            fix="Add eval_input_reader { … }.",
        )


def _corners(space: Sequence[Dimension]) -> list[dict[str, Value]]:
    """List settings in which each value that must be legal occurs, the others at their first."""
    first = {each.name: each.ends[0] for each in space}
    return [first | {each.name: value} for each in space for value in each.ends]

"""The study: which trials there were, and which to try next. Optuna chooses, a journal remembers.

Several processes may work on one study, on one machine or on a folder that machines share. Each
holds a claim on the trial that it trains; a trial without a claim was left behind by a dead one.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.extras import need_extra
from holdfast.tuning.file_claims import FileClaim, waited_for
from holdfast.tuning.search_space import Dimension, Span, Value

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

JOURNAL_NAME = "study.journal"
_NAME = "holdfast"
_FACTS = "facts"
_SETTINGS, _STATE, _REASON, _ATTEMPTS = "settings", "state", "reason", "attempts"
_MOST_ATTEMPTS = 3  # a trial that takes its process down is not tried for ever
_REDUCTION = 3  # Hyperband's: one of so many goes on
# Trials before values are chosen by what was learned: so many for each dimension, and bounds.
_BY_CHANCE, _FEWEST, _MOST = 3, 4, 10


class TrialState(StrEnum):
    """How far a trial is, or how it ended."""

    RUNNING = "running"
    COMPLETE = "complete"
    PRUNED = "pruned"  # stopped, because others were better
    SKIPPED = "skipped"  # never begun: it does not fit into memory
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """A trial as it is remembered."""

    number: int
    settings: Mapping[str, Value]
    state: TrialState
    metric: float | None  # the best so far; None before the first evaluation
    reason: str = ""  # why it failed or was skipped


class SearchStudy:
    """One folder's study; `facts` say what is searched and must stay the same."""

    def __init__(
        self,
        folder: Path,
        space: Sequence[Dimension],
        *,
        facts: Mapping[str, Any],
        evaluations: int,
        is_minimized: bool,
        seed: int,
        first: Mapping[str, Value] | None = None,
    ) -> None:
        """Open it; first: what the first trial is to have, None if that is up to chance."""
        optuna = _optuna()
        self.folder = folder
        self._space = tuple(space)
        self._seed = seed
        self._first = first
        self._is_minimized = is_minimized
        folder.mkdir(parents=True, exist_ok=True)
        with self._asking():
            _cut_torn_line(folder / JOURNAL_NAME)
            self._study: Study = optuna.create_study(
                storage=optuna.storages.JournalStorage(_backend(folder / JOURNAL_NAME)),
                study_name=_NAME,
                direction="minimize" if is_minimized else "maximize",
                load_if_exists=True,
                pruner=_pruner(evaluations),
            )
            self._compare(facts)

    def claim(self, trials: int) -> ClaimedTrial | None:
        """Give a trial to train: one that was left behind, else a new one; None when all are taken.

        trials: how many there shall be, in all.
        """
        with self._asking():
            for left in self._trials():
                if left.state.is_finished():
                    continue
                claim = FileClaim.claimed(self._claim_path(left.number), waits=False)
                if claim is not None:
                    taken = self._taken_over(left, claim)
                    if taken is not None:
                        return taken
            known = len(self._trials())
            return self._asked(known) if known < trials else None

    def records(self) -> tuple[TrialRecord, ...]:
        """List the trials so far, in their order."""
        return tuple(self._record(each) for each in self._trials())

    def best(self) -> TrialRecord | None:
        """Give the best of the trials that were trained to their end; None if there is none."""
        done = [
            each
            for each in self.records()
            if each.state == TrialState.COMPLETE and each.metric is not None
        ]
        sign = -1.0 if self._is_minimized else 1.0
        return max(done, key=lambda each: sign * (each.metric or 0.0), default=None)

    def _asked(self, known: int) -> ClaimedTrial:
        """Ask Optuna; each trial has a seed of its own, so that processes do not ask alike."""
        optuna = _optuna()
        by_chance = min(max(_BY_CHANCE * len(self._space), _FEWEST), _MOST)
        seed = zlib.crc32(f"{self._seed}/{known}".encode())
        self._study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=by_chance)
        if not known and self._first is not None:
            self._study.enqueue_trial(dict(self._first))
        trial = self._study.ask()
        settings = {each.name: _suggested(trial, each) for each in self._space}
        trial.set_user_attr(_SETTINGS, settings)
        trial.set_user_attr(_ATTEMPTS, 1)
        claim = waited_for(self._claim_path(trial.number))
        return ClaimedTrial(trial, settings, claim, is_minimized=self._is_minimized)

    def _taken_over(self, left: FrozenTrial, claim: FileClaim) -> ClaimedTrial | None:
        optuna = _optuna()
        trial = optuna.trial.Trial(self._study, left._trial_id)
        settings = left.user_attrs.get(_SETTINGS)
        attempts = left.user_attrs.get(_ATTEMPTS, 1)
        taken = ClaimedTrial(trial, settings or {}, claim, is_minimized=self._is_minimized)
        if settings is None or attempts >= _MOST_ATTEMPTS:
            reason = f"Its process died {attempts} times." if settings else "It died at its start."
            taken.end(TrialState.FAILED, reason)
            return None
        trial.set_user_attr(_ATTEMPTS, attempts + 1)
        return taken

    def _trials(self) -> list[FrozenTrial]:
        return self._study.get_trials(deepcopy=False)

    def _record(self, trial: FrozenTrial) -> TrialRecord:
        values = [each for each in trial.intermediate_values.values() if math.isfinite(each)]
        choose = min if self._is_minimized else max
        return TrialRecord(
            number=trial.number,
            settings=trial.user_attrs.get(_SETTINGS, {}),
            state=TrialState(trial.user_attrs.get(_STATE, TrialState.RUNNING)),
            metric=choose(values, default=None),
            reason=trial.user_attrs.get(_REASON, ""),
        )

    def _asking(self) -> FileClaim:
        return waited_for(self.folder / "claims" / "asking")

    def _claim_path(self, number: int) -> Path:
        return self.folder / "claims" / f"{number:04d}"

    def _compare(self, facts: Mapping[str, Any]) -> None:
        """Refuse to mix trials that cannot be compared."""
        stored = self._study.user_attrs.get(_FACTS)
        if stored is None:
            self._study.set_user_attr(_FACTS, dict(facts))
            return
        given = json.loads(json.dumps(dict(facts)))
        if changed := [name for name in given if given[name] != stored.get(name)]:
            name = changed[0]
            raise HoldfastError(
                f"{self.folder} holds a search with another {name}: {stored.get(name)}.",
                fix="Give the same options to go on with it, or another --out.",
            )


class ClaimedTrial:
    """A trial that this process trains."""

    def __init__(
        self, trial: Trial, settings: Mapping[str, Value], claim: FileClaim, *, is_minimized: bool
    ) -> None:
        self.number: int = trial.number
        self.settings = settings
        self._trial = trial
        self._claim = claim
        self._is_minimized = is_minimized
        self._heard: dict[int, float] = dict(trial.study.trials[trial.number].intermediate_values)

    @property
    def is_resumed(self) -> bool:
        """Whether another process has begun it."""
        return int(self._trial.user_attrs[_ATTEMPTS]) > 1

    @property
    def metric(self) -> float | None:
        """The best evaluation so far."""
        choose = min if self._is_minimized else max
        return choose(self._heard.values(), default=None)

    def report(self, evaluation: int, value: float) -> bool:
        """Tell the value of an evaluation, counted from 1; say whether the trial is to be stopped.

        What was told before, also by a process that is dead, is not told again.
        """
        if evaluation in self._heard:
            return False
        self._heard[evaluation] = value
        self._trial.report(value, evaluation)
        return self._trial.should_prune()

    def end(self, state: TrialState, reason: str = "") -> None:
        """Remember how it ended.

        Optuna learns to keep away from what failed or did not fit: for it, such a trial was pruned.
        """
        from optuna.trial import TrialState as Ended

        self._trial.set_user_attr(_STATE, state.value)
        self._trial.set_user_attr(_REASON, reason)
        is_complete = state == TrialState.COMPLETE
        self._trial.study.tell(
            self._trial,
            self.metric if is_complete else None,
            state=Ended.COMPLETE if is_complete else Ended.PRUNED,
        )
        self.let_go()

    def let_go(self) -> None:
        """Leave it to whoever goes on with the search."""
        self._claim.release()


def _optuna() -> Any:
    need_extra("search", "`holdfast search`", "optuna")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class _KernelLock:
    """Lets one process at a time write; Optuna's own lock is a file that a kill leaves behind."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._claim: FileClaim | None = None

    def acquire(self) -> bool:
        """Wait until nobody else writes."""
        self._claim = waited_for(self._path)
        return True

    def release(self) -> None:
        """Let others write."""
        if self._claim is not None:
            self._claim.release()


def _backend(path: Path) -> Any:
    from optuna.storages.journal import JournalFileBackend

    lock: Any = _KernelLock(path.parent / "claims" / "journal")
    return JournalFileBackend(str(path.absolute()), lock)


def _pruner(evaluations: int) -> Any:
    optuna = _optuna()
    if evaluations < _REDUCTION:  # nothing to decide between the first and the last
        return optuna.pruners.NopPruner()
    return optuna.pruners.HyperbandPruner(
        min_resource=1, max_resource=evaluations, reduction_factor=_REDUCTION
    )


def _suggested(trial: Trial, dimension: Dimension) -> Value:
    name, values = dimension.name, dimension.values
    if not isinstance(values, Span):
        chosen: str = trial.suggest_categorical(name, values)
        return chosen
    if values.is_whole:
        return trial.suggest_int(name, int(values.low), int(values.high), log=values.is_log)
    return values.rounded(trial.suggest_float(name, values.low, values.high, log=values.is_log))


def _cut_torn_line(path: Path) -> None:
    """Drop half a line that a kill left at the end: what would follow it could not be read."""
    if not path.exists():
        return
    with open(path, "r+b") as stream, waited_for(path.parent / "claims" / "journal"):
        content = stream.read()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            stream.seek(end)
            stream.truncate()
            os.fsync(stream.fileno())

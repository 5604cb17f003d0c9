"""The whole run: build, resume, step, watch, save, evaluate, finish."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf

from holdfast.config.schema.optimizer import Optimizer
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.memory.plan import MemoryPlan
from holdfast.runs.run import STEPS
from holdfast.store.gs_place import store_url
from holdfast.training.agreement import Agreement, lost_workers_told
from holdfast.training.build_training import completed_choice
from holdfast.training.distribution import choose_strategy
from holdfast.training.early_stopping import Stopping
from holdfast.training.fitting.plan_training import plan_training
from holdfast.training.fitting.rehearsal import rehearse
from holdfast.training.journal import Journal
from holdfast.training.open_journal import open_journal
from holdfast.training.peers.present_peers import doing
from holdfast.training.peers.shared_work import read_statistics_once
from holdfast.training.reporter import Reporter, TrainingOutline
from holdfast.training.session import Session
from holdfast.training.step.state import state_of
from holdfast.training.surviving.interruption import interruptions
from holdfast.training.surviving.recovery import RecoveringSteps, descend, remembered
from holdfast.training.surviving.watching import Watching
from holdfast.training.training_settings import TrainingSettings
from holdfast.training.uploads import open_uploads

DONE, INTERRUPTED, NO_LONGER_BETTER = "done", "interrupted", "no longer better"


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """What came of a training."""

    run: Path  # of a gs:// run, its copy on this machine
    steps: int  # done, in all
    ended: str  # DONE, INTERRUPTED or NO_LONGER_BETTER
    metrics: dict[str, float]  # of the run's last evaluation, by the OD API's names
    seconds: float
    predicted_peak_bytes: int  # above what the process held before the detector was built
    measured_peak_bytes: int
    store: str | None = None  # the gs:// place of the run
    not_uploaded: tuple[str, ...] = ()  # files of the run that are only on this machine


class TraceTaker(Protocol):
    """Traces some steps of a training, and says what it saw."""

    def done(self, steps: int) -> Mapping[str, Any] | None:
        """Hear how many steps are done; after the last one traced, give what the run notes."""


def train(
    config: TrainEvalPipelineConfig,
    run: str | Path,
    *,
    settings: TrainingSettings | None = None,
    folder: Path | None = None,
    reporter: Reporter | None = None,
    strategy: tf.distribute.Strategy | None = None,
    tracer: TraceTaker | None = None,
) -> TrainingResult:
    """Train by a config in a run folder, or a gs:// place; a run that exists is resumed.

    folder: where the config lies, for the relative paths in it. strategy: the devices, by default
    chosen by what there is; on several machines it must be chosen before any tensor is made.
    tracer: looks closely at some steps.
    Whatever stops the training, the run can be resumed by calling this again.
    """
    settings, reporter = settings or TrainingSettings(), reporter or Reporter()
    started = time.perf_counter()
    strategy, folder = strategy or choose_strategy(settings.peer_seconds), folder or Path()
    config = config.replace(folder=str(folder))  # of a resumed run, it is not where its copy lies
    settings = _completed(config, settings)
    with (
        open_uploads(run, reporter.note) as uploads,
        lost_workers_told(),
        open_journal(config, uploads.folder, settings, folder, uploads) as journal,
    ):
        read_statistics_once(config, folder)
        doing("builds the detector")
        session = Session(config, remembered(settings, journal, reporter), folder, strategy)
        descend(session, journal, reporter)
        plan = plan_training(session, session.settings, reporter)
        journal.planned(plan)
        journal.remember(STEPS, session.steps)
        ended, steps = _run(session, plan, journal, reporter, tracer)
        peak_bytes = journal.finish(session.base_bytes)
        return TrainingResult(
            run=uploads.folder,
            store=store_url(run),
            not_uploaded=uploads.missing,
            steps=steps,
            ended=ended,
            metrics=journal.last_metrics(),
            seconds=time.perf_counter() - started,
            predicted_peak_bytes=plan.predicted_peak_bytes,
            measured_peak_bytes=peak_bytes,
        )


def _run(
    session: Session,
    plan: MemoryPlan,
    journal: Journal,
    reporter: Reporter,
    tracer: TraceTaker | None,
) -> tuple[str, int]:
    """Restore what was learned, and step until the end; say how it ended, and after which step."""
    settings, agreement = journal.settings, Agreement(session.strategy)
    start, origin = _start(session, journal, agreement)
    if settings.rehearses:
        rehearse(session, plan, journal, reporter)
    earlier = journal.earlier_metrics(session.judged_from)
    stopping = Stopping(patience=settings.patience, earlier=earlier)
    reporter.started(_plan(session, start, origin, plan))
    journal.begin(start)
    loop = _Loop(
        session=session,
        journal=journal,
        stopping=stopping,
        agreement=agreement,
        reporter=reporter,
        tracer=tracer,
    )
    return loop.run(start)


def _completed(config: TrainEvalPipelineConfig, settings: TrainingSettings) -> TrainingSettings:
    """Fill in what the choice of an optimizer leaves open: it must stay when a run is resumed."""
    train_config = config.train_config or TrainConfig()
    choice = completed_choice(
        settings.optimization,
        train_config.optimizer or Optimizer(),
        settings.steps or train_config.num_steps,
    )
    return replace(settings, optimization=choice)


def _start(session: Session, journal: Journal, agreement: Agreement) -> tuple[int, str]:
    """Give the step to go on with, the same in every process, and where the weights come from."""
    own, origin = journal.restore(session)
    start = agreement.start(own, state_of(session.step))
    return start, origin if start == own else f"step {start}, from the first process"


@dataclass(frozen=True, kw_only=True)
class _Loop:
    """Steps and evaluations, one after the other, from a step on."""

    session: Session
    journal: Journal
    stopping: Stopping
    agreement: Agreement
    reporter: Reporter
    tracer: TraceTaker | None

    def run(self, start: int) -> tuple[str, int]:
        """Step until the end, an interruption, or until it no longer gets better."""
        session, journal, reporter = self.session, self.journal, self.reporter
        stepper = RecoveringSteps(session, journal, reporter)
        limit = session.settings.memory_bytes
        watching = Watching(session, journal, reporter, stepper, limit_bytes=limit)
        done = start
        with interruptions() as interruption:
            stepper.store_wait.is_stopped = lambda: interruption.signal_name is not None
            is_over = self._evaluate(done) if self._owes_evaluation(done) else self._is_over()
            self._trace(done)
            while done < session.steps and not is_over:
                progress = stepper.take(done)
                done = progress.step
                reporter.stepped(progress)
                self._trace(done)
                is_stopped = self.agreement.any(interruption.signal_name is not None)
                is_urgent = watching.look(done)
                if self._saves(done) or is_stopped or is_urgent:
                    reporter.saved(done, journal.save(session, done))
                if is_stopped:
                    return INTERRUPTED, done
                is_over = self._evaluates(done) and self._evaluate(done)
        return (NO_LONGER_BETTER if is_over else DONE), done

    def _trace(self, step: int) -> None:
        """Let the tracer begin or end; what it saw is an event."""
        found = self.tracer.done(step) if self.tracer is not None else None
        if found is not None:
            self.journal.record(step, "profile", **found)

    def _is_over(self) -> bool:
        """Tell whether it no longer gets better."""
        return self.agreement.of_chief(self.stopping.is_over)

    def _evaluates(self, step: int) -> bool:
        steps = self.session.steps
        return step % self.session.settings.evaluation_interval(steps) == 0 or step == steps

    def _saves(self, step: int) -> bool:
        return self._evaluates(step) or step % self.session.settings.checkpoint_every == 0

    def _owes_evaluation(self, step: int) -> bool:
        """Tell whether the process before was killed while it evaluated this step."""
        owes = step > 0 and self._evaluates(step) and not self.journal.has_evaluated(step)
        return self.agreement.of_chief(owes)

    def _evaluate(self, step: int) -> bool:
        """Evaluate; tell whether it no longer gets better."""
        journal, reporter = self.journal, self.reporter
        tell = _teller(journal, reporter, step)
        with journal.evaluating(self.session.evaluated_at_once):
            result = self.session.evaluate(reporter.evaluating, tell)
        if result is not None:
            counts = step >= self.session.judged_from
            is_best = counts and self.stopping.judge(result.metrics)
            journal.evaluated(step, result, self.session.pictures, counts=counts)
            reporter.evaluated(step, result, is_best)
        return self._is_over()


def _teller(journal: Journal, reporter: Reporter, step: int) -> Callable[[str], None]:
    def tell(text: str) -> None:
        journal.noted(step, text)
        reporter.note(text)

    return tell


def _plan(session: Session, start: int, origin: str, memory: MemoryPlan) -> TrainingOutline:
    trained = session.trained
    statistics = session.data.statistics
    return TrainingOutline(
        steps=session.steps,
        start=start,
        batch_size=session.train_config.batch_size,
        accumulation=session.settings.accumulation,
        images=statistics.images,
        boxes=statistics.boxes,
        classes=session.detector.num_classes,
        variables=len(trained.variables),
        parameters=sum(int(tf.size(variable.value)) for variable in trained.variables),
        frozen=len(trained.frozen),
        device=_devices(session.strategy),
        precision=session.settings.precision,
        started_from=origin,
        memory=memory,
    )


def _devices(strategy: tf.distribute.Strategy) -> str:
    count = strategy.num_replicas_in_sync
    device = strategy.extended.worker_devices[0].rpartition("device:")[2] or "CPU:0"
    return device.split(":")[0] + (f" x {count}" if count > 1 else "")

"""The whole run: build, resume, step, watch, save, evaluate, finish."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.memory.plan import MemoryPlan
from holdfast.training.distribution import choose_strategy
from holdfast.training.interruption import interruptions
from holdfast.training.journal import Journal, open_journal
from holdfast.training.plan_training import plan_training
from holdfast.training.recovery import RecoveringSteps, remembered
from holdfast.training.reporter import Plan, Reporter
from holdfast.training.session import Session
from holdfast.training.settings import TrainingSettings
from holdfast.training.stopping import Stopping
from holdfast.training.watching import Watching

DONE, INTERRUPTED, NO_LONGER_BETTER = "done", "interrupted", "no longer better"


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """What came of a training."""

    run: Path
    steps: int  # done, in all
    ended: str  # DONE, INTERRUPTED or NO_LONGER_BETTER
    metrics: dict[str, float]  # of the last evaluation, by the OD API's names; {} without one
    seconds: float
    predicted_peak_bytes: int  # above what the process held before the detector was built
    measured_peak_bytes: int


def train(
    config: TrainEvalPipelineConfig,
    run: str | Path,
    *,
    settings: TrainingSettings | None = None,
    folder: Path | None = None,
    reporter: Reporter | None = None,
    strategy: tf.distribute.Strategy | None = None,
) -> TrainingResult:
    """Train by a config in a run folder; a run that exists is resumed.

    folder: where the config lies, for the relative paths in it. strategy: the devices, by default
    chosen by what there is; on several machines it must be chosen before any tensor is made.
    Whatever stops the training, the run can be resumed by calling this again.
    """
    settings, reporter = settings or TrainingSettings(), reporter or Reporter()
    started = time.perf_counter()
    strategy, folder = strategy or choose_strategy(), folder or Path()
    with open_journal(config, Path(run), settings, folder) as journal:
        session = Session(config, remembered(settings, journal, reporter), folder, strategy)
        plan = plan_training(session, session.settings, reporter)
        journal.planned(plan)
        start, origin = journal.restore(session)
        stopping = Stopping(patience=settings.patience, best=journal.best_metric)
        reporter.started(_plan(session, start, origin, plan))
        ended, steps = _loop(session, journal, stopping, start, reporter)
        return TrainingResult(
            run=Path(run),
            steps=steps,
            ended=ended,
            metrics=journal.metrics,
            seconds=time.perf_counter() - started,
            predicted_peak_bytes=plan.predicted_peak_bytes,
            measured_peak_bytes=journal.finish(session.base_bytes),
        )


def _loop(
    session: Session, journal: Journal, stopping: Stopping, start: int, reporter: Reporter
) -> tuple[str, int]:
    """Step until the end, an interruption, or until it no longer gets better."""
    steps, settings = session.steps, session.settings
    evaluate_every = settings.evaluation_interval(steps)
    stepper = RecoveringSteps(session, journal, reporter)
    limit = session.settings.memory_bytes
    watching = Watching(session, journal, reporter, stepper, limit_bytes=limit)
    done = start
    with interruptions() as interruption:
        while done < steps:
            progress = stepper.take(done)
            done = progress.step
            reporter.stepped(progress)
            is_last = done == steps or interruption.signal_name is not None
            is_urgent = watching.look(done)
            evaluates = done % evaluate_every == 0 or done == steps
            if evaluates or is_last or is_urgent or done % settings.checkpoint_every == 0:
                reporter.saved(done, journal.save(session, done))
            if interruption.signal_name is not None:
                return INTERRUPTED, done
            if evaluates:
                result = session.evaluate(reporter.evaluating, _teller(journal, reporter, done))
                if result is not None:
                    is_best = stopping.judge(result)
                    journal.evaluated(done, result, stopping.metric_of(result), session.pictures)
                    reporter.evaluated(done, result, is_best)
                    if stopping.is_over:
                        return NO_LONGER_BETTER, done
    return DONE, max(start, steps)


def _teller(journal: Journal, reporter: Reporter, step: int) -> Callable[[str], None]:
    def tell(text: str) -> None:
        journal.noted(step, text)
        reporter.note(text)

    return tell


def _plan(session: Session, start: int, origin: str, memory: MemoryPlan) -> Plan:
    trained = session.trained
    statistics = session.data.statistics
    return Plan(
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

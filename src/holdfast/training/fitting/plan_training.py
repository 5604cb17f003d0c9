"""The memory plan of a training that is about to begin: made, followed, and what was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

import tensorflow as tf

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.evaluation_input import LabeledTruth
from holdfast.data.sample import Batch, GroundTruth
from holdfast.errors import HoldfastError
from holdfast.memory.devices.allocation import save_address_space
from holdfast.memory.devices.device import ADDRESS_SPACE, CPU, device_limit
from holdfast.memory.devices.reservation import reserve
from holdfast.memory.plan import BatchShape, MemoryPlan, StepSettings
from holdfast.memory.predict.prediction import UnpredictableError
from holdfast.memory.predict.traced_step import TracedEvaluation, TracedStep
from holdfast.memory.search.planner import StepChoice
from holdfast.training.build_training import alike_in_memory
from holdfast.training.cluster import num_workers
from holdfast.training.fitting.choice import Fitting, choose_measured
from holdfast.training.fitting.search_process import search_apart
from holdfast.training.fitting.tracing import trace_step, traced_evaluation, traced_step
from holdfast.training.fitting.worst_batch import WorstBatch, worst_evaluation_of, worst_of
from holdfast.training.reporter import Reporter
from holdfast.training.session import Session
from holdfast.training.surviving.failure import TrainingFailedError
from holdfast.training.surviving.out_of_memory import release
from holdfast.training.training_settings import TrainingSettings
from holdfast.units import bytes_text

Truth = TypeVar("Truth", GroundTruth, LabeledTruth)


def plan_training(session: Session, settings: TrainingSettings, reporter: Reporter) -> MemoryPlan:
    """Predict the step for the worst batch, and let the session follow a plan that fits.

    Settings that fit are left as they are. Where nothing fits, a limit that the user set is an
    error; a limit that was only found is tried anyway, in the way that needs least.
    """
    if settings.plan is not None:
        _check_given(session, settings.plan)
        return _follow(session, settings.plan)
    fitting = _fitting(session, settings.memory_bytes)
    wanted = session.step_settings
    try:
        choice = (
            choose_measured(fitting, wanted, _choice)
            if settings.measures
            else _choice(fitting, wanted)
        )
    except UnpredictableError as error:
        reporter.note(f"{error.message} Training goes ahead as configured, without a plan.")
        return _unplanned(fitting, wanted, error.message)
    plan = choice.plan
    if not plan.fits:
        _does_not_fit(fitting, choice, settings, reporter)
    elif plan.settings != wanted:
        for reason in choice.reasons:
            reporter.note(reason)
    return _follow(session, plan)


def _unplanned(fitting: Fitting, wanted: StepSettings, why: str) -> MemoryPlan:
    """Give a plan that claims nothing."""
    return MemoryPlan(
        fits=True,
        limit_bytes=fitting.limit.bytes,
        base_bytes=fitting.base_bytes,
        predicted_peak_bytes=0,
        items={},
        settings=wanted,
        assumptions=(why,),
    )


def _follow(session: Session, plan: MemoryPlan) -> MemoryPlan:
    session.switch(plan.settings)
    release()
    reserve(plan.arena_bytes)
    return plan


def _choice(fitting: Fitting, wanted: StepSettings) -> StepChoice:
    """Take the wanted settings if they fit; else search, in another process."""
    if fitting.limit.source == ADDRESS_SPACE:  # even a trace that is not used takes addresses
        return search_apart(fitting, wanted)
    first = fitting.plan(wanted)
    # Several processes must compute alike, and each sees only its own memory.
    if first.fits or num_workers() > 1:
        return StepChoice(plan=first, reasons=(), tried=(first,))
    return search_apart(fitting, wanted)


def _fitting(session: Session, memory_bytes: int | None) -> Fitting:
    on_gpu = bool(tf.config.list_physical_devices("GPU"))
    pipeline = session.pipeline()
    worst = worst_of(session.config, pipeline, session.data.statistics)
    if session.config.eval_input_reader:
        parts = session.evaluation_parts()
        evaluation = worst_evaluation_of(session.config, parts.images, parts.statistics)
        worst = replace(worst, evaluation=evaluation)
    limit = device_limit(None if on_gpu else CPU, memory_bytes)
    if limit.source == ADDRESS_SPACE:
        save_address_space()
    return Fitting(
        config=_planned_config(session),
        worst=worst,
        limit=limit,
        base_bytes=session.base_bytes if limit.device == CPU else 0,
        teacher=session.settings.teacher,
        tracer=_SessionTracer(session, worst),
    )


def _planned_config(session: Session) -> TrainEvalPipelineConfig:
    """Give the config as far as memory knows it: with what the optimizer has to remember."""
    train = alike_in_memory(session.train_config, session.settings.optimization.optimizer)
    return session.config.replace(train_config=train)


class _SessionTracer:
    """Traces the step and the evaluation of a session: they need not be traced again then."""

    def __init__(self, session: Session, worst: WorstBatch) -> None:
        self._session = session
        self._worst = worst

    def step(self, settings: StepSettings) -> TracedStep:
        session = self._session
        if session.strategy.num_replicas_in_sync > 1:
            config, teacher = _planned_config(session), session.settings.teacher
            return trace_step(config, settings, self._worst.shape, teacher)
        session.switch(settings)
        specification = session.pipeline().batches().element_spec
        return traced_step(
            session.detector, session.step, worst_specification(specification, self._worst.shape)
        )

    def evaluation(self, settings: StepSettings) -> TracedEvaluation | None:
        worst = self._worst.evaluation
        if worst is None:
            return None
        parts = self._session.evaluation_parts()
        specification = parts.images.batches().element_spec
        sides = (None, worst.shape.height, worst.shape.width)
        specification = specification._replace(
            images=_filled(specification.images, sides),
            truth=_worst_truth(specification.truth, worst.shape),
        )
        return traced_evaluation(parts.step, specification, worst.batches)


def worst_specification(specification: Batch, shape: BatchShape) -> Batch:
    """Fill in the sides that differ from batch to batch; what is not there is None."""
    truth = _worst_truth(specification.truth, shape)
    images = _filled(specification.images, (None, shape.height, shape.width))
    return specification._replace(images=images, truth=truth)


def _worst_truth(truth: Truth, shape: BatchShape) -> Truth:
    # Of all that is labeled, only masks follow the shape of the image.
    sides = (None, shape.boxes, shape.height, -(-shape.width // 8))
    return type(truth)(
        *(_filled(each, sides) if hasattr(each, "dtype") else None for each in truth)
    )


def _filled(specification: tf.TensorSpec, sides: Sequence[int | None]) -> tf.TensorSpec:
    shape = specification.shape
    filled = [
        side if known is None else known for known, side in zip_longest(shape, sides[: len(shape)])
    ]
    return tf.TensorSpec(filled, specification.dtype)


def _check_given(session: Session, plan: MemoryPlan) -> None:
    present = session.step_settings
    if plan.settings.batch_size != present.batch_size:
        raise HoldfastError(
            f"The plan is for batches of {plan.settings.batch_size} on each device, and the config "
            f"has {present.batch_size}.",
            fix="Make a new plan with `holdfast plan`.",
        )
    if plan.settings.precision != present.precision:
        raise HoldfastError(
            f"The plan computes in {plan.settings.precision}, the training in {present.precision}.",
            fix=f"Give --precision {plan.settings.precision}.",
        )


def _does_not_fit(
    fitting: Fitting, choice: StepChoice, settings: TrainingSettings, reporter: Reporter
) -> None:
    plan = choice.plan
    needed = bytes_text(plan.base_bytes + plan.predicted_peak_bytes)
    text = f"{' '.join(choice.reasons)} It needs {needed}; there are {bytes_text(plan.limit_bytes)}"
    advice = " ".join(f"{each}." for each in choice.suggestions)
    if settings.memory_bytes is not None:
        raise TrainingFailedError(f"{text} (--memory).", fix=advice or "Give more --memory.")
    reporter.note(f"{text} ({fitting.limit.source}). Trying anyway. {advice}".rstrip())

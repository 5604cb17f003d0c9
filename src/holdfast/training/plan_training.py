"""The memory plan of a training that is about to begin: made, followed, and what was changed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import tensorflow as tf

from holdfast.data.sample import Batch, GroundTruth
from holdfast.errors import HoldfastError
from holdfast.memory.allocation import save_address_space
from holdfast.memory.device import ADDRESS_SPACE, CPU, device_limit
from holdfast.memory.plan import BatchShape, MemoryPlan, StepSettings
from holdfast.memory.planner import Choice
from holdfast.memory.recovery import release
from holdfast.memory.reservation import reserve
from holdfast.memory.traced_step import TracedStep
from holdfast.training.distribution import num_workers
from holdfast.training.failure import TrainingFailedError
from holdfast.training.fitting import Fitting, choose_measured
from holdfast.training.plan_search import search_apart
from holdfast.training.planning import trace_step, traced_step
from holdfast.training.reporter import Reporter
from holdfast.training.session import Session
from holdfast.training.settings import TrainingSettings
from holdfast.training.worst_batch import worst_of
from holdfast.units import bytes_text


def plan_training(session: Session, settings: TrainingSettings, reporter: Reporter) -> MemoryPlan:
    """Predict the step for the worst batch, and let the session follow a plan that fits.

    Settings that fit are left as they are. Where nothing fits, a limit that the user set is an
    error; a limit that was only found is tried all the same, in the way that needs least.
    """
    if settings.plan is not None:
        _check_given(session, settings.plan)
        return _follow(session, settings.plan)
    fitting = _fitting(session, settings.memory_bytes)
    wanted = session.step_settings
    if settings.measures:
        choice = choose_measured(fitting, wanted, _choice)
    else:
        choice = _choice(fitting, wanted)
    plan = choice.plan
    if not plan.fits:
        _does_not_fit(fitting, choice, settings, reporter)
    elif plan.settings != wanted:
        for reason in choice.reasons:
            reporter.note(reason)
    return _follow(session, plan)


def _follow(session: Session, plan: MemoryPlan) -> MemoryPlan:
    session.switch(plan.settings)
    release()
    reserve(plan.arena_bytes)
    return plan


def _choice(fitting: Fitting, wanted: StepSettings) -> Choice:
    """Take the wanted settings if they fit; else search, in another process."""
    if fitting.limit.source == ADDRESS_SPACE:  # even a trace that is not used takes addresses
        return search_apart(fitting, wanted)
    first = fitting.plan(wanted)
    # Several processes must compute alike, and each sees only its own memory.
    if first.fits or num_workers() > 1:
        return Choice(plan=first, reasons=(), tried=(first,))
    return search_apart(fitting, wanted)


def _fitting(session: Session, memory_bytes: int | None) -> Fitting:
    on_gpu = bool(tf.config.list_physical_devices("GPU"))
    pipeline = session.pipeline()
    worst = worst_of(session.config, pipeline, session.data.statistics)
    limit = device_limit(None if on_gpu else CPU, memory_bytes)
    if limit.source == ADDRESS_SPACE:
        save_address_space()

    def trace(settings: StepSettings) -> TracedStep:
        if session.strategy.num_replicas_in_sync > 1:
            return trace_step(session.config, settings, worst.shape)
        session.switch(settings)
        specification = _worst_specification(pipeline.batches().element_spec, worst.shape)
        return traced_step(session.detector, session.step, specification)

    return Fitting(
        config=session.config,
        worst=worst,
        limit=limit,
        base_bytes=session.base_bytes if limit.device == CPU else 0,
        trace=trace,
    )


def _worst_specification(specification: Batch, shape: BatchShape) -> Batch:
    """Fill in the sides that differ from batch to batch; what is not there is None."""
    truth = GroundTruth(
        *(
            _filled(each, (None, shape.boxes)) if hasattr(each, "dtype") else None
            for each in specification.truth
        )
    )
    images = _filled(specification.images, (None, shape.height, shape.width))
    return specification._replace(images=images, truth=truth)


def _filled(specification: tf.TensorSpec, sides: Sequence[int | None]) -> tf.TensorSpec:
    filled = [
        side if known is None else known for known, side in zip_longest(specification.shape, sides)
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
    fitting: Fitting, choice: Choice, settings: TrainingSettings, reporter: Reporter
) -> None:
    plan = choice.plan
    needed = bytes_text(plan.base_bytes + plan.predicted_peak_bytes)
    text = f"{' '.join(choice.reasons)} It needs {needed}; there are {bytes_text(plan.limit_bytes)}"
    advice = " ".join(fitting.suggestions(choice))
    if settings.memory_bytes is not None:
        raise TrainingFailedError(f"{text} (--memory).", fix=advice or "Give more --memory.")
    reporter.note(f"{text} ({fitting.limit.source}). It is tried all the same. {advice}".rstrip())

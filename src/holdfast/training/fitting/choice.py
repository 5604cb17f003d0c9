"""Make a training fit: predict its step for the worst batch, and search for settings that do."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Protocol

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.config.text.encode import encode
from holdfast.config.text.overrides import apply_overrides
from holdfast.errors import HoldfastError
from holdfast.memory.devices.allocation import has_arena
from holdfast.memory.devices.device import ADDRESS_SPACE, CPU, GPU, Limit
from holdfast.memory.devices.host import resident_bytes
from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.predict import calibration
from holdfast.memory.predict.evaluation_phase import EvaluationPhase, follow_evaluation
from holdfast.memory.predict.items import (
    DECODING,
    EVALUATION,
    LOOP,
    MANY_SHAPES,
    READING,
)
from holdfast.memory.predict.optimized_graph import optimized_graph
from holdfast.memory.predict.prediction import Prediction, Surroundings, predict, predict_graph
from holdfast.memory.predict.traced_step import TracedEvaluation, TracedStep
from holdfast.memory.search.measured import measure
from holdfast.memory.search.planner import StepChoice, search
from holdfast.memory.search.suggestion import MemorySuggestion
from holdfast.memory.search.what_fits import Fits, tried_in, what_fits
from holdfast.training.fitting.suggestions import fewer_regions, suggestions
from holdfast.training.fitting.tracing import StepTracer
from holdfast.training.fitting.worst_batch import WorstBatch, worst_batch


class Tracer(Protocol):
    """Traces what a training does, in several ways to compute a step."""

    def step(self, settings: StepSettings) -> TracedStep:
        """Trace the step."""

    def evaluation(self, settings: StepSettings) -> TracedEvaluation | None:
        """Trace the evaluation between steps; None without one."""


Heard = Callable[[MemoryPlan], None]
UNTOUCHED = "addresses reserved"
CORRECTION = "measured above prediction"
_BESIDE_STEP = (LOOP, MANY_SHAPES, EVALUATION, DECODING, READING, UNTOUCHED)
RESOLUTIONS = (0.5, 0.75, 1.0, 1.5, 2.0)  # of height and width
_PIXEL_RATIOS = [scale**2 for scale in RESOLUTIONS]
HALF = "mixed_float16"
ALL = ("all",)


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """What is asked: this config, on this device, with so much memory."""

    config: TrainEvalPipelineConfig
    worst: WorstBatch
    limit: Limit
    base_bytes: int  # held before the detector is built
    tracer: Tracer
    teacher: str | None = None  # that the detector learns from
    correction: float = 1.0  # what a step really needed, over what was predicted for it
    # By precision and chunks; an evaluation is the same however else a step is computed.
    phases: dict[tuple[str, int], EvaluationPhase | None] = field(
        default_factory=dict, compare=False
    )

    def plan(self, settings: StepSettings) -> MemoryPlan:
        """Predict one way to compute the step."""
        return self._plan(settings, self._predict(self.tracer.step(settings), settings))

    def choose(self, wanted: StepSettings, heard: Heard = lambda plan: None) -> StepChoice:
        """Search for settings that fit, beginning with the wanted ones.

        heard is told of each plan that is tried, as soon as it is known. Where nothing fits, the
        choice says what would have to change in the config.
        """
        traced = self.tracer.step(wanted)
        if wanted.rematerialize == ALL:
            wanted = replace(wanted, rematerialize=traced.blocks)
        prediction = self._predict(traced, wanted)
        first = self._plan(wanted, prediction)

        def predicted(settings: StepSettings) -> MemoryPlan:
            plan = first if settings == wanted else self.plan(settings)
            heard(plan)
            return plan

        choice = search(
            predicted,
            wanted,
            prediction.block_bytes,
            trains_batch_norm=traced.trains_batch_norm,
            most_chunks=traced.most_region_chunks,
            # Who runs out of addresses on a CPU is not told but killed: no close shaves.
            is_exact=self.limit.source != ADDRESS_SPACE,
        )
        if choice.plan.fits:
            return choice
        return replace(choice, suggestions=tuple(self._suggestions(choice.plan)))

    def plans(self, settings: Sequence[StepSettings]) -> list[MemoryPlan]:
        """Predict several ways; one is traced while TensorFlow optimizes the one before."""
        with ThreadPoolExecutor(1) as pool:
            futures = [
                pool.submit(predict, self.tracer.step(each), self._surroundings(None))
                for each in settings
            ]
            return [
                self._plan(each, future.result())
                for each, future in zip(settings, futures, strict=True)
            ]

    def other_settings(self, wanted: StepSettings) -> tuple[StepSettings, ...]:
        """List what `what_fits` will want to know that no search for the wanted settings tries."""
        if self.limit.device != GPU or wanted.precision == HALF:
            return ()
        whole = StepSettings(micro_batch=wanted.batch_size, precision=HALF)
        return (whole, replace(whole, rematerialize=ALL))

    def what_fits(self, choice: StepChoice, others: Sequence[MemoryPlan]) -> tuple[Fits, ...]:
        """Find the largest batch for several resolutions, for each way to compute a step.

        others: plans of `other_settings`. What the search has tried is not predicted again.
        """
        wanted = choice.tried[0].settings
        known = (*choice.tried, *others)
        rows = []
        for settings in (
            replace(wanted, micro_batch=wanted.batch_size, accumulation=1, rematerialize=blocks)
            for blocks in ((), ALL)
        ):
            plan = tried_in(settings, known) or self.plans([settings])[0]
            rows.append(what_fits(plan, _PIXEL_RATIOS))
        return (*rows, *(what_fits(plan, _PIXEL_RATIOS) for plan in others))

    def _suggestions(self, smallest: MemoryPlan) -> Iterator[MemorySuggestion]:
        """Say what would have to change in the config: what saves most first, as far as known."""
        if self.config.model is None:
            return
        regions = (
            replace(each, saved_bytes=self._saved_bytes(each, smallest))
            for each in fewer_regions(self.config.model, smallest)
        )
        saving = [each for each in regions if each.saved_bytes and each.saved_bytes > 0]
        yield from sorted(saving, key=lambda each: -(each.saved_bytes or 0))
        yield from suggestions(self.config.model, smallest)

    def _saved_bytes(self, change: MemorySuggestion, smallest: MemoryPlan) -> int:
        """Predict the step of a config that was changed, and give how much smaller its peak is."""
        config, _ = apply_overrides(self.config, change.options)
        changed = replace(
            self, config=config, tracer=StepTracer(config, self.worst, self.teacher), phases={}
        )
        return smallest.predicted_peak_bytes - changed.plan(smallest.settings).predicted_peak_bytes

    def _predict(self, traced: TracedStep, settings: StepSettings) -> Prediction:
        with ThreadPoolExecutor(1) as pool:
            optimized = pool.submit(optimized_graph, traced.graph, traced.largest)
            phase = self._phase(settings)  # traced while TensorFlow optimizes the step
            return predict_graph(optimized.result(), traced, self._surroundings(phase))

    def _phase(self, settings: StepSettings) -> EvaluationPhase | None:
        key = settings.precision, settings.region_chunks
        if key not in self.phases:
            traced = self.tracer.evaluation(settings)
            self.phases[key] = (
                None if traced is None else follow_evaluation(traced, device=self.limit.device)
            )
        return self.phases[key]

    def _surroundings(self, evaluation: EvaluationPhase | None) -> Surroundings:
        return Surroundings(
            device=self.limit.device,
            batches=self.worst.batches,
            # It takes up to twice the addresses: not where they are few.
            reserves=self.limit.source != ADDRESS_SPACE,
            has_arena=has_arena(),
            evaluation=evaluation,
            many_shapes=self.worst.many_shapes,
        )

    def _plan(self, settings: StepSettings, prediction: Prediction) -> MemoryPlan:
        items = dict(prediction.items)
        if self.correction != 1.0:
            beside = sum(items.get(name, 0) for name in _BESIDE_STEP)
            step_bytes = prediction.peak_bytes - beside
            items[CORRECTION] = int(step_bytes * (self.correction - 1.0))
        if self.limit.device == CPU:
            items[LOOP] = calibration.LOOP_BYTES
            items[DECODING] = self.worst.decoding_bytes + self._evaluation_decoding_bytes()
            if reading := self._reading_bytes():
                items[READING] = reading
        if self.limit.source == ADDRESS_SPACE:
            items[UNTOUCHED] = prediction.untouched_bytes
        peak = sum(items.values())
        return MemoryPlan(
            fits=self.base_bytes + peak <= self.limit.bytes,
            limit_bytes=self.limit.bytes,
            base_bytes=self.base_bytes,
            predicted_peak_bytes=peak,
            items=items,
            settings=settings,
            assumptions=(*self.worst.reasons, *prediction.assumptions),
            predicted_step_flops=prediction.step_flops,
            largest_activations=prediction.largest_activations,
            arena_bytes=prediction.arena_bytes,
        )

    def _evaluation_decoding_bytes(self) -> int:
        """Give what decoding for an evaluation needs more, while the training's input waits."""
        return 0 if self.worst.evaluation is None else self.worst.evaluation.decoding_bytes

    def _reading_bytes(self) -> int:
        """Give what open files of a store hold, those of the evaluation as well."""
        evaluation = self.worst.evaluation
        return self.worst.reading_bytes + (0 if evaluation is None else evaluation.reading_bytes)


def fitting_of(config: TrainEvalPipelineConfig, folder: Path, limit: Limit) -> Fitting:
    """Ask for a config by itself: a detector is built and traced for each way to compute a step."""
    config = config.replace(folder=str(folder))
    worst = worst_batch(config, folder)
    return Fitting(
        config=config,
        worst=worst,
        limit=limit,
        # Another device's memory is empty before the detector is built.
        base_bytes=resident_bytes() if limit.device == CPU else 0,
        tracer=StepTracer(config, worst),
    )


def wanted_settings(
    config: TrainEvalPipelineConfig,
    precision: str,
    accumulation: int,
    rematerialize: tuple[str, ...],
    region_chunks: int = 1,
) -> StepSettings:
    """Give what the user asks for, on one device."""
    batch = (config.train_config or TrainConfig()).batch_size or 1
    if batch % accumulation:
        raise HoldfastError(
            f"A batch of {batch} cannot be split into {accumulation} equal pieces.",
            fix=f"Make --accumulate a divisor of {batch}.",
        )
    return StepSettings(
        micro_batch=batch // accumulation,
        accumulation=accumulation,
        precision=precision,
        rematerialize=rematerialize,
        region_chunks=region_chunks,
    )


def choose_measured(
    fitting: Fitting,
    wanted: StepSettings,
    choose: Callable[[Fitting, StepSettings], StepChoice] = Fitting.choose,
) -> StepChoice:
    """Search, and take real steps of what was found; if they need too much, search once more."""
    choice = choose(fitting, wanted)
    plan = measured(fitting, choice.plan)
    if plan.fits or not choice.plan.fits:
        return replace(choice, plan=plan)
    fitting = replace(fitting, correction=(plan.measured_peak_bytes or 0) / _step_bytes(plan))
    choice = choose(fitting, wanted)
    return replace(choice, plan=measured(fitting, choice.plan))


def measured(fitting: Fitting, plan: MemoryPlan) -> MemoryPlan:
    """Take real steps of a plan in a process of its own; what it really needs decides."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.config"
        path.write_text(encode(fitting.config))
        found = measure(
            [sys.executable, "-m", "holdfast.training.fitting.probe_step"],
            {
                "config": str(path),
                "folder": fitting.config.folder,
                "use": [str(each) for each in fitting.config.parts],
                "settings": asdict(plan.settings),
                "shape": asdict(fitting.worst.shape),
                "arena_bytes": plan.arena_bytes,
                "teacher": fitting.teacher,
            },
        )
    beside = sum(plan.items.get(name, 0) for name in _BESIDE_STEP)
    return replace(
        plan,
        measured_peak_bytes=found.peak_bytes,
        fits=plan.base_bytes + found.peak_bytes + beside <= plan.limit_bytes,
    )


def _step_bytes(plan: MemoryPlan) -> int:
    """Give what is predicted for the step alone, as it was before any correction."""
    beside = sum(plan.items.get(name, 0) for name in (*_BESIDE_STEP, CORRECTION))
    return plan.predicted_peak_bytes - beside

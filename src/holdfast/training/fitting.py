"""Make a training fit: predict its step for the worst batch, and search for settings that do."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from holdfast.config.encode import encode
from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.errors import HoldfastError
from holdfast.memory import calibration
from holdfast.memory.device import ADDRESS_SPACE, CPU, GPU, Limit
from holdfast.memory.host import resident_bytes
from holdfast.memory.items import DECODING, LOOP
from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.planner import Choice, search
from holdfast.memory.prediction import Prediction, predict
from holdfast.memory.probe import measure
from holdfast.memory.traced_step import TracedStep
from holdfast.memory.what_fits import Fits, Mode, what_fits
from holdfast.training.planning import StepTracer
from holdfast.training.suggestions import suggestions
from holdfast.training.worst_batch import WorstBatch, worst_batch

Trace = Callable[[StepSettings], TracedStep]
UNTOUCHED = "addresses reserved"
CORRECTION = "measured above prediction"
_BESIDE_STEP = (LOOP, DECODING, UNTOUCHED)
RESOLUTIONS = (0.5, 0.75, 1.0, 1.5, 2.0)  # of height and width
_BATCHES = (2, 4)  # two points of the line that what_fits extrapolates
ALL = ("all",)


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """What is asked: this config, on this device, with so much memory."""

    config: TrainEvalPipelineConfig
    worst: WorstBatch
    limit: Limit
    base_bytes: int  # held before the detector is built
    trace: Trace
    correction: float = 1.0  # what a step really needed, over what was predicted for it

    def plan(self, settings: StepSettings) -> MemoryPlan:
        """Predict one way to compute the step."""
        return self._plan(settings, self._predict(self.trace(settings)))

    def choose(self, wanted: StepSettings) -> Choice:
        """Search for settings that fit, beginning with the wanted ones."""
        traced = self.trace(wanted)
        if wanted.rematerialize == ALL:
            wanted = replace(wanted, rematerialize=traced.blocks)
        prediction = self._predict(traced)
        first = self._plan(wanted, prediction)

        def predicted(settings: StepSettings) -> MemoryPlan:
            return first if settings == wanted else self.plan(settings)

        return search(
            predicted,
            wanted,
            prediction.block_bytes,
            trains_batch_norm=traced.trains_batch_norm,
            # Who runs out of addresses on a CPU is not told but killed: no close shaves.
            is_exact=self.limit.source != ADDRESS_SPACE,
        )

    def what_fits(self, choice: Choice) -> tuple[Fits, ...]:
        """Find the largest batch for several resolutions and ways to compute a step."""
        precisions = [choice.plan.settings.precision]
        if self.limit.device == GPU and "mixed_float16" not in precisions:
            precisions.append("mixed_float16")
        modes = [
            Mode(
                name=f"{precision}{', rematerialized' if blocks else ''}",
                precision=precision,
                rematerialize=blocks,
            )
            for precision in precisions
            for blocks in ((), ALL)
        ]
        return what_fits(self.plan, modes, [scale**2 for scale in RESOLUTIONS], _BATCHES)

    def suggestions(self, choice: Choice) -> tuple[str, ...]:
        """Say what would have to change in the config where nothing fits."""
        if choice.plan.fits or self.config.model is None:
            return ()
        return tuple(suggestions(self.config.model, choice.plan))

    def _predict(self, traced: TracedStep) -> Prediction:
        return predict(
            traced,
            device=self.limit.device,
            batches=self.worst.batches,
            # It takes up to twice the addresses: not where they are few.
            reserves=self.limit.source != ADDRESS_SPACE,
        )

    def _plan(self, settings: StepSettings, prediction: Prediction) -> MemoryPlan:
        items = dict(prediction.items)
        if self.correction != 1.0:
            items[CORRECTION] = int(prediction.peak_bytes * (self.correction - 1.0))
        if self.limit.device == CPU:
            items[LOOP] = calibration.LOOP_BYTES
            items[DECODING] = self.worst.decoding_bytes
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


def fitting_of(config: TrainEvalPipelineConfig, folder: Path, limit: Limit) -> Fitting:
    """Ask for a config by itself: a detector is built and traced for each way to compute a step."""
    worst = worst_batch(config, folder)
    return Fitting(
        config=config,
        worst=worst,
        limit=limit,
        # Another device's memory is empty before the detector is built.
        base_bytes=resident_bytes() if limit.device == CPU else 0,
        trace=StepTracer(config, worst.shape),
    )


def wanted_settings(
    config: TrainEvalPipelineConfig,
    precision: str,
    accumulation: int,
    rematerialize: tuple[str, ...],
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
    )


def choose_measured(
    fitting: Fitting,
    wanted: StepSettings,
    choose: Callable[[Fitting, StepSettings], Choice] = Fitting.choose,
) -> Choice:
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
            [sys.executable, "-m", "holdfast.training.probe_step"],
            {
                "config": str(path),
                "settings": asdict(plan.settings),
                "shape": asdict(fitting.worst.shape),
                "arena_bytes": plan.arena_bytes,
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

"""`holdfast train --profile-at`: some steps of a run are traced, and the rest goes on as before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from holdfast.cli.profile.profile_report import summary_text
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.errors import HoldfastError
from holdfast.profiling.step_profile import profile_of
from holdfast.profiling.step_profiler import StepProfiler
from holdfast.runs.trace_marks import TRACES_NAME
from holdfast.training.training_settings import TrainingSettings

_STEPS = 10  # that are traced
_NOTED_ROWS = 20  # in the events of the run; the trace has all


class RunProfiler:
    """Traces steps into a run; to be used in a with block, which ends a trace begun in vain."""

    def __init__(self, profiler: StepProfiler | None, tell: Callable[[str], None]) -> None:
        self._profiler = profiler
        self._tell = tell
        self._has_begun = False

    def __enter__(self) -> RunProfiler:
        return self

    def __exit__(self, *_: object) -> None:
        if self._profiler is not None:
            self._profiler.stop()

    def done(self, steps: int) -> Mapping[str, Any] | None:
        """Hear how many steps are done; give what the trace says once it is complete."""
        profiler = self._profiler
        if profiler is None:
            return None
        if not self._has_begun and steps >= profiler.first:
            self._tell(f"Step {profiler.first} is done already, so it is not profiled.")
            self._profiler = None
            return None
        self._has_begun = True
        try:
            file = profiler.done(steps)
            if file is None:
                return None
            profile = profile_of(file, profiler.folder)
        except Exception as error:  # a training does not end because nobody can look at it
            self._profiler = None
            self._tell(f"The steps could not be profiled: {type(error).__name__}: {error}")
            return None
        self._profiler = None
        self._tell(f"{summary_text(profile)} The trace: `tensorboard --logdir {profiler.folder}`.")
        document = profile.document() | {"trace": TRACES_NAME}
        rows = {name: document[name][:_NOTED_ROWS] for name in ("layers", "operations")}
        return document | rows


def run_profiler(
    first: int | None,
    config: TrainEvalPipelineConfig,
    settings: TrainingSettings,
    run: Path,
    tell: Callable[[str], None],
) -> RunProfiler:
    """Make what traces a run from a step on; None: nothing is traced."""
    if first is None:
        return RunProfiler(None, tell)
    total = settings.steps or (config.train_config or TrainConfig()).num_steps
    if total and first > total:
        raise HoldfastError(
            f"--profile-at {first}: the training has {total} steps.", fix="Give an earlier step."
        )
    count = min(_STEPS, total - first + 1) if total else _STEPS
    return RunProfiler(StepProfiler(run / TRACES_NAME, first=first, count=count), tell)

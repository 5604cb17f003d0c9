"""What `holdfast train` tells while it trains."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.text import Text

from holdfast.cli.terminal import summary_panel
from holdfast.cli.train.pace import MeasuredPace
from holdfast.cli.train.run_watch import RunWatch
from holdfast.cli.train.stop_notice import stop_notice
from holdfast.cli.train.train_display import display
from holdfast.config.summary import SummaryRow
from holdfast.evaluation.result import EvaluationResult
from holdfast.memory.search.ladder import settings_text
from holdfast.training.reporter import Reporter, TakenStep, TrainingOutline
from holdfast.training.step.training_step import TOTAL
from holdfast.training.training_settings import TrainingSettings
from holdfast.units import count_text, seconds_text

_WORTH_TELLING = 60.0  # seconds; what is over sooner needs no estimate
_SHORT_NAMES = {
    "DetectionBoxes_Precision/mAP": "mAP",
    "DetectionBoxes_Precision/mAP@.50IOU": "mAP@.50",
    "DetectionMasks_Precision/mAP": "mask mAP",
    "DetectionMasks_Precision/mAP@.50IOU": "mask mAP@.50",
    "PascalBoxes_Precision/mAP@0.5IOU": "VOC mAP@.50",
    "OpenImagesV2_Precision/mAP@0.5IOU": "Open Images mAP@.50",
    TOTAL: "loss",
}


class TrainReporter(Reporter):
    """Prints to a console; to be used in a with block, which ends the bars whatever happens."""

    def __init__(
        self,
        terminal: Console,
        run: Path,
        settings: TrainingSettings,
        *,
        evaluation_images: int | None,  # None: there is no evaluation
    ) -> None:
        self._terminal = terminal
        self._evaluation_images = evaluation_images
        self._run = run
        self._settings = settings
        self._display = display(terminal)
        self._watch = RunWatch(run)
        self._pace: MeasuredPace | None = None
        self._stepped_at = 0.0
        self._has_foretold = False
        self._stack = ExitStack()

    def __enter__(self) -> TrainReporter:
        self._stack.enter_context(warnings.catch_warnings())
        self._stack.enter_context(stop_notice(self.stopping))
        warnings.showwarning = self._warned
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._display.end()
        self._stack.close()

    @property
    def has_begun(self) -> bool:
        """Whether a step was taken in this process."""
        return self._stepped_at > 0

    def note(self, text: str) -> None:
        """Print a note above the bars."""
        self._terminal.print(Text("note: ", style="bold") + Text(text))

    def stopping(self, signal_name: str) -> None:
        """Answer a signal; before the first step there is nothing to wait for."""
        if self._pace is not None:
            self.note(
                f"{signal_name}: stopping when the step or evaluation under way is done and saved. "
                "Ctrl-C again stops at once; the last checkpoint stays."
            )

    def started(self, plan: TrainingOutline) -> None:
        """Print what will be trained, on what, and from which weights."""
        every = self._settings.evaluation_interval(plan.steps)
        self._pace = MeasuredPace(
            steps=plan.steps,
            evaluate_every=every,
            checkpoint_every=self._settings.checkpoint_every,
            batch_size=plan.batch_size,
            evaluation_images=self._evaluation_images or 0,
        )
        rows = [*_plan_rows(plan, self._settings), _evaluation_row(plan, self._settings, every)]
        shown = rows if self._evaluation_images is not None else rows[:-1]
        self._terminal.print(summary_panel(f"run {self._run}", shown))
        if plan.start < plan.steps:
            self._display.begin(plan)

    def stepped(self, progress: TakenStep) -> None:
        """Show the step, and once it can be known how long the training takes."""
        assert self._pace is not None
        self._stepped_at = time.monotonic()
        self._pace.stepped(progress.step_seconds, progress.input_seconds)
        self._display.step(progress, self._pace)
        if self._pace.is_sure and not self._has_foretold:
            self._has_foretold = True
            self._foretell(progress.step, self._pace)
        self._warn(progress.step)

    def saved(self, step: int, path: Any) -> None:
        """Learn how long a checkpoint takes, which comes right after a step."""
        if self._pace is not None:
            self._pace.saved(time.monotonic() - self._stepped_at)

    def evaluating(self, done: int, total: int) -> None:
        """Show how far the evaluation is."""
        self._display.evaluating(done, total)

    def evaluated(self, step: int, result: EvaluationResult, is_best: bool) -> None:
        """Print the result on one line."""
        if self._pace is not None and result.seconds is not None:
            self._pace.evaluated(result.seconds)
        line = Text(f"evaluation after step {step}: ", style="bold") + Text(scores_text(result))
        if is_best:
            line.append("  best so far", style="bold green")
        self._terminal.print(line)
        self._warn(step, is_due=True)

    def _warn(self, step: int, *, is_due: bool = False) -> None:
        """Print what the doctor finds wrong with the run so far; each thing once."""
        for text in self._watch.look(step, is_due=is_due):
            self._terminal.print(Text("error ", style="bold red") + Text(text), soft_wrap=True)

    def _foretell(self, step: int, pace: MeasuredPace) -> None:
        seconds, left = pace.step_seconds, pace.seconds_left(step)
        if seconds is None or left is None or left < _WORTH_TELLING:
            return
        self.note(
            f"A step takes about {seconds_text(seconds)}: the remaining {pace.steps - step}, "
            f"evaluations and checkpoints take about {seconds_text(left)}."
        )

    def _warned(self, message: Warning | str, *_: Any, **__: Any) -> None:
        self.note(str(message))


def scores_text(result: EvaluationResult) -> str:
    """Write the few scores that tell most."""
    shown = [
        f"{short} {result.metrics[name]:.4g}"
        for name, short in _SHORT_NAMES.items()
        if name in result.metrics
    ]
    return ", ".join(shown)


def _plan_rows(plan: TrainingOutline, settings: TrainingSettings) -> Iterator[SummaryRow]:
    if plan.start >= plan.steps:
        yield SummaryRow("steps", f"all {plan.steps} are done already")
    elif plan.start:
        yield SummaryRow("steps", f"resuming after step {plan.start} of {plan.steps}")
    else:
        yield SummaryRow("steps", f"{plan.steps}, from the start")
    passes = plan.steps * plan.batch_size / max(plan.images, 1)
    yield SummaryRow(
        "data",
        f"{count_text(plan.images, 'image')}, {count_text(plan.boxes, 'box', 'boxes')}, "
        f"{count_text(plan.classes, 'class', 'classes')}; "
        f"each image is seen {passes:.3g} times or so",
    )
    yield SummaryRow("weights", plan.started_from)
    frozen = f", {plan.frozen} variables stay as they are" if plan.frozen else ""
    yield SummaryRow("trains", f"{plan.parameters:,} numbers in {plan.variables} variables{frozen}")
    yield SummaryRow("on", _device_text(plan, settings))
    yield SummaryRow("memory", f"{plan.memory} ({settings_text(plan.memory.settings)})")
    yield SummaryRow(
        "saves",
        f"every {settings.checkpoint_every} steps and before each evaluation; the last "
        f"{settings.keep} and the best are kept",
    )


def _device_text(plan: TrainingOutline, settings: TrainingSettings) -> str:
    texts = [f"{plan.device}, {plan.precision}, {count_text(plan.batch_size, 'image')} a step"]
    if plan.accumulation > 1:
        texts.append(f"in {plan.accumulation} pieces")
    if plan.memory.settings.rematerialize:
        texts.append("activations of blocks computed again")
    if settings.teacher:
        texts.append(f"taught by {settings.teacher}")
    if settings.optimization.prune:
        texts.append(f"pruned to {settings.optimization.prune}")
    if settings.class_weights:
        texts.append(f"class weights {settings.class_weights}")
    if settings.deterministic:
        texts.append("deterministic")
    return ", ".join(texts)


def _evaluation_row(plan: TrainingOutline, settings: TrainingSettings, every: int) -> SummaryRow:
    text = f"every {every} step{'' if every == 1 else 's'} and at the end"
    if every >= plan.steps:
        text = "at the end"
    if settings.patience is not None:
        times = f"{settings.patience} evaluation{'' if settings.patience == 1 else 's'}"
        text += f"; stops after {times} without a better one"
    return SummaryRow("evaluates", text)

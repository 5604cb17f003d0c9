"""Steps as they go by: a few lines that change on a terminal, else a line now and then."""

from __future__ import annotations

import time
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.text import Text

from holdfast.cli.train.pace import MeasuredPace
from holdfast.training.reporter import TakenStep, TrainingOutline
from holdfast.training.step.pruning import PRUNED_SHARE
from holdfast.training.step.training_step import TOTAL
from holdfast.units import bytes_text, seconds_text

_LINE_SECONDS = 20.0  # between two plain lines
_WAIT_SHARE = 0.1  # of the time; more waiting for images is worth being told


class Display(Protocol):
    """Shows where a training is."""

    def begin(self, plan: TrainingOutline) -> None:
        """Show that steps come now."""

    def step(self, step: TakenStep, pace: MeasuredPace) -> None:
        """Show a step."""

    def evaluating(self, done: int, total: int) -> None:
        """Show how many images are evaluated."""

    def end(self) -> None:
        """Stop showing anything; ending twice does nothing."""


def display(terminal: Console) -> Display:
    """Choose what the console can show."""
    return Bar(terminal) if terminal.is_interactive else Lines(terminal)


class Bar:
    """A bar, and below it two lines on what the last step did."""

    def __init__(self, terminal: Console) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}"),
            console=terminal,
        )
        self._live = Live(self._bars, console=terminal, transient=True, refresh_per_second=4)
        self._training: TaskID | None = None
        self._evaluation: TaskID | None = None
        self._plan: TrainingOutline | None = None

    def begin(self, plan: TrainingOutline) -> None:
        """Show the bar before the first step, which builds the graph and takes a while."""
        self._plan = plan
        self._training = self._bars.add_task(
            "training", total=plan.steps, completed=plan.start, told="building the graph"
        )
        self._live.start()

    def step(self, step: TakenStep, pace: MeasuredPace) -> None:
        """Move the bar, and write what the step did."""
        assert self._training is not None
        assert self._plan is not None
        self._hide_evaluation()
        self._bars.update(self._training, completed=step.step, told=_pace_text(step, pace))
        state = ", ".join(_state_texts(step, self._plan, pace))
        self._live.update(Group(self._bars, Text(f"{loss_text(step.losses)}\n{state}", "dim")))

    def evaluating(self, done: int, total: int) -> None:
        """Show a second bar."""
        if self._evaluation is None:
            self._evaluation = self._bars.add_task("evaluating", total=total, told="images")
        self._bars.update(self._evaluation, completed=done)
        if done >= total:
            self._bars.update(self._evaluation, told="images, computing the metrics")

    def end(self) -> None:
        """Remove the bars; what was printed above them stays."""
        self._hide_evaluation()
        self._live.stop()

    def _hide_evaluation(self) -> None:
        if self._evaluation is not None:
            self._bars.remove_task(self._evaluation)
            self._evaluation = None


class Lines:
    """The first step, then a line every so many seconds."""

    def __init__(self, terminal: Console) -> None:
        self._terminal = terminal
        self._plan: TrainingOutline | None = None
        self._last: float | None = None  # when a line was printed

    def begin(self, plan: TrainingOutline) -> None:
        """Remember what is trained."""
        self._plan = plan

    def step(self, step: TakenStep, pace: MeasuredPace) -> None:
        """Print the step if it is time for a line, and always the first and the last."""
        assert self._plan is not None
        now = time.monotonic()
        is_due = self._last is None or now - self._last >= _LINE_SECONDS
        if is_due or step.step == self._plan.steps:
            self._last = now
            place = f"step {step.step} of {self._plan.steps}"
            state = _state_texts(step, self._plan, pace)
            line = ", ".join((loss_text(step.losses), *state, _pace_text(step, pace)))
            self._terminal.print(Text(f"{place}: {line}"), soft_wrap=True)

    def evaluating(self, done: int, total: int) -> None:
        """Say when an evaluation takes long."""
        now = time.monotonic()
        if self._last is not None and now - self._last >= _LINE_SECONDS:
            self._last = now
            self._terminal.print(f"evaluating: {done} of {total} images", soft_wrap=True)

    def end(self) -> None:
        """There is nothing to take back."""


def loss_text(losses: dict[str, float]) -> str:
    """Write the loss and its terms.

    >>> loss_text({"Loss/localization_loss": 0.25, TOTAL: 1.5, "Loss/classification_loss": 1.25})
    'loss 1.5 (localization 0.25, classification 1.25)'
    """
    terms = (
        f"{name.removeprefix('Loss/').removesuffix('_loss')} {value:.4g}"
        for name, value in losses.items()
        if name != TOTAL
    )
    return f"loss {losses[TOTAL]:.4g} ({', '.join(terms)})"


def _pace_text(step: TakenStep, pace: MeasuredPace) -> str:
    """Say how long it takes; before that is known, how long the first step took."""
    seconds, left = pace.step_seconds, pace.seconds_left(step.step)
    if seconds is None or left is None:
        return f"the first step took {seconds_text(pace.first_seconds or 0.0)}"
    rate = f"{1 / seconds:.1f} steps/s" if seconds < 1 else f"{seconds:.1f} s/step"
    if not left:
        return rate
    what = "left" if step.step < pace.steps else "to evaluate and save"
    return f"{rate}, {seconds_text(left)} {what}"


def _state_texts(step: TakenStep, plan: TrainingOutline, pace: MeasuredPace) -> list[str]:
    texts = [f"learning rate {step.learning_rate:.3g}"]
    if pace.step_seconds:
        texts.append(f"{plan.batch_size / pace.step_seconds:.3g} images/s")
    if pace.input_share > _WAIT_SHARE:
        texts.append(f"{pace.input_share:.0%} of the time waiting for images")
    if (share := step.measures.get(PRUNED_SHARE)) is not None:
        texts.append(f"{share:.1%} pruned")
    texts.append(f"memory {bytes_text(step.resident_bytes)}")
    return texts

"""What `holdfast train` says when it ends: the scores by class, and what can be done next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from holdfast.checkpoints.own import saved_checkpoints
from holdfast.checkpoints.own.saved_checkpoints import Checkpoint
from holdfast.config.summary import SummaryRow
from holdfast.evaluation.result import ClassScore, EvaluationResult
from holdfast.evaluation.table import result_table
from holdfast.runs.run import Run, is_run
from holdfast.training.loop import DONE, INTERRUPTED, NO_LONGER_BETTER, TrainingResult
from holdfast.units import bytes_text, count_text, seconds_text

_VERDICTS = {
    DONE: ("Done", "bold green"),
    INTERRUPTED: ("Interrupted, and saved", "bold yellow"),
    NO_LONGER_BETTER: ("Stopped early: it no longer gets better", "bold green"),
}


def print_end(terminal: Console, result: TrainingResult, command: Sequence[str]) -> None:
    """Print the last evaluation, what came of the training, and the commands to go on with."""
    evaluation = last_evaluation(result.run)
    if evaluation is not None and result.ended != INTERRUPTED:
        terminal.print()
        terminal.print(result_table(evaluation))
    verdict, style = _VERDICTS[result.ended]
    text = f", {result.steps} steps, {seconds_text(result.seconds)} this time."
    terminal.print(Text(f"\n{verdict}", style=style) + Text(text))
    for row in _next_rows(result, command):  # not in a panel: commands are copied from here
        terminal.print(Text(f"  {row.label:<14}", style="cyan") + Text(row.text), soft_wrap=True)


def result_json(result: TrainingResult) -> dict[str, Any]:
    """Give what came of a training as JSON values."""
    evaluation, best = last_evaluation(result.run), _best(result.run)
    document = evaluation.document() if evaluation is not None else {}
    return {
        "run": result.store or str(result.run),
        "folder": str(result.run),
        "not_uploaded": list(result.not_uploaded),
        "steps": result.steps,
        "ended": result.ended,
        "metrics": document.get("metrics", {}),
        "per_class": document.get("per_class", {}),
        "best": None if best is None else {"step": best.step, "metric": best.metric},
        "seconds": result.seconds,
        "predicted_peak_bytes": result.predicted_peak_bytes,
        "measured_peak_bytes": result.measured_peak_bytes,
    }


def last_evaluation(run: Path) -> EvaluationResult | None:
    """Read the last evaluation of a run, also one of an earlier process; None if there is none."""
    if not is_run(run):
        return None  # of several machines, only the first may see it
    last = None
    for event in Run.open(run).read_events():
        if event.kind == "evaluation":
            last = event.values
    if last is None:
        return None
    return EvaluationResult(
        metrics={
            name: float("nan") if value is None else value
            for name, value in last["metrics"].items()
        },
        per_class={name: ClassScore(**score) for name, score in last["per_class"].items()},
        images=last["images"],
        seconds=last["seconds"],
    )


def _next_rows(result: TrainingResult, command: Sequence[str]) -> Iterator[SummaryRow]:
    run, best = result.run, _best(result.run)
    if result.store is not None:
        yield SummaryRow("run", f"{result.store}, trained in {run}")
    else:
        yield SummaryRow("run", str(run))
    if result.not_uploaded:
        names = ", ".join(result.not_uploaded[:3])
        yield SummaryRow(
            "not uploaded",
            f"{count_text(len(result.not_uploaded), 'file')}: {names}. {run} has all of them, and "
            "the same command uploads them.",
        )
    if best is not None:
        yield SummaryRow("best", f"step {best.step} ({best.metric:.4g}): {best.path}")
    needed, predicted = result.measured_peak_bytes, result.predicted_peak_bytes
    yield SummaryRow("memory", f"{bytes_text(needed)} at most; predicted {bytes_text(predicted)}")
    if result.ended == INTERRUPTED:
        yield SummaryRow("go on", shlex.join(command))
    else:
        yield SummaryRow("train longer", "the same command with more --steps")
    yield SummaryRow("evaluate", shlex.join(["holdfast", "evaluate", result.store or str(run)]))
    yield SummaryRow("curves", shlex.join(["tensorboard", "--logdir", str(run / "tensorboard")]))


def _best(run: Path) -> Checkpoint | None:
    return (
        saved_checkpoints.best_of(saved_checkpoints.checkpoints_in(Run.open(run).checkpoints))
        if is_run(run)
        else None
    )

"""What `holdfast search` tells while it searches, and the table at its end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.tuning.search_loop import SearchReporter, SearchRequest
from holdfast.tuning.search_result import BestConfig
from holdfast.tuning.search_space import Value
from holdfast.tuning.search_study import ClaimedTrial, SearchStudy, TrialRecord, TrialState

_STYLES = {
    TrialState.COMPLETE: "green",
    TrialState.PRUNED: "dim",
    TrialState.SKIPPED: "yellow",
    TrialState.FAILED: "red",
    TrialState.RUNNING: "cyan",
}


class PrintingReporter(SearchReporter):
    """A line for each thing that happens: several processes may write to one terminal."""

    def __init__(self, terminal: Console, request: SearchRequest) -> None:
        self._terminal = terminal
        self._request = request

    def began(self, trial: ClaimedTrial) -> None:
        """Print what is tried."""
        how = "goes on" if trial.is_resumed else "begins"
        self._line(trial, f"{how}: {settings_text(trial.settings)}")

    def evaluated(self, trial: ClaimedTrial, evaluation: int, value: float | None) -> None:
        """Print the metric."""
        shown = "not a number" if value is None else f"{value:.4g}"
        self._line(trial, f"evaluation {evaluation} of {self._request.evaluations}: {shown}")

    def ended(self, trial: ClaimedTrial, state: TrialState, reason: str) -> None:
        """Print how it ended."""
        best = f", best {trial.metric:.4g}" if trial.metric is not None else ""
        self._line(trial, f"{state.value}{best}{f': {reason}' if reason else ''}", _STYLES[state])

    def _line(self, trial: ClaimedTrial, text: str, style: str = "") -> None:
        name = f"trial {trial.number + 1} of {self._request.trials}: "
        self._terminal.print(Text(name, style="bold") + Text(text, style=style), soft_wrap=True)


def print_search(
    terminal: Console,
    request: SearchRequest,
    study: SearchStudy,
    best: BestConfig | None,
    picture: Path,
) -> None:
    """Print all trials, and the best one's config with what differs."""
    records = study.records()
    terminal.print()
    terminal.print(_table(request, records))
    for each in records:
        if each.reason and each.state in (TrialState.FAILED, TrialState.SKIPPED):
            terminal.print(Text(f"  {each.number:04d} {each.state}: {each.reason}"), soft_wrap=True)
    if still := sum(each.state == TrialState.RUNNING for each in records):
        terminal.print(f"\n{still} more are being trained by other processes.")
    terminal.print(Text(f"\nThe trials as a picture: {picture}"), soft_wrap=True)
    if best is None:
        terminal.print("No trial was trained to its end.", style="bold red")
        return
    terminal.print(Text.assemble(("Best: ", "bold green"), f"{best.trial.metric:.4g}, {best.path}"))
    for line in best.differences:
        terminal.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    terminal.print(Text.assemble(("Next: ", "bold green"), best.command), soft_wrap=True)


def settings_text(settings: Mapping[str, Value]) -> str:
    """Write the values of a trial, each field by its last name."""
    return ", ".join(f"{_short(name)} {_text(value)}" for name, value in settings.items())


def _table(request: SearchRequest, records: tuple[TrialRecord, ...]) -> Table:
    """Set the trials side by side, the best first."""
    table = Table(box=None, header_style="cyan", padding=(0, 2, 0, 0))
    table.add_column("trial", justify="right")
    for each in request.space:
        table.add_column(_short(each.name), justify="right")
    table.add_column(_short(request.metric), justify="right")
    table.add_column("state")
    sign = 1.0 if request.is_minimized else -1.0
    for record in sorted(
        records,
        key=lambda each: (each.metric is None, sign * (each.metric or 0.0)),
    ):
        table.add_row(
            f"{record.number:04d}",
            *(_text(record.settings.get(each.name, "-")) for each in request.space),
            "-" if record.metric is None else f"{record.metric:.4g}",
            Text(record.state.value, style=_STYLES[record.state]),
        )
    return table


def _short(name: str) -> str:
    return name.rpartition(".")[2].rpartition("/")[2]


def _text(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"

"""`holdfast doctor --learning-rate`: the range test, its picture, and the rate it speaks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from holdfast.doctor.case import Case
from holdfast.doctor.rate_proposal import RULE, RateProposal

STEPS = 100


def find_rate(case: Case, *, steps: int | None, picture: Path, as_json: bool) -> None:
    """Run the test, draw its curve, and print the proposal."""
    from holdfast.cli.doctor.doctor_trial import run_settings
    from holdfast.cli.progress_bar import progress
    from holdfast.cli.quiet import load_tensorflow
    from holdfast.doctor.rate_proposal import propose_rate

    load_tensorflow()
    from holdfast.training.range_test import RangeTest, range_test

    with progress("range test", "steps") as report:
        tested: RangeTest = range_test(
            case.config,
            steps=steps or STEPS,
            settings=run_settings(case),
            folder=case.folder,
            progress=report,
        )
    proposal = propose_rate(tested.rates, tested.losses)
    _draw(tested.rates, tested.losses, proposal, picture)
    peak = case.rate_curve.peak
    fix = {} if proposal.rate is None else case.rate_curve.scaled(proposal.rate / peak)
    document: dict[str, Any] = {
        "proposed": proposal.rate,
        "set": fix,
        "rule": RULE,
        "highest_rate_of_the_config": peak,
        "lowest_loss_at": proposal.lowest_at,
        "loss_rises_from": proposal.rises_from,
        "loss_fell_to": proposal.fell_to,
        "ended": tested.ended,
        "picture": str(picture),
        "curve": [
            {"rate": rate, "loss": loss, "smoothed": level}
            for rate, loss, level in zip(
                tested.rates, tested.losses, proposal.smoothed, strict=False
            )
        ],
    }
    if as_json:
        typer.echo(json.dumps(document, indent=1))
    else:
        _print(document)
    raise typer.Exit(0 if proposal.rate is not None else 1)


def _draw(
    rates: tuple[float, ...], losses: tuple[float, ...], proposal: RateProposal, path: Path
) -> None:
    from holdfast.doctor.line_chart import Chart, ChartLine, draw_chart
    from holdfast.pictures import save_png

    marks = [] if proposal.rate is None else [(proposal.rate, f"{proposal.rate:.2g}")]
    shown = rates[: len(proposal.smoothed)]
    chart = Chart(
        title="Loss while the learning rate rises",
        x_label="learning rate",
        y_label="loss",
        lines=[
            ChartLine(label="loss", color=(120, 150, 200), x=rates, y=losses, is_faint=True),
            ChartLine(label="smoothed", color=(66, 212, 244), x=shown, y=proposal.smoothed),
        ],
        marks=marks,
        log_x=True,
        log_y=True,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    save_png(str(path), draw_chart(chart))


def _print(document: dict[str, Any]) -> None:
    from rich.text import Text

    from holdfast.cli.terminal import console

    terminal = console()
    if document["proposed"] is None:
        terminal.print(
            "No rate made the loss fall: something other than the rate keeps it from learning."
        )
    else:
        terminal.print(f"Learning rate [bold green]{document['proposed']:.2g}[/] ({RULE}).")
        terminal.print(f"The config's highest is {document['highest_rate_of_the_config']:.2g}.")
        options = " ".join(f"--set {path}={value}" for path, value in document["set"].items())
        terminal.print(Text(f"  {options}", style="bold"), soft_wrap=True)
    terminal.print(Text(f"The curve: {document['picture']}"), soft_wrap=True)

"""A look at memory: the planner, in a process of its own, against the machine's GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from holdfast.cloud.preflight.flight import Flight, Outcome
from holdfast.config.schema.train import TrainConfig
from holdfast.units import bytes_text


def look_at_gpu_memory(flight: Flight) -> Iterator[Outcome]:
    """Plan the part of the batch that one card computes."""
    card = flight.machine.card
    if flight.report.config is None or card is None:
        return
    document, problem = _planned(flight, card.usable_bytes)
    if document is None:
        fix = "Correct what else is said of the config, and give it time with --time-limit."
        yield Outcome(name="gpu-memory", ok=False, what=problem, fix=fix)
        return
    needed = bytes_text(document["base_bytes"] + document["predicted_peak_bytes"])
    what = f"A step needs {needed} of the {bytes_text(card.usable_bytes)} of a {card.name}"
    changes = "" if document["fits"] else ", however it is computed"
    fixes = [_text(each) for each in document.get("suggestions", ())]
    fix = "" if document["fits"] else " ".join(fixes[:1]) or "Choose a card with more memory."
    yield Outcome(name="gpu-memory", ok=document["fits"], what=f"{what}{changes}.", fix=fix)


def _text(suggestion: dict[str, Any]) -> str:
    return str(suggestion.get("text") or suggestion.get("options") or suggestion)


def _planned(flight: Flight, limit: int) -> tuple[dict[str, Any] | None, str]:
    """Give what `holdfast plan --json` says, else why it says nothing."""
    config = flight.report.config
    batch = ((config and config.train_config) or TrainConfig()).batch_size or 1
    cards = flight.workers * max(1, flight.machine.num_cards)
    own = f"train_config.batch_size={max(1, batch // cards)}"
    command = [
        *(sys.executable, "-m", "holdfast", "plan", str(flight.report.source), "--json"),
        *("--device", "gpu", "--memory", str(limit), "--no-table"),
        *(word for each in (*flight.assignments, own) for word in ("--set", each)),
    ]
    seconds = flight.seconds_left()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, f"There was no time for a plan within {seconds:.0f} s."
    if done.returncode > 1 or not done.stdout.strip():
        lines = done.stderr.strip().splitlines()
        return None, f"It could not be planned: {lines[-1] if lines else 'no answer'}"
    return json.loads(done.stdout), ""

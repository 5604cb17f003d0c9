"""The peak memory of whole trainings: statistics, steps, checkpoints and evaluations of 16 images.

Each network is trained by `holdfast train` in a process of its own, on synthetic data. What the run
says it was planned to need is compared with what it held, above what it held before the detector
was built. Results are kept in a file of JSON lines: a run that was stopped goes on where it stood.
TF_ENABLE_ONEDNN_OPTS=0 or 1 chooses TensorFlow's allocator, whose results are kept apart.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent
UNDER, OVER = -0.05, 0.12  # how far the plan may be from what was held
IMAGES = 64


class Training(NamedTuple):
    """A network, and the images of its batches."""

    recipe: str
    batch_size: int
    evaluation_batch_size: int = 16
    steps: int = 8

    def __str__(self) -> str:
        return f"{self.recipe} batch {self.batch_size}, evaluated by {self.evaluation_batch_size}"


TRAININGS = (
    Training("ssd_mobilenet_v2_320", 8),
    Training("fpnlite_320", 8),
    Training("efficientdet_d0", 2),
)


class Held(NamedTuple):
    """What a run was planned to hold, and held."""

    predicted_bytes: int
    measured_bytes: int

    @property
    def error(self) -> float:
        """How far the plan is from what was held."""
        return self.predicted_bytes / self.measured_bytes - 1


def main() -> None:
    arguments = _arguments()
    console, allocator = Console(), allocator_name()
    table = Table(
        "training", "planned MiB", "held MiB", "error", title=f"Whole trainings, {allocator}"
    )
    for training in TRAININGS:
        if arguments.only not in str(training):
            continue
        key = f"{training}, {allocator}"
        held = read_results(arguments.results).get(key)
        if held is None or arguments.again:
            held = train(training)
            with arguments.results.open("a") as file:
                file.write(json.dumps({"training": key} | held._asdict()) + "\n")
        is_good = UNDER <= held.error <= OVER
        table.add_row(
            str(training),
            f"{held.predicted_bytes / 2**20:.0f}",
            f"{held.measured_bytes / 2**20:.0f}",
            f"{held.error:+.1%}{'' if is_good else ' (wanted -5 % to +12 %)'}",
        )
    console.print(table)


def train(training: Training) -> Held:
    """Train in a process of its own, and read what it says it held."""
    with tempfile.TemporaryDirectory() as folder:
        data, run = Path(folder) / "data", Path(folder) / "run"
        _holdfast(
            *("new", training.recipe, "--data", f"{IMAGES}@320", "--format", "synthetic"),
            *("--out", data),
        )
        document = _holdfast(
            *("train", data / "pipeline.config", "--run", run, "--steps", training.steps),
            *("--evaluate-every", training.steps // 2, "--checkpoint-every", 2),
            *("--set", f"train_config.batch_size={training.batch_size}"),
            *("--set", f"eval_config.batch_size={training.evaluation_batch_size}"),
        )
    return Held(document["predicted_peak_bytes"], document["measured_peak_bytes"])


def allocator_name() -> str:
    """Say where large tensors lie, as a process of its own finds it."""
    program = "from holdfast.memory.devices.allocation import has_arena; print(has_arena())"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return "arena" if run.stdout.strip().endswith("True") else "mapped"


def read_results(path: Path) -> dict[str, Held]:
    lines = path.read_text().splitlines() if path.exists() else []
    documents = [json.loads(line) for line in lines]
    return {each.pop("training"): Held(**each) for each in documents}


def _holdfast(*arguments: object) -> dict:
    command = [sys.executable, "-m", "holdfast", *map(str, arguments), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    if run.returncode:
        sys.exit(f"{' '.join(command)} ended with code {run.returncode}: {run.stderr[-2000:]}")
    return json.loads(run.stdout)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    default = PROJECT / "benchmarks/whole_training_memory.jsonl"
    parser.add_argument("--results", type=Path, default=default)
    parser.add_argument("--again", action="store_true", help="train all anew")
    parser.add_argument("--only", default="", help="trainings whose name contains this")
    return parser.parse_args()


if __name__ == "__main__":
    main()

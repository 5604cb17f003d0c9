"""Pretends to be `holdfast train`, `plan` and `doctor` for a search: no network, only numbers.

python pretended_holdfast.py search … runs the real search, whose trials are such pretended ones.
"""

from __future__ import annotations

import json
import math
import signal
import sys
import time
from itertools import pairwise
from pathlib import Path

BEST_RATE = 0.01
EVALUATION_SECONDS = 0.1
METRIC = "DetectionBoxes_Precision/mAP"
SMALL, LARGE = 2**30, 2**33


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(Path(__file__).resolve()), *arguments]


def main() -> None:
    match sys.argv[1]:
        case "train":
            train(options(sys.argv[2:]))
        case "plan":
            plan(options(sys.argv[2:]))
        case "doctor":
            print(json.dumps({"proposed": 0.02, "loss_rises_from": 0.05}))
        case "search":
            from holdfast.cli.main import main as holdfast
            from holdfast.tuning import trial_process

            trial_process.holdfast_command = command
            holdfast()


def options(arguments: list[str]) -> dict[str, str]:
    """Give options by their name, and what --set says by its last name."""
    found = {}
    for name, value in pairwise(arguments):
        if name == "--set":
            path, _, setting = value.partition("=")
            found[path.rpartition(".")[2]] = setting
        elif name.startswith("--"):
            found[name] = value
    return found


def plan(given: dict[str, str]) -> None:
    needed = LARGE if given.get("batch_size") == "64" else SMALL
    fits = needed <= SMALL
    print(
        json.dumps(
            {
                "fits": fits,
                "base_bytes": 0,
                "predicted_peak_bytes": needed,
                "limit_bytes": SMALL,
            }
        )
    )
    sys.exit(0 if fits else 1)


def train(given: dict[str, str]) -> None:
    from holdfast.runs.manifest import RunManifest
    from holdfast.runs.run import Run, is_run
    from holdfast.training.surviving.supervised import end_with_program

    end_with_program()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    rate = float(given["learning_rate"])
    if rate > 0.5:
        sys.exit("error: The loss is not a finite number.")
    path = Path(given["--run"])
    manifest = RunManifest(config={}, seed=0, versions={}, started="")
    with Run.resume(path) if is_run(path) else Run.create(path, manifest, "") as run:
        done = max((each.step for each in run.read_events()), default=0)
        every = int(given["--evaluate-every"])
        for step in range(done + every, int(given["--steps"]) + 1, every):
            time.sleep(EVALUATION_SECONDS)
            value = (1 - abs(math.log10(rate / BEST_RATE)) / 4) * step / int(given["--steps"])
            run.events.append(step, "evaluation", metrics={METRIC: value})


if __name__ == "__main__":
    main()

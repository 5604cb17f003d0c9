"""Whether a search that is killed twice finds a learning rate near the best one of a grid.

Demo data, the demo's detector, short trainings: `holdfast search` in a process that SIGKILL ends
after a few trials, twice, beside the same trainings at the rates of a grid.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

from results import holdfast, print_table, settings

from holdfast.runs.run import Run

METRIC = "Loss/total_loss"
GRID = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
WANTED = 3.0  # times the grid's best rate, or a third of it
RATE = "train_config.optimizer.adam_optimizer.learning_rate.cosine_decay_learning_rate"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("search-rate"))
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--trials", type=int, default=12)
    options = parser.parse_args()
    config = prepare(options.out)
    found = searched(config, options)
    losses = {rate: grid_loss(config, rate, options) for rate in GRID}
    best = min(losses, key=lambda rate: losses[rate])
    rows = [(f"{rate:g}", f"{loss:.4g}") for rate, loss in losses.items()]
    rate = found["best"]["settings"]["learning-rate"]
    rows.append((f"search: {rate:g}", f"{found['best']['metric']:.4g}"))
    print_table(("rate", METRIC), rows)
    states = [each["state"] for each in found["trials"]]
    print(", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)))
    factor = math.exp(abs(math.log(rate / best)))
    print(f"the grid's best is {best:g}: a factor of {factor:.2g}, wanted at most {WANTED:g}")
    sys.exit(factor > WANTED)


def prepare(out: Path) -> Path:
    """Draw some of the demo's data, and write its config."""
    out.mkdir(parents=True, exist_ok=True)
    config = out / "pipeline.config"
    if not config.exists():
        holdfast("convert", "200@160", str(out / "data"), "--format", "synthetic", "--val", "0.15")
        config.write_text(files("holdfast.config.recipes").joinpath("demo.config").read_text())
    return config


def short(steps: int) -> list[str]:
    """Give what a training is told besides its rate: a schedule that fits into its few steps."""
    given = {
        f"{RATE}.total_steps": steps,
        f"{RATE}.warmup_steps": steps // 10,
        "train_config.batch_size": 8,
    }
    shared = ["--steps", str(steps), "--evaluate-every", str(steps // 3)]
    return [*shared, *settings(given)]


def searched(config: Path, options: argparse.Namespace) -> dict:
    """Search, kill the search after a fourth and a half of its trials, and go on."""
    place = options.out / "search"
    command = [
        *(sys.executable, "-m", "holdfast", "search", str(config), "--out", str(place), "--json"),
        *("--over", "learning-rate=log:1e-5..1", "--trials", str(options.trials)),
        *("--metric", METRIC, *short(options.steps)),
    ]
    for share in (4, 2):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None and count_runs(place) <= options.trials // share:
            time.sleep(1.0)
        time.sleep(5.0)
        process.send_signal(signal.SIGKILL)
        process.wait()
        print(f"killed with {count_runs(place)} trials begun", flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def count_runs(place: Path) -> int:
    return len(list(place.glob("trials/*/manifest.json")))


def grid_loss(config: Path, rate: float, options: argparse.Namespace) -> float:
    """Train at one rate as the search does; give the lowest loss of its evaluations."""
    run = options.out / "grid" / f"{rate:g}"
    holdfast(
        *("train", str(config), "--run", str(run), "--keep", "1", *short(options.steps)),
        *("--set", f"{RATE}.learning_rate_base={rate}"),
        *("--set", f"{RATE}.warmup_learning_rate={min(rate / 2, 5e-4):.3g}"),
        bad_is_fine=True,
    )
    events = Run.open(run).read_events()
    return min(each.values["metrics"][METRIC] for each in events if each.kind == "evaluation")


if __name__ == "__main__":
    main()

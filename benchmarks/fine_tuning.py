"""How well `holdfast new` fine-tunes: its own settings beside a grid of rates and batch norms.

Each data set is made ready by `holdfast new ssd_mobilenet_v2 --checkpoint …`, trained for 500 steps
from COCO's weights, and judged on images that the training did not see: the data set's test split,
or the validation split where it has none. Results are kept in a file of JSON lines: a run that was
stopped goes on where it stood.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
CHECKPOINT = SHARED / "weights" / "ssd_mobilenet_v2_coco" / "model.ckpt"
RECIPE, STEPS = "ssd_mobilenet_v2", 500
DATA_SETS = ("bccd", "raccoon", "okra_yolo")
RATES = (0.003, 0.01, 0.03)
RATE = "train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate"
BATCH_NORM = "model.ssd.feature_extractor.conv_hyperparams.batch_norm.train"
MAP_50 = "DetectionBoxes_Precision/mAP@.50IOU"
MAP = "DetectionBoxes_Precision/mAP"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One training."""

    data: str
    name: str
    settings: Mapping[str, object]  # what differs from what `holdfast new` writes


def main() -> None:
    arguments = _arguments()
    results = _read(arguments.results)
    for cell in _cells(arguments.data, has_grid=not arguments.own):
        key = f"{cell.data} {cell.name}"
        if key not in results:
            metrics = _train(cell, arguments.work)
            results[key] = {"map_50": metrics[MAP_50], "map": metrics[MAP]}
            with arguments.results.open("a") as file:
                file.write(json.dumps({"cell": key} | results[key]) + "\n")
        print(f"{key}: {results[key]['map_50']:.3f}", flush=True)
    Console().print(_table(results))


def _cells(data_sets: list[str], *, has_grid: bool) -> Iterator[Cell]:
    for data in data_sets:
        yield Cell(data=data, name="new", settings={})
        for rate in RATES if has_grid else ():
            for trains in (True, False):
                name = f"rate {rate:g}, batch norm {'trained' if trains else 'frozen'}"
                values = {
                    f"{RATE}.learning_rate_base": rate,
                    f"{RATE}.warmup_learning_rate": rate / 10,
                    BATCH_NORM: str(trains).lower(),
                }
                yield Cell(data=data, name=name, settings=values)


def _train(cell: Cell, work: Path) -> dict[str, float]:
    folder = work / cell.data
    if not (folder / "pipeline.config").exists():
        data = ("--data", str(SHARED / "datasets" / cell.data))
        options = ("--checkpoint", str(CHECKPOINT), "--steps", str(STEPS), "--out", str(folder))
        _holdfast("new", RECIPE, *data, *options)
    records = next(folder.glob("*_records"))
    unseen = "test" if any(records.glob("test.record*")) else "val"
    values = dict(cell.settings) | {
        "eval_input_reader[0].tf_record_input_reader.input_path": f"{records}/{unseen}.record-*"
    }
    run = work / "run"
    shutil.rmtree(run, ignore_errors=True)
    sets = [text for name, value in values.items() for text in ("--set", f"{name}={value}")]
    last = ("--evaluate-every", str(STEPS), "--checkpoint-every", str(STEPS), "--json")
    document = _holdfast("train", str(folder / "pipeline.config"), "--run", str(run), *last, *sets)
    metrics: dict[str, float] = json.loads(document)["metrics"]
    return metrics


def _holdfast(*arguments: str) -> str:
    command = [sys.executable, "-m", "holdfast", *arguments]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return finished.stdout


def _table(results: Mapping[str, Mapping[str, float]]) -> Table:
    data_sets = list(dict.fromkeys(key.partition(" ")[0] for key in results))
    names = list(dict.fromkeys(key.partition(" ")[2] for key in results))
    table = Table("mAP at 0.5", *data_sets, box=None)
    for name in names:
        found = (results.get(f"{data} {name}") for data in data_sets)
        table.add_row(name, *(f"{each['map_50']:.3f}" if each else "-" for each in found))
    return table


def _read(path: Path) -> dict[str, dict[str, float]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {(values := json.loads(line)).pop("cell"): values for line in lines}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=DATA_SETS, help="data sets of the shared folder")
    parser.add_argument("--own", action="store_true", help="no grid: only what `new` writes")
    here = Path(__file__).parent
    parser.add_argument("--results", type=Path, default=here / "fine_tuning.jsonl")
    parser.add_argument("--work", type=Path, default=Path("build/fine_tuning"))
    return parser.parse_args()


if __name__ == "__main__":
    main()

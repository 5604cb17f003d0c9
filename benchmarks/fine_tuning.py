"""How well `holdfast new` fine-tunes: its own settings beside a grid of rates and batch norms.

Each data set is made ready by `holdfast new ssd_mobilenet_v2 --checkpoint …`, trained for 500 steps
from COCO's weights, and judged on images that the training did not see: the data set's test split,
or the validation split where it has none. Results are kept in a file of JSON lines: a run that was
stopped goes on where it stood.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from results import (
    MAP,
    MAP_50,
    KeptResults,
    holdfast,
    new_project,
    print_table,
    settings,
    unseen_images,
)

RECIPE, WEIGHTS, STEPS = "ssd_mobilenet_v2", "ssd_mobilenet_v2_coco", 500
DATA_SETS = ("bccd", "raccoon", "okra_yolo")
RATES = (0.003, 0.01, 0.03)
RATE = "train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate"
BATCH_NORM = "model.ssd.feature_extractor.conv_hyperparams.batch_norm.train"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One training."""

    data: str
    name: str
    settings: Mapping[str, object]  # what differs from what `holdfast new` writes


def main() -> None:
    arguments = _arguments()
    results = KeptResults(arguments.results, key="cell")
    for cell in _cells(arguments.data, has_grid=not arguments.own):
        key = f"{cell.data} {cell.name}"
        values = results.once(key, partial(_train, cell, arguments.work))
        print(f"{key}: {values['map_50']:.3f}", flush=True)
    _print(results.found)


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
    config = new_project(folder, RECIPE, cell.data, WEIGHTS, STEPS)
    run = work / "run"
    shutil.rmtree(run, ignore_errors=True)
    sets = settings({**cell.settings, **unseen_images(folder)})
    last = ("--evaluate-every", str(STEPS), "--checkpoint-every", str(STEPS), "--json")
    document = holdfast("train", str(config), "--run", str(run), *last, *sets)
    metrics = json.loads(document)["metrics"]
    return {"map_50": metrics[MAP_50], "map": metrics[MAP]}


def _print(results: Mapping[str, Mapping[str, float]]) -> None:
    data_sets = list(dict.fromkeys(key.partition(" ")[0] for key in results))
    rows = []
    for name in dict.fromkeys(key.partition(" ")[2] for key in results):
        found = (results.get(f"{data} {name}") for data in data_sets)
        rows.append([name, *(f"{each['map_50']:.3f}" if each else "-" for each in found)])
    print_table(("mAP at 0.5", *data_sets), rows)


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

"""The peak memory of training steps: what `holdfast plan` predicts against what a process held.

Each cell is measured in a fresh process, as the growth of its resident memory over what it held
before the detector was built. Results are kept in a file of JSON lines: a run that was stopped goes
on where it stood.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from step_memory_cells import CELLS, V2, Cell

from holdfast.cli.quiet import set_environment
from holdfast.config.recipes.fill import Filling, fill
from holdfast.config.recipes.recipe_table import find_recipe
from holdfast.config.recipes.schedule import plan_schedule
from holdfast.config.schema.input_reader import InputReader
from holdfast.memory.plan import BatchShape, StepSettings
from holdfast.memory.search.measured import measure

PROJECT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
ZOO = SHARED / "corpus" / "zoo_configs"
PROBE = (sys.executable, "-m", "holdfast.training.fitting.probe_step")
LARGEST_SHARE = 0.6  # of this machine's memory: larger cells are left out
TOTAL_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class Predicted(NamedTuple):
    """What is predicted for a cell."""

    peak_bytes: int
    arena_bytes: int


def main() -> None:
    arguments = _arguments()
    set_environment()  # the processes that are measured inherit it
    console = Console()
    results = read_results(arguments.results)
    with tempfile.TemporaryDirectory() as folder:
        cells = [cell for cell in CELLS if arguments.only in str(cell) and has_config(cell)]
        rows = []
        for cell in cells:
            predicted, arena_bytes = in_own_process(predict_cell, cell, Path(folder))
            if predicted > LARGEST_SHARE * TOTAL_BYTES:
                console.print(f"{cell}: needs {predicted / 2**30:.1f} GiB, left out")
                continue
            measured = results.get(str(cell))
            if measured is None or arguments.again:
                measured = measure(PROBE, request_of(cell, arena_bytes, Path(folder))).peak_bytes
                write_result(arguments.results, cell, measured)
            rows.append((cell, predicted, measured))
            console.print(_line(cell, predicted, measured))
        report(console, rows, skipped=len(CELLS) - len(cells))
        report_smallest(console, Path(folder))
        report_cost(console, Path(folder))


def predict_cell(cell: Cell, folder: Path) -> Predicted:
    """Predict the peak of a cell."""
    from holdfast.cli.quiet import load_tensorflow

    load_tensorflow()
    from holdfast.config.load import load_config
    from holdfast.memory.devices.allocation import has_arena
    from holdfast.memory.predict.prediction import Surroundings, predict
    from holdfast.training.fitting.tracing import trace_step

    config = load_config(config_of(cell, folder))
    traced = trace_step(config, settings_of(cell), shape_of(cell))
    found = predict(traced, Surroundings(has_arena=has_arena()))
    return Predicted(found.peak_bytes, found.arena_bytes)


def prediction_cost(cell: Cell, folder: Path) -> tuple[float, int]:
    """Give the seconds and the growth in memory of one prediction, after TensorFlow's import."""
    import time

    from holdfast.cli.quiet import load_tensorflow

    load_tensorflow()
    from holdfast.memory.devices.host import peak_bytes, resident_bytes

    before, start = resident_bytes(), time.perf_counter()
    predict_cell(cell, folder)
    return time.perf_counter() - start, peak_bytes() - before


def report(console: Console, rows: Sequence[tuple[Cell, int, int]], skipped: int) -> None:
    table = Table("step", "predicted MiB", "measured MiB", "error", title="Peak memory of a step")
    for cell, predicted, measured in rows:
        error = f"{100 * (predicted / measured - 1):+.1f} %"
        table.add_row(str(cell), f"{predicted / 2**20:.0f}", f"{measured / 2**20:.0f}", error)
    console.print(table)
    errors = [predicted / measured - 1 for _, predicted, measured in rows]
    if errors:
        median = statistics.median(abs(each) for each in errors)
        worst = max(errors, key=abs)
        console.print(
            f"{len(errors)} cells: median absolute error {100 * median:.1f} % (wanted <= 5), "
            f"worst {100 * worst:+.1f} % (<= 12), most under {100 * min(errors):+.1f} % (>= -5)"
        )
    if skipped:
        console.print(f"{skipped} cells were not asked for, or need the configs of {ZOO}.")


def report_smallest(console: Console, folder: Path) -> None:
    """Say what the smallest plan that keeps the batch saves, and what it costs."""
    plain, smallest = Cell(V2, 300, 8), Cell(V2, 300, 1, accumulation=8, rematerializes=True)
    found = []
    for cell in (plain, smallest):
        predicted = in_own_process(predict_cell, cell, folder)
        found.append(measure(PROBE, request_of(cell, predicted.arena_bytes, folder)))
    memory = found[1].peak_bytes / found[0].peak_bytes
    seconds = found[1].step_seconds / found[0].step_seconds
    console.print(
        f"{smallest} instead of {plain}: {found[1].peak_bytes / 2**20:.0f} MiB instead of "
        f"{found[0].peak_bytes / 2**20:.0f}, {memory:.2f} of the memory (wanted <= 0.4), for "
        f"{seconds:.2f} times the time of a step"
    )


def report_cost(console: Console, folder: Path) -> None:
    for batch_size in (8, 128):
        cell = Cell(V2, 300, batch_size)
        seconds, growth = in_own_process(prediction_cost, cell, folder)
        console.print(
            f"One prediction, {cell}: {seconds:.1f} s (wanted <= 15), "
            f"{growth / 2**20:.0f} MiB (<= 1024) beyond TensorFlow"
        )


def in_own_process(function, *arguments):
    """Run a function where it leaves nothing behind."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def has_config(cell: Cell) -> bool:
    return not cell.source.startswith("zoo/") or ZOO.is_dir()


def config_of(cell: Cell, folder: Path) -> Path:
    """Give the path of a cell's config, which is written first if it is a recipe."""
    if cell.source.startswith("zoo/"):
        return ZOO / f"{cell.source.removeprefix('zoo/')}.config"
    path = folder / f"{cell.source}.config"
    if not path.exists():
        recipe = find_recipe(cell.source)
        filling = Filling(
            num_classes=90,
            num_images=1000,
            most_boxes=100,
            schedule=plan_schedule(recipe, 1000),
            train_reader=InputReader(label_map_path="label_map.pbtxt"),
            eval_reader=None,
            start=None,
        )
        path.write_text(fill(recipe, filling))
    return path


def settings_of(cell: Cell) -> StepSettings:
    return StepSettings(
        micro_batch=cell.micro_batch,
        accumulation=cell.accumulation,
        rematerialize=("all",) if cell.rematerializes else (),
        region_chunks=cell.region_chunks,
    )


def shape_of(cell: Cell) -> BatchShape:
    return BatchShape(height=cell.side, width=cell.side, boxes=cell.boxes)


def request_of(cell: Cell, arena_bytes: int, folder: Path) -> dict[str, object]:
    return {
        "config": str(config_of(cell, folder)),
        "settings": asdict(settings_of(cell)),
        "shape": asdict(shape_of(cell)),
        "arena_bytes": arena_bytes,
    }


def read_results(path: Path) -> dict[str, int]:
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["cell"]: line["measured_peak_bytes"] for line in lines}


def write_result(path: Path, cell: Cell, measured: int) -> None:
    with path.open("a") as file:
        file.write(json.dumps({"cell": str(cell), "measured_peak_bytes": measured}) + "\n")


def _line(cell: Cell, predicted: int, measured: int) -> str:
    error = 100 * (predicted / measured - 1)
    return f"{cell}: {predicted / 2**20:.0f} / {measured / 2**20:.0f} MiB, {error:+.1f} %"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=PROJECT / "benchmarks/step_memory.jsonl")
    parser.add_argument("--again", action="store_true", help="measure all cells anew")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    return parser.parse_args()


if __name__ == "__main__":
    main()

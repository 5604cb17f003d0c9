"""What a smaller SSDLite loses: half of its weights pruned, or half as wide, with a teacher or not.

On BCCD, made ready by `holdfast new ssdlite_mobilenet_v2 --checkpoint …`, judged on images that the
training did not see. Half as wide means fresh weights: no published ones have its shapes. With
--tiny, the same comparison on shapes drawn on the spot, with networks that train in minutes on a
laptop: it shows the direction, not the size of an effect. Results are kept in a file of JSON lines:
a run that was stopped goes on where it stood.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
CHECKPOINT = SHARED / "weights" / "ssdlite_mobilenet_v2_coco" / "model.ckpt"
RECIPE = "ssdlite_mobilenet_v2"
WIDTH = "model.ssd.feature_extractor.depth_multiplier"
MAP_50 = "DetectionBoxes_Precision/mAP@.50IOU"
FULL = "full"


@dataclass(frozen=True, kw_only=True)
class Size:
    """What is compared: the real thing, or a tiny one."""

    make: Callable[[Path], Mapping[str, object]]  # writes the project; fields of every config
    rate: str  # the cosine schedule, which is to end with each training
    full_width: float
    steps: int  # of the full network and of the pruned one
    student_steps: int


def make_bccd(folder: Path) -> Mapping[str, object]:
    """Let `holdfast new` write the project."""
    if not (folder / "pipeline.config").exists():
        data = ("--data", str(SHARED / "datasets" / "bccd"), "--checkpoint", str(CHECKPOINT))
        _holdfast("new", RECIPE, *data, "--steps", str(REAL.steps), "--out", str(folder))
    records = next(folder.glob("*_records"))
    unseen = "test" if any(records.glob("test.record*")) else "val"
    path = f"{records}/{unseen}.record-*"
    return {"eval_input_reader[0].tf_record_input_reader.input_path": path}


def make_shapes(folder: Path) -> Mapping[str, object]:
    """Draw shapes, and take the config of `holdfast demo` with smaller images."""
    if not (folder / "data").exists():
        drawn = ("convert", "400@96", str(folder / "data"), "--format", "synthetic")
        _holdfast(*drawn, "--val", "0.2")
    text = files("holdfast.config.recipes").joinpath("demo.config").read_text()
    (folder / "pipeline.config").write_text(text)
    sides = "model.ssd.image_resizer.fixed_shape_resizer"
    narrow = {"model.ssd.feature_extractor.min_depth": 8}
    return {f"{sides}.height": 96, f"{sides}.width": 96} | narrow


_OPTIMIZER, _COSINE = "train_config.optimizer", "learning_rate.cosine_decay_learning_rate"
REAL = Size(
    make=make_bccd,
    rate=f"{_OPTIMIZER}.momentum_optimizer.{_COSINE}",
    full_width=1.0,
    steps=1000,
    student_steps=3000,
)
TINY = Size(
    make=make_shapes,
    rate=f"{_OPTIMIZER}.adam_optimizer.{_COSINE}",
    full_width=0.35,
    steps=200,
    student_steps=200,
)


@dataclass(frozen=True, kw_only=True)
class Trained:
    """One training."""

    name: str
    steps: int
    fields: Mapping[str, object]
    options: tuple[str, ...] = ()
    seed: int = 0


def main() -> None:
    arguments = _arguments()
    size = TINY if arguments.tiny else REAL
    results = _read(arguments.results)
    for each in _trainings(size, arguments.work, arguments.seeds):
        if each.name not in results:
            results[each.name] = _train(each, size, arguments.work)
            with arguments.results.open("a") as file:
                file.write(json.dumps({"training": each.name} | results[each.name]) + "\n")
        print(f"{each.name}: {results[each.name]['map_50']:.3f}", flush=True)
    Console().print(_table(results))


def _trainings(size: Size, work: Path, seeds: int) -> list[Trained]:
    wide = {WIDTH: size.full_width}
    half = {WIDTH: size.full_width / 2, "train_config.fine_tune_checkpoint": '""'}
    prune, teacher = ("--prune", "0.5"), ("--teacher", str(work / FULL))
    first = [
        Trained(name=FULL, steps=size.steps, fields=wide),
        Trained(name="pruned", steps=size.steps, fields=wide, options=prune),
    ]
    students = [
        Trained(
            name=f"{name}, seed {seed}",
            steps=size.student_steps,
            fields=half,
            options=options,
            seed=seed,
        )
        for seed in range(seeds)
        for name, options in (("half as wide", ()), ("half as wide, taught", teacher))
    ]
    return first + students


def _train(training: Trained, size: Size, work: Path) -> dict[str, float]:
    folder = work / "project"
    fields = {
        **size.make(folder),
        **training.fields,
        "train_config.num_steps": training.steps,
        f"{size.rate}.total_steps": training.steps,
    }
    run = work / training.name.replace(", ", "_").replace(" ", "_")
    sets = [text for name, value in fields.items() for text in ("--set", f"{name}={value}")]
    last = ("--evaluate-every", str(training.steps), "--checkpoint-every", "500", "--json")
    how = ("--seed", str(training.seed), *training.options)
    config = str(folder / "pipeline.config")
    document = json.loads(_holdfast("train", config, "--run", str(run), *how, *last, *sets))
    weights = run / "checkpoints" / f"step-{training.steps:08d}"
    return {"map_50": document["metrics"][MAP_50], **_bytes(weights)}


def _bytes(checkpoint: Path) -> dict[str, float]:
    """Give the size of the weights that an evaluation uses, as they are and zipped."""
    from holdfast.checkpoints.own.own_reader import open_own_checkpoint

    opened = open_own_checkpoint(checkpoint)
    assert opened is not None
    names = [opened.averages.get(name, name) for name in opened.shapes]
    content = b"".join(opened.value(name).tobytes() for name in names)
    return {"bytes": len(content), "zipped_bytes": len(gzip.compress(content))}


def _holdfast(*arguments: str) -> str:
    command = [sys.executable, "-m", "holdfast", *arguments]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return finished.stdout


def _table(results: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table("", "mAP at 0.5", "MB", "MB zipped", box=None)
    for name, each in results.items():
        sizes = (f"{each[kind] / 1e6:.2f}" for kind in ("bytes", "zipped_bytes"))
        table.add_row(name, f"{each['map_50']:.3f}", *sizes)
    return table


def _read(path: Path) -> dict[str, dict[str, float]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {(values := json.loads(line)).pop("training"): values for line in lines}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="shapes and tiny networks, minutes")
    parser.add_argument("--seeds", type=int, default=1, help="of the half-width trainings")
    parser.add_argument("--results", type=Path, default=Path("build/smaller_models.jsonl"))
    parser.add_argument("--work", type=Path, default=Path("build/smaller_models"))
    arguments = parser.parse_args()
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    return arguments


if __name__ == "__main__":
    main()

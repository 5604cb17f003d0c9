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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

from results import MAP_50, KeptResults, holdfast, new_project, print_table, settings, unseen_images

RECIPE, WEIGHTS = "ssdlite_mobilenet_v2", "ssdlite_mobilenet_v2_coco"
WIDTH = "model.ssd.feature_extractor.depth_multiplier"
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
    new_project(folder, RECIPE, "bccd", WEIGHTS, REAL.steps)
    return unseen_images(folder)


def make_shapes(folder: Path) -> Mapping[str, object]:
    """Draw shapes, and take the config of `holdfast demo` with smaller images."""
    if not (folder / "data").exists():
        drawn = ("convert", "400@96", str(folder / "data"), "--format", "synthetic")
        holdfast(*drawn, "--val", "0.2")
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
    results = KeptResults(arguments.results, key="training")
    for each in _trainings(size, arguments.work, arguments.seeds):
        values = results.once(each.name, partial(_train, each, size, arguments.work))
        print(f"{each.name}: {values['map_50']:.3f}", flush=True)
    print_table(("", "mAP at 0.5", "MB", "MB zipped"), map(_row, results.found.items()))


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
    sets = settings(fields)
    last = ("--evaluate-every", str(training.steps), "--checkpoint-every", "500", "--json")
    how = ("--seed", str(training.seed), *training.options)
    config = str(folder / "pipeline.config")
    document = json.loads(holdfast("train", config, "--run", str(run), *how, *last, *sets))
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


def _row(kept: tuple[str, Mapping[str, float]]) -> list[str]:
    name, each = kept
    sizes = (f"{each[kind] / 1e6:.2f}" for kind in ("bytes", "zipped_bytes"))
    return [name, f"{each['map_50']:.3f}", *sizes]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="shapes and tiny networks, minutes")
    parser.add_argument("--seeds", type=int, default=1, help="of the half-width trainings")
    parser.add_argument("--results", type=Path, default=Path("build/smaller_models.jsonl"))
    parser.add_argument("--work", type=Path, default=Path("build/smaller_models"))
    return parser.parse_args()


if __name__ == "__main__":
    main()

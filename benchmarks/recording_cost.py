"""What recording costs: looks at the network and bookkeeping, beside steps of the same batch."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.cli.quiet import load_tensorflow

load_tensorflow()

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from holdfast.config.load import load_config  # noqa: E402
from holdfast.memory.devices.gpu import count_device_peak_anew  # noqa: E402
from holdfast.memory.devices.host import resident_bytes  # noqa: E402
from holdfast.memory.plan import BatchShape, StepSettings  # noqa: E402
from holdfast.training.fitting.random_batch import random_batch  # noqa: E402
from holdfast.training.fitting.tracing import batch_specification, build_step  # noqa: E402
from holdfast.training.surviving.out_of_memory import release  # noqa: E402
from holdfast.training.training_settings import TrainingSettings  # noqa: E402
from holdfast.training.vitals.probe import Probe  # noqa: E402
from holdfast.units import bytes_text  # noqa: E402

PROJECT = Path(__file__).resolve().parent.parent
CASES = {  # config -> batch size, side
    "ssd_mobilenet_v2_320x320_coco17_tpu-8": (8, 320),
    "ssd_efficientdet_d0_512x512_coco17_tpu-8": (2, 512),
}
WANTED = 0.02  # of a step


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--case", choices=list(CASES))
    options = parser.parse_args()
    shared = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
    every = TrainingSettings().vitals_every
    table = Table(
        "config", "step s", "look s", "book s", f"cost, a look in {every} steps", "wanted"
    )
    for name in [options.case] if options.case else CASES:
        config = load_config(shared / "goldens" / name / "pipeline.config")
        steps, looks, books = measure(config, *CASES[name], options.pairs)
        costs = [
            (look / every + book) / step
            for step, look, book in zip(steps, looks, books, strict=True)
        ]
        table.add_row(
            name.partition("_coco")[0],
            *(f"{statistics.median(each):.3g}" for each in (steps, looks, books)),
            f"{statistics.median(costs):.2%}",
            f"< {WANTED:.0%}",
        )
    Console().print(table)


def measure(config, batch_size: int, side: int, pairs: int) -> tuple[list[float], ...]:
    detector, step = build_step(config, StepSettings(micro_batch=batch_size))
    shape = BatchShape(height=side, width=side, boxes=20)
    batch = random_batch(batch_specification(batch_size, shape), detector.num_classes)
    probe = Probe(step)

    def book() -> None:
        """Do what is done at every step."""
        count_device_peak_anew()
        labeled = np.asarray(batch.truth.classes)[np.asarray(batch.truth.weights) > 0.0]
        np.bincount(labeled, minlength=detector.num_classes)

    works = (
        lambda: float(step.run(batch, tf.constant(0, tf.int64)).gradient_norm),
        lambda: probe.look(batch),
        book,
    )
    works[0]()
    before, started = resident_bytes(), time.perf_counter()
    works[1]()
    release()
    grown, taken = resident_bytes() - before, time.perf_counter() - started
    print(f"first look: {taken:.1f} s, {bytes_text(grown)} that stay", flush=True)
    works[2]()
    rows = [[seconds(work) for work in works] for _ in range(pairs)]
    return tuple([row[index] for row in rows] for index in range(len(works)))


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()

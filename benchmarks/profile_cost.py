"""What `--profile-at` costs a training outside of the steps that are profiled.

While no trace is on, a step only has the marks by which a trace is read: their time is measured by
itself, since it is far below the noise of a step. Steps before and after a trace are set side by
side, and the time that starting and ending one takes is told.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.cli.quiet import load_tensorflow

load_tensorflow()

import tensorflow as tf  # noqa: E402
from sample_config import CONFIG  # noqa: E402

from holdfast.config.load import load_config  # noqa: E402
from holdfast.memory.plan import BatchShape, StepSettings  # noqa: E402
from holdfast.profiling.step_profiler import StepProfiler  # noqa: E402
from holdfast.runs.trace_marks import STEP_MARK, WAITING_MARK  # noqa: E402
from holdfast.training.fitting.random_batch import random_batch  # noqa: E402
from holdfast.training.fitting.tracing import batch_specification, build_step  # noqa: E402

WANTED = 0.01  # of a step
MARKS = 10_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=4)
    options = parser.parse_args()
    take = step_of(options.batch_size)
    take()
    before = [seconds(take) for _ in range(options.steps)]
    with tempfile.TemporaryDirectory() as place:
        profiler = StepProfiler(Path(place), first=1, count=options.steps)
        start = seconds(lambda: profiler.done(0))
        during = [seconds(take) for _ in range(options.steps)]
        stop = seconds(lambda: profiler.done(options.steps))
    after = [seconds(take) for _ in range(options.steps)]
    step = statistics.median(before)
    cost = seconds(marks) / MARKS / step
    for name, times in (("before", before), ("during", during), ("after", after)):
        print(f"{name:<7} {statistics.median(times):.3f} s a step, median of {len(times)}")
    print(f"starting the trace took {start:.2f} s, ending it {stop:.2f} s")
    print(f"marks while no trace is on: {cost:.5%} of a step, wanted below {WANTED:.0%}")
    raise SystemExit(cost > WANTED)


def step_of(batch_size: int) -> Callable[[], object]:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "pipeline.config"
        path.write_text(CONFIG)
        config = load_config(path)
    detector, step = build_step(config, StepSettings(micro_batch=batch_size))
    shape = BatchShape(height=320, width=320, boxes=20)
    batch = random_batch(batch_specification(batch_size, shape), detector.num_classes)

    def take() -> float:
        with tf.profiler.experimental.Trace(STEP_MARK, step_num=1, _r=1):
            return float(step.run(batch, tf.constant(0, tf.int64)).gradient_norm)

    return take


def marks() -> None:
    for number in range(MARKS):
        with (
            tf.profiler.experimental.Trace(STEP_MARK, step_num=number, _r=1),
            tf.profiler.experimental.Trace(WAITING_MARK),
        ):
            pass


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()

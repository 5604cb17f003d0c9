"""Two processes on two cores against one process on one core, and what summing gradients costs.

Every process has a core of its own and the same number of images a step, so that two would be
twice as fast if nothing were shared. Four need four cores; on fewer they share them.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent
SMALL = PROJECT / "tests" / "training" / "small_training.py"
IMAGES_PER_PROCESS = 4
MEASURED = 12  # steps, after those that trace
WARM_UP = 4


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(Path(options.worker))
        return
    table = Table(
        "processes", "step s", "images/s", "efficiency", "all-reduce alone s", "of a step"
    )
    alone = None
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder))
        for count in options.processes:
            step, summing = measure(Path(folder), count)
            rate = count * IMAGES_PER_PROCESS / step
            alone = alone or rate / count
            table.add_row(
                str(count),
                f"{step:.3f}",
                f"{rate:.1f}",
                f"{rate / (count * alone):.0%}",
                f"{summing:.4f}",
                f"{summing / step:.1%}",
            )
    Console().print(table)


def make_data(folder: Path) -> None:
    from holdfast.data.conversion.to_records import convert
    from holdfast.data.sources.open_source import open_source

    convert(open_source("40@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)


def measure(folder: Path, count: int) -> tuple[float, float]:
    """Give the median seconds of a step, and those of summing its gradients alone."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    names = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    processes = []
    for index in range(count):
        task = {"type": "worker", "index": index}
        cluster = json.dumps({"cluster": {"worker": names}, "task": task}) if count > 1 else ""
        core = str(index % (os.cpu_count() or 1))
        command = ["taskset", "-c", core, sys.executable, __file__, "--worker", str(folder)]
        processes.append(
            subprocess.Popen(
                command,
                env=os.environ | {"TF_CONFIG": cluster, "TF_CPP_MIN_LOG_LEVEL": "3"},
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    said = [process.communicate()[0] for process in processes]
    found = [json.loads(each.strip().splitlines()[-1]) for each in said]
    return max(each["step"] for each in found), max(each["summing"] for each in found)


def work(folder: Path) -> None:
    """Train some steps as one of the processes, and sum gradients alone; print both times."""
    import tensorflow as tf

    sys.path.insert(0, str(SMALL.parent))
    from small_training import config_text

    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
    from holdfast.config.text.decode import decode
    from holdfast.training.agreement import Agreement
    from holdfast.training.cluster import num_workers
    from holdfast.training.distribution import choose_strategy
    from holdfast.training.session import Session
    from holdfast.training.training_settings import TrainingSettings

    strategy = choose_strategy(120.0)
    images = IMAGES_PER_PROCESS * max(1, num_workers())
    text = config_text(evaluates=False, deep=True).replace(
        "batch_size: 8", f"batch_size: {images}", 1
    )
    config = decode(text, TrainEvalPipelineConfig).message.replace(folder=str(folder))
    session = Session(config, TrainingSettings(steps=100), folder, strategy)
    agreement = Agreement(strategy)
    batches = session.batches(0)
    seconds = []
    for number in range(WARM_UP + MEASURED):
        batch = next(batches)
        agreement.any(False)
        started = time.perf_counter()
        float(session.step.run(batch, tf.constant(number, tf.int64)).gradient_norm)
        seconds.append(time.perf_counter() - started)
    sizes = [tf.zeros(variable.shape) for variable in session.trained.variables]
    summed = tf.function(
        lambda: strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", sizes))
    )
    alone = []
    for _ in range(WARM_UP + MEASURED):
        agreement.any(False)
        started = time.perf_counter()
        summed()
        alone.append(time.perf_counter() - started)
    document = {
        "step": statistics.median(seconds[WARM_UP:]),
        "summing": statistics.median(alone[WARM_UP:]) if num_workers() > 1 else 0.0,
        "bytes": 4 * sum(int(tf.size(each)) for each in sizes),
    }
    print(json.dumps(document), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

"""Take real steps on the worst batch, and print what the process held: the measured half of a plan.

    python -m holdfast.training.fitting.probe_step < request.json

The request: {"config": path, "overrides": {…}, "use": […], "settings": {…}, "shape": {…},
"arena_bytes": N, "teacher": path, "steps": N}.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

STEPS = 4  # the arena of the allocator still grows a little after the first one


def main() -> None:
    """Read a request from standard input, and print the answer as one line."""
    print(json.dumps(run(json.load(sys.stdin))), flush=True)


def run(request: dict[str, Any]) -> dict[str, float]:
    """Build the step, run it, and give {"base_bytes", "peak_bytes", "step_seconds"}."""
    import tensorflow as tf

    from holdfast.config.load import load_config
    from holdfast.memory.devices.gpu import peak_above
    from holdfast.memory.devices.host import resident_bytes
    from holdfast.memory.devices.reservation import reserve
    from holdfast.memory.plan import BatchShape, read_settings
    from holdfast.training.fitting.random_batch import random_batch
    from holdfast.training.fitting.tracing import batch_specification, build_step

    config = load_config(request["config"], request.get("overrides"), request.get("use", ()))
    config = config.replace(folder=request.get("folder", config.folder))
    settings = read_settings(request["settings"])
    tf.zeros(()).numpy()  # TensorFlow starts its threads with the first tensor
    base = resident_bytes()
    detector, step = build_step(config, settings, teacher=request.get("teacher"))
    shape = BatchShape(**request["shape"])
    specification = batch_specification(settings.batch_size, shape, detector.truth_fields)
    batch = random_batch(specification, detector.num_classes)
    reserve(request.get("arena_bytes", 0))
    seconds = []
    for number in range(request.get("steps", STEPS)):
        start = time.perf_counter()
        result = step.run(batch, tf.constant(number, tf.int64))
        float(result.gradient_norm)
        seconds.append(time.perf_counter() - start)
    return {
        "base_bytes": base,
        "peak_bytes": peak_above(base),
        "step_seconds": min(seconds),  # the first one is traced, others may be disturbed
    }


if __name__ == "__main__":
    main()

"""Take real steps on the worst batch, and print what the process held: the measured half of a plan.

    python -m holdfast.training.fitting.probe_step < request.json

The request: {"config": path, "overrides": {…}, "use": […], "settings": {…}, "shape": {…},
"arena_bytes": N, "steps": N}.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

_FULL = {"mask_bits": 255, "group_of": 0, "is_crowd": 0, "difficult": 0}
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
    from holdfast.training.fitting.tracing import build_step

    config = load_config(request["config"], request.get("overrides"), request.get("use", ()))
    config = config.replace(folder=request.get("folder", config.folder))
    settings = read_settings(request["settings"])
    tf.zeros(()).numpy()  # TensorFlow starts its threads with the first tensor
    base = resident_bytes()
    detector, step = build_step(config, settings)
    batch = _random_batch(settings.batch_size, BatchShape(**request["shape"]), detector)
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


def _random_batch(batch_size: int, shape: Any, detector: Any) -> Any:
    """Make a batch in which every image has as many boxes as the worst one."""
    import numpy as np
    import tensorflow as tf

    from holdfast.data.sample import Batch, GroundTruth
    from holdfast.training.fitting.tracing import batch_specification

    random = np.random.default_rng(0)
    corners = random.random((batch_size, shape.boxes, 2), np.float32) * 0.6
    sides = 0.05 + 0.3 * random.random(corners.shape, np.float32)
    classes = random.integers(0, detector.num_classes, corners.shape[:2], np.int32)
    further = batch_specification(batch_size, shape, detector.truth_fields).truth
    return Batch(
        images=tf.random.uniform((batch_size, shape.height, shape.width, 3)),
        sizes=tf.constant([[shape.height, shape.width, 3]] * batch_size, tf.int32),
        truth=GroundTruth(
            boxes=tf.constant(np.concatenate([corners, corners + sides], axis=-1)),
            classes=tf.constant(classes),
            weights=tf.ones(corners.shape[:2]),
            # Masks that cover everything, keypoints in the corner: their values change no memory.
            **{
                name: tf.fill(each.shape, tf.cast(_FULL.get(name, 1), each.dtype))
                for name, each in further._asdict().items()
                if each is not None and name in GroundTruth._field_defaults
            },
        ),
        source_ids=tf.constant([""] * batch_size),
        positions=tf.range(batch_size, dtype=tf.int64),
    )


if __name__ == "__main__":
    main()

"""What the full training step costs over the bare network: ratios of alternating runs."""

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
from holdfast.data.sample import Batch, GroundTruth  # noqa: E402
from holdfast.models.detectors.build_detector import build_detector  # noqa: E402
from holdfast.training import build_training  # noqa: E402
from holdfast.training.step.batch_loss import BatchLoss  # noqa: E402
from holdfast.training.step.training_step import TrainingStep  # noqa: E402

PROJECT = Path(__file__).resolve().parent.parent
CASES = {  # config -> batch size, largest ratio wanted
    "ssd_mobilenet_v2_320x320_coco17_tpu-8": (8, 1.15),
    "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8": (8, 1.25),
    "ssd_efficientdet_d0_512x512_coco17_tpu-8": (2, 1.25),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=15)
    pairs = parser.parse_args().pairs
    shared = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
    table = Table(
        "config",
        "batch",
        "step s",
        "bare s",
        "ratio",
        "wanted",
        title="Training step, CPU, float32",
    )
    for name, (batch_size, wanted) in CASES.items():
        config = load_config(shared / "goldens" / name / "pipeline.config")
        full, bare = measure(config, batch_size, pairs)
        ratio = statistics.median(one / other for one, other in zip(full, bare, strict=True))
        table.add_row(
            name.partition("_coco")[0],
            str(batch_size),
            f"{statistics.median(full):.2f}",
            f"{statistics.median(bare):.2f}",
            f"{ratio:.3f}",
            f"<= {wanted}",
        )
    Console().print(table)


def measure(config, batch_size: int, pairs: int) -> tuple[list[float], list[float]]:
    detector = build_detector(config)
    optimizer = config.train_config.optimizer
    trained = build_training.build_trained_variables(detector, config.train_config)
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        step = TrainingStep(
            BatchLoss(detector),
            build_training.build_optimizer(optimizer, trained.variables),
            build_training.build_schedule(optimizer),
            variables=trained.variables,
            rules=build_training.build_gradient_rules(config.train_config),
            averages=build_training.build_averages(optimizer, trained.variables),
        )
        batch = random_batch(detector, batch_size)
        full = lambda: step.run(batch, tf.constant(0, tf.int64))  # noqa: E731
        bare = bare_step(config, batch)
        for run in (full, bare):
            seconds(run), seconds(run)
        times = [(seconds(full), seconds(bare)) for _ in range(pairs)]
    return [one for one, _ in times], [other for _, other in times]


def bare_step(config, batch: Batch) -> Callable[[], object]:
    """Forward, backward and optimizer, with the mean square of the outputs as the loss."""
    detector = build_detector(config)
    optimizer = config.train_config.optimizer
    trained = build_training.build_trained_variables(detector, config.train_config)
    own = build_training.build_optimizer(optimizer, trained.variables)
    variables = [variable.value for variable in trained.variables]
    inputs = detector.normalize(batch.images, batch.sizes)

    @tf.function(autograph=False)
    def run(inputs):
        with tf.GradientTape() as tape:
            predictions = detector(inputs, training=True)
            loss = tf.reduce_mean(predictions.box_encodings**2) + tf.reduce_mean(
                predictions.class_predictions_with_background**2
            )
        own.apply(tape.gradient(loss, variables), tf.constant(1e-6))
        return loss

    return lambda: run(inputs)


def random_batch(detector, batch_size: int) -> Batch:
    """Make a batch with 100 padded boxes of which 8 are real."""
    height, width = detector.settings.input_shape
    random = np.random.default_rng(0)
    corners = random.random((batch_size, 100, 2)) * 0.6
    boxes = np.concatenate([corners, corners + 0.05 + 0.3 * random.random(corners.shape)], axis=-1)
    weights = np.zeros((batch_size, 100), np.float32)
    weights[:, :8] = 1.0
    return Batch(
        images=tf.constant(random.random((batch_size, height, width, 3)) * 255.0, tf.float32),
        sizes=tf.constant([[height, width, 3]] * batch_size, tf.int32),
        truth=GroundTruth(
            boxes=tf.constant(boxes * weights[..., None], tf.float32),
            classes=tf.constant(
                random.integers(0, detector.num_classes, (batch_size, 100)), tf.int32
            ),
            weights=tf.constant(weights),
        ),
        source_ids=tf.constant([""] * batch_size),
        positions=tf.range(batch_size, dtype=tf.int64),
    )


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    tf.nest.map_structure(lambda value: value.numpy(), run())
    return time.perf_counter() - start


if __name__ == "__main__":
    main()

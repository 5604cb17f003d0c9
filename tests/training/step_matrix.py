"""A program that takes the same steps in many ways; run it in a process of its own.

Arguments: the network, the file to write, and cells such as 2,1,remat,trained,drop. TensorFlow
divides a processor into devices only before it is first used.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.models.detectors.center_net.small_centers import (
    ALL_TASKS,
    BOXES,
    MOBILE,
    center_net,
)
from tests.models.detectors.small_configs import small_config, small_stages
from tests.models.detectors.two_stage.tiny_network import TINY

from holdfast.config.schema.pipeline_config import (
    GraphRewriter,
    Quantization,
    TrainEvalPipelineConfig,
)
from holdfast.data.sample import Batch, GroundTruth
from holdfast.geometry.mask_bits import pack_masks
from holdfast.models.backbones.split_networks import SPLIT_NETWORKS
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.layers.batch_norm import batch_norms
from holdfast.models.layers.dropout import Dropout
from holdfast.training.distribution import several_devices
from holdfast.training.session import rematerialize
from holdfast.training.step.batch_loss import BatchLoss
from holdfast.training.step.gradients import GradientRules
from holdfast.training.step.optimizers import Momentum, StepOptimizer
from holdfast.training.step.training_step import TrainingStep

SIDE, IMAGES, STEPS = 64, 4, 2
RATE = 0.01
DECAY = 0.9  # of batch norm, whatever the config says
FIELDS = ("boxes", "classes", "weights", "mask_bits", "keypoints")
STAGES = ("faster_rcnn", "mask_rcnn")
CENTERS = {"center_net": (ALL_TASKS, MOBILE), "center_net_boxes": (BOXES, MOBILE)}


def batch() -> Batch:
    random = np.random.default_rng(0)
    corners = random.uniform(0.0, 0.4, (IMAGES, 3, 2))
    boxes = np.concatenate([corners, corners + random.uniform(0.3, 0.6, corners.shape)], axis=-1)
    return Batch(
        images=random.uniform(0, 255, (IMAGES, SIDE, SIDE, 3)).astype(np.float32),
        sizes=np.array([[SIDE, SIDE, 3]] * IMAGES, np.int32),
        truth=GroundTruth(
            boxes=boxes.astype(np.float32),
            classes=random.integers(0, 3, (IMAGES, 3)).astype(np.int32),
            weights=np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0]], np.float32),
            keypoints=random.uniform(0.1, 0.9, (IMAGES, 3, 5, 2)).astype(np.float32),
            mask_bits=np.array(pack_masks(random.integers(0, 2, (IMAGES, 3, SIDE, SIDE)))),
        ),
        source_ids=np.array([f"{number}".encode() for number in range(IMAGES)]),
        positions=np.arange(IMAGES, dtype=np.int64),
    )


@functools.cache
def devices(replicas: int) -> tf.distribute.Strategy:
    """Give one strategy for all cells: see `holdfast.training.distribution.several_devices`."""
    if replicas == 1:
        return tf.distribute.OneDeviceStrategy("CPU:0")
    return several_devices(tuple(f"CPU:{number}" for number in range(replicas)))


def part(whole: Batch, first: int, end: int) -> Batch:
    return tf.nest.map_structure(lambda each: None if each is None else each[first:end], whole)


def run(network: str, cell: str, whole: Batch) -> dict[str, np.ndarray]:
    """Take steps as a cell says, from weights that are always the same."""
    replicas, pieces, remat, norms, chance = cell.split(",")
    strategy = devices(int(replicas))
    with strategy.scope():
        config = config_of(network)
        detector = build_detector(config, freeze_batch_norm=norms == "frozen")
        same_weights(detector.weights)
        for norm in batch_norms(detector):
            norm.settings = replace(norm.settings, momentum=DECAY)
        for layer in detector._flatten_layers():
            if isinstance(layer, Dropout) and chance == "still":
                layer.rate = 0.0
        rematerialize(detector, ("all",) if remat == "remat" else ())
        variables = detector.trainable_variables
        optimizer = StepOptimizer(variables, Momentum())
        step = TrainingStep(
            BatchLoss(detector, seed=5),
            optimizer,
            lambda number: tf.constant(RATE),
            variables=variables,
            rules=GradientRules(),
            accumulation=int(pieces),
        )
        size = len(whole.images) // int(replicas)
        parts = [part(whole, first * size, (first + 1) * size) for first in range(int(replicas))]
        results = {"start statistics": statistics(detector)}
        for number in range(STEPS):
            given = parts[0] if replicas == "1" else distributed(strategy, parts)
            outcome = step.run(given, tf.constant(number, tf.int64))
            for name, value in outcome.losses.items():
                results[f"{cell} {number} {name}"] = value.numpy()
            results[f"{cell} {number} statistics"] = statistics(detector)
            results[f"{cell} {number} statistics of ranges"] = ranges(detector)
    return results


def config_of(network: str) -> TrainEvalPipelineConfig:
    if network in CENTERS:
        return center_net(*CENTERS[network], size=(SIDE, SIDE))
    name, _, delay = network.partition("@")  # ssd@1: quantized from step 1 on
    config = (small_stages if name in STAGES else small_config)(name, SIDE, SIDE)
    if not delay:
        return config
    asked = Quantization(delay=int(delay))
    return config.replace(graph_rewriter=GraphRewriter(quantization=asked))


def statistics(detector) -> np.ndarray:
    moving = [each for each in detector.weights if "moving" in each.path]
    return np.concatenate([np.ravel(each.value.read_value()) for each in moving])


def ranges(detector) -> np.ndarray:
    ends = [each for each in detector.weights if "_quant/" in each.path]
    return np.array([float(each.value.read_value()) for each in ends])


def distributed(strategy: tf.distribute.Strategy, parts: list[Batch]) -> object:
    """Give each replica its part."""
    whole = tf.nest.map_structure(
        lambda *each: None if each[0] is None else np.stack(each), *parts, check_types=False
    )
    present = {"images": whole.images, "sizes": whole.sizes, "positions": whole.positions}
    truth = {name: getattr(whole.truth, name) for name in FIELDS}
    data = tf.data.Dataset.from_tensor_slices((present, truth, whole.source_ids))
    data = data.map(
        lambda some, truth, ids: Batch(truth=GroundTruth(**truth), source_ids=ids, **some)
    )
    return next(iter(strategy.distribute_datasets_from_function(lambda context: data)))


def same_weights(weights: list) -> None:
    random = np.random.default_rng(1)
    for weight in weights:
        if "quant" in weight.path:
            continue  # nothing is observed yet
        noise = random.normal(0, 0.1, tuple(weight.shape))
        is_scale = any(name in weight.path for name in ("gamma", "variance"))
        weight.assign(np.float32(np.abs(1 + noise) if is_scale else noise))


def main(network: str, out: str, *cells: str) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    SPLIT_NETWORKS["inception_v2"] = TINY
    results, whole = {}, batch()
    for cell in cells:
        name, _, half = cell.partition("@")  # 1,1,…@0: the first half of the batch alone
        given = whole if not half else part(whole, 2 * int(half), 2 * int(half) + 2)
        found = run(network, name, given)
        results |= {key.replace(name, cell, 1): value for key, value in found.items()}
        print(cell, flush=True)
    np.savez(out, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])

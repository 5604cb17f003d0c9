"""On which devices a training runs: one, all GPUs of the machine, or several machines."""

from __future__ import annotations

import tensorflow as tf

from holdfast.data.input.pipeline import Part
from holdfast.errors import HoldfastError
from holdfast.training.cluster import num_workers, worker_index
from holdfast.training.surviving.interruption import own_signals


def choose_strategy() -> tf.distribute.Strategy:
    """Choose by what there is: TF_CONFIG, then several GPUs, then one device."""
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if num_workers() > 1:
        with own_signals():
            return tf.distribute.MultiWorkerMirroredStrategy()
    if len(gpus) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.OneDeviceStrategy("/gpu:0" if gpus else "/cpu:0")


def own_part(strategy: tf.distribute.Strategy, batch_size: int, accumulation: int) -> Part:
    """Say which part of each batch this process computes, in pieces for its replicas."""
    replicas = strategy.num_replicas_in_sync
    pieces = replicas * accumulation
    if batch_size % pieces:
        raise HoldfastError(
            f"A batch of {batch_size} cannot be split for {replicas} device"
            f"{'s' if replicas > 1 else ''} and {accumulation} piece"
            f"{'s' if accumulation > 1 else ''} each.",
            fix=f"Make train_config.batch_size a multiple of {pieces}.",
        )
    workers = max(1, num_workers())
    own = replicas // workers
    return Part(count=replicas, first=worker_index() * own, own=own)

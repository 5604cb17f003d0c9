"""On which devices a training runs: one, all GPUs of the machine, or several machines."""

from __future__ import annotations

import json
import os

import tensorflow as tf

from holdfast.data.pipeline import Part
from holdfast.errors import HoldfastError


def choose_strategy() -> tf.distribute.Strategy:
    """Choose by what there is: TF_CONFIG, then several GPUs, then one device."""
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if num_workers() > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    if len(gpus) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.OneDeviceStrategy("/gpu:0" if gpus else "/cpu:0")


def is_chief() -> bool:
    """Tell whether this process is the one that writes the run: the only one, or the first."""
    return num_workers() <= 1 or _task() in (("chief", 0), ("master", 0), ("worker", 0))


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
    return Part(count=replicas, first=_worker_index() * own, own=own)


def _cluster() -> dict[str, list[str]]:
    cluster: dict[str, list[str]] = json.loads(os.environ.get("TF_CONFIG") or "{}").get(
        "cluster", {}
    )
    return {kind: names for kind, names in cluster.items() if kind in ("chief", "master", "worker")}


def num_workers() -> int:
    """Count the processes that train together, by TF_CONFIG; 0 without one."""
    return sum(len(names) for names in _cluster().values())


def _task() -> tuple[str, int]:
    task = json.loads(os.environ.get("TF_CONFIG") or "{}").get("task", {})
    kind, index = str(task.get("type", "worker")), int(task.get("index", 0))
    # With a chief, the first worker is an ordinary one.
    has_chief = kind == "worker" and any(name in _cluster() for name in ("chief", "master"))
    return kind, index + 1 if has_chief else index


def _worker_index() -> int:
    return _task()[1] if num_workers() > 1 else 0

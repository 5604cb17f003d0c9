"""On which devices a training runs: one, all GPUs of the machine, or several machines."""

from __future__ import annotations

import functools

import tensorflow as tf

from holdfast.data.input.pipeline import Part
from holdfast.errors import HoldfastError
from holdfast.training.cluster import num_workers, worker_index
from holdfast.training.peers.present_peers import join_peers
from holdfast.training.surviving.interruption import ended_by_alarm, own_signals
from holdfast.training.training_settings import PEER_SECONDS
from holdfast.units import count_text

_MEETING_SECONDS = 45


def choose_strategy(peer_seconds: float = PEER_SECONDS) -> tf.distribute.Strategy:
    """Choose by what there is: TF_CONFIG, then several GPUs, then one device.

    peer_seconds: how long to wait for the other processes of TF_CONFIG, now and in each step.
    """
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if num_workers() > 1:
        join_peers(peer_seconds)
        # All are there: if TensorFlow does not meet them now, one has just ended. It would wait
        # forever, and lets no thread run meanwhile that could know better.
        with own_signals(), ended_by_alarm(_MEETING_SECONDS):
            return tf.distribute.MultiWorkerMirroredStrategy(
                communication_options=tf.distribute.experimental.CommunicationOptions(
                    timeout_seconds=peer_seconds
                )
            )
    if len(gpus) > 1:
        return several_devices(tuple(f"/gpu:{number}" for number in range(len(gpus))))
    return tf.distribute.OneDeviceStrategy("/gpu:0" if gpus else "/cpu:0")


@functools.cache
def several_devices(names: tuple[str, ...]) -> tf.distribute.Strategy:
    """Give the strategy for several devices of this machine: one for the life of the process.

    TensorFlow numbers the reductions of each strategy from the same number on. Those of a second
    one would be taken for the first one's: another shape is an error or, on a CPU, a crash.
    """
    return tf.distribute.MirroredStrategy(names)


def own_part(strategy: tf.distribute.Strategy, batch_size: int, accumulation: int) -> Part:
    """Say which part of each batch this process computes, in pieces for its replicas."""
    replicas = strategy.num_replicas_in_sync
    pieces = replicas * accumulation
    if batch_size % pieces:
        raise HoldfastError(
            f"A batch of {batch_size} cannot be divided among {count_text(replicas, 'device')} "
            f"with {count_text(accumulation, 'piece')} each.",
            fix=f"Make train_config.batch_size a multiple of {pieces}.",
        )
    workers = max(1, num_workers())
    own = replicas // workers
    return Part(count=replicas, first=worker_index() * own, own=own)

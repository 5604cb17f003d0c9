"""What tensors hold on the GPUs of this process, as TensorFlow counts it."""

from __future__ import annotations

from typing import Literal

import tensorflow as tf

from holdfast.memory.devices.host import peak_bytes


def gpu_bytes(when: Literal["current", "peak"] = "current") -> int | None:
    """Give what the fullest GPU holds, or held at most; None without one."""
    names = [each.name.partition("device:")[2] for each in tf.config.list_logical_devices("GPU")]
    held = [int(tf.config.experimental.get_memory_info(name)[when]) for name in names]
    return max(held, default=None)


def peak_above(base_bytes: int) -> int:
    """Give the most that was held on the device; on the host, without the given bytes."""
    on_gpu = gpu_bytes("peak")
    return peak_bytes() - base_bytes if on_gpu is None else on_gpu

"""What tensors hold on the GPUs of this process, as TensorFlow counts it."""

from __future__ import annotations

from typing import Literal

import tensorflow as tf

from holdfast.memory.devices.host import count_peak_anew, peak_bytes, recent_peak_bytes


def gpu_bytes(when: Literal["current", "peak"] = "current") -> int | None:
    """Give what the fullest GPU holds, or held at most; None without one."""
    names = [each.name.partition("device:")[2] for each in tf.config.list_logical_devices("GPU")]
    held = [int(tf.config.experimental.get_memory_info(name)[when]) for name in names]
    return max(held, default=None)


def peak_above(base_bytes: int) -> int:
    """Give the most that was held on the device; on the host, without the given bytes."""
    on_gpu = gpu_bytes("peak")
    return peak_bytes() - base_bytes if on_gpu is None else max(on_gpu, *_earlier_peaks)


def count_device_peak_anew() -> bool:
    """Let `recent_peak_above` begin at what is held now; False where that cannot be done."""
    before = gpu_bytes("peak")
    if before is None:
        return count_peak_anew()
    _earlier_peaks[:] = [max(before, *_earlier_peaks)]
    for device in tf.config.list_logical_devices("GPU"):
        tf.config.experimental.reset_memory_stats(device.name.partition("device:")[2])
    return True


def recent_peak_above(base_bytes: int) -> int:
    """Give the most that was held since its peak was last counted anew, as `peak_above`."""
    on_gpu = gpu_bytes("peak")
    return recent_peak_bytes() - base_bytes if on_gpu is None else on_gpu


_earlier_peaks: list[int] = [0]  # the highest before a count was begun anew

"""How memory is taken from the system: the settings a training runs with, and what they mean."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

THRESHOLD_VARIABLE = "MALLOC_MMAP_THRESHOLD_"
THRESHOLD_BYTES = 65536  # blocks from this size on are mapped one by one, and unmapped when freed

# With the kernels of oneDNN, TensorFlow's allocator on a CPU takes tensors from this size on out of
# an arena of its own, which never gives memory back; smaller ones come from the C library.
ARENA_BYTES = 262144

ENVIRONMENT: Mapping[str, str] = {THRESHOLD_VARIABLE: str(THRESHOLD_BYTES)}

_M_ARENA_MAX = -8  # of mallopt, in Linux' C library
_FEWEST_HEAPS = 2


def save_address_space() -> None:
    """Keep the C library from reserving 64 MiB of addresses for every thread that asks.

    It matters where the addresses of a process are limited (ulimit -v), and nowhere else.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_ARENA_MAX, _FEWEST_HEAPS)


@cache
def has_arena() -> bool:
    """Tell whether large tensors come out of an arena in this process.

    They do where TensorFlow uses oneDNN: by default only on processors made for it (AVX-512 VNNI
    and later), else with TF_ENABLE_ONEDNN_OPTS=1. Tensors that follow each other without a page in
    between are in an arena.
    """
    import numpy as np
    import tensorflow as tf

    with tf.device("/cpu:0"):
        size = ARENA_BYTES + 4096
        tensors = [tf.raw_ops.Empty(shape=[size], dtype=tf.uint8) for _ in range(6)]
    places = [np.asarray(memoryview(tensor)).ctypes.data for tensor in tensors]
    return any(after - before == size for before, after in pairwise(sorted(places)))


def give_back() -> None:
    """Return to the system what was freed and is still held, as after planning and tracing.

    Otherwise it hides for a while what grows: that takes the place of what was freed.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

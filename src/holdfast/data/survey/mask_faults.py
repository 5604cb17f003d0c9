"""What is wrong with stored masks, looked at one by one."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from holdfast.data.sources.image_files import read_header
from holdfast.errors import HoldfastError


def first_mask_fault(encoded_masks: Sequence[bytes], width: int, height: int) -> str:
    """Say which mask of an image cannot be used, and why; "" where all can, or there are none.

    >>> first_mask_fault([b"no image"], width=20, height=10)
    'mask 0: it cannot be decoded'
    """
    if not any(encoded_masks):
        return ""
    faults = (_fault(encoded, width, height) for encoded in encoded_masks)
    return next((f"mask {number}: {fault}" for number, fault in enumerate(faults) if fault), "")


def _fault(encoded: bytes, width: int, height: int) -> str:
    try:
        size = read_header(encoded).size
        if (size.width, size.height) != (width, height):  # before any pixel takes memory
            return f"it has {size.width} x {size.height} pixels"
        tf.io.decode_image(encoded, channels=1, expand_animations=False)  # as training does
    except (HoldfastError, tf.errors.OpError):
        return "it cannot be decoded"
    return ""

"""Find the devices once, so that TensorFlow's search for them happens at a known moment."""

from __future__ import annotations

import tensorflow as tf


def find_devices() -> list[str]:
    """Name the devices TensorFlow can compute on, after having used one."""
    tf.constant(0)  # drivers are loaded with the first tensor, not with the import
    return [device.name for device in tf.config.list_logical_devices()]

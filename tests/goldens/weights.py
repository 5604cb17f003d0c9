"""The weights that the OD API's numbers were computed with: each follows from its own name."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[np.float64]]


def weight(key: str, shape: Sequence[int], gains: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Give the weight of a checkpoint key: README.md has the rule in words."""
    values = _plain(key, shape)
    for gain in gains:
        if re.search(gain["match"], key):
            values = _changed(values, **gain)
    return values.astype(np.float32)


def _plain(key: str, shape: Sequence[int]) -> Values:
    random = np.random.Generator(np.random.PCG64(zlib.crc32(key.encode())))
    normal = random.standard_normal(shape)
    name = key.partition("/.ATTRIBUTES")[0].rpartition("/")[2].lower()
    if "moving_mean" in name:
        return 0.1 * normal
    if "moving_var" in name:
        return 1.0 + 0.2 * np.abs(normal)
    if name in ("gamma", "bifpn_combine_weights"):
        return 1.0 + 0.1 * normal
    if len(shape) < 2:
        return 0.05 * normal
    inputs = shape[:2] if "depthwise" in name else shape[:-1]
    return normal * np.sqrt(2.0 / np.prod(inputs))


def _changed(
    values: Values,
    *,
    match: str,
    gain: float = 1.0,
    center: bool = False,
    add: float = 0.0,
    add_index0: float = 0.0,
) -> Values:
    if center:
        values = values - values.mean(axis=tuple(range(values.ndim - 1)), keepdims=True)
    values = values * gain + add
    values.flat[0] += add_index0
    return values

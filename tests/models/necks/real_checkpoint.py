"""The variables in a published checkpoint of the OD API, of which only the index is needed."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

OTHERS = ("Momentum", "RMSProp", "RMSProp_1", "ExponentialMovingAverage")


def variables_below(
    corpus: Path, number: int, prefixes: tuple[str, ...]
) -> dict[str, tuple[int, ...]]:
    """Names and shapes, without those of optimizers and averages."""
    prefix = corpus / "checkpoint_indexes" / f"checkpoint{number:02d}"
    shapes = tf.train.load_checkpoint(str(prefix)).get_variable_to_shape_map()
    return {
        name: tuple(shape)
        for name, shape in shapes.items()
        if name.startswith(prefixes) and name.split("/")[-1] not in OTHERS
    }

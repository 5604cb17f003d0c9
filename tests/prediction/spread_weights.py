"""A small detector whose fresh weights say something: scores that differ, boxes that move."""

from __future__ import annotations

import numpy as np


def spread_weights(detector, seed: int = 0) -> None:
    """Draw all weights anew, wide enough that scores spread; as they are initialized they do not.

    Every comparison of detectors with plain fresh weights would pass: all their scores are equal.
    """
    draw = np.random.default_rng(seed)
    for variable in detector.weights:
        shape, name = tuple(variable.shape), variable.path.rpartition("/")[2]
        if "variance" in name or "gamma" in name:
            variable.assign(draw.uniform(0.6, 1.4, shape))
        elif len(shape) >= 2:
            fan_in = np.prod(shape[:-1]) if shape[-1] > 1 else shape[0] ** 2  # 1: depthwise
            strength = (
                12.0 if "/classes" in variable.path else 4.0 if "head" in variable.path else 1.4
            )
            variable.assign(draw.normal(0.0, strength / np.sqrt(fan_in), shape))
        else:
            level = -5.0 if "/classes" in variable.path else 0.0  # few are sure, none is at 1
            variable.assign(draw.normal(level, 0.1, shape))


def save_project(folder, text: str, seed: int = 0, side: int = 64):
    """Write data, a config and a checkpoint of a detector with spread weights; give the config."""
    import holdfast
    from holdfast.checkpoints.own.own_names import own_names
    from holdfast.checkpoints.own.store import CheckpointStore
    from holdfast.data.conversion.to_records import convert
    from holdfast.data.sources.open_source import open_source

    convert(open_source(f"6@{side}", format_name="synthetic"), str(folder), val=0.0)
    (folder / "pipeline.config").write_text(text)
    config = holdfast.load_config(folder / "pipeline.config")
    detector = holdfast.build_detector(config)
    spread_weights(detector, seed)
    weights = {each.names[0]: each.variable.value for each in own_names(detector, "full")}
    CheckpointStore(folder / "checkpoints").save(1, weights)
    return config, detector


def noise(height: int, width: int, seed: int = 0):
    """Give an image with structure: blocks of colors."""
    draw = np.random.default_rng(seed)
    blocks = draw.integers(0, 256, (height // 8 + 1, width // 8 + 1, 3), np.uint8)
    return blocks.repeat(8, axis=0).repeat(8, axis=1)[:height, :width]

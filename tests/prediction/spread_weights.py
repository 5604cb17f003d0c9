"""A small detector whose fresh weights say something: scores that differ, boxes that move."""

from __future__ import annotations

import numpy as np

# In the path of a head: what it predicts, how far that shall spread, and around what.
_HEADS = {
    "/classes/": ("class_predictions_with_background", 2.5, -5.0),
    "/boxes/": ("box_encodings", 1.2, 0.0),
    "/object_center.": ("object_center", 2.5, -3.0),
    "/box.scale.": ("box_scale", 2.0, 9.0),
    "/box.offset.": ("box_offset", 0.2, 0.5),
    "/segmentation.": ("segmentation_heatmap", 3.0, 0.0),
}
_CLASSES = ("class_predictions_with_background", "object_center")


def spread_weights(detector, seed: int = 0, *, rarer: float = 0.0) -> None:
    """Draw all weights anew, and scale those of the heads so that what they predict spreads.

    rarer: by how much logits of classes are lower; with many classes and places the best of them
    are all 1 otherwise. Every comparison of detectors with plain fresh weights would pass: all
    their scores are equal.
    """
    draw = np.random.default_rng(seed)
    for variable in detector.weights:
        shape, name = tuple(variable.shape), variable.path.rpartition("/")[2]
        if "variance" in name or "gamma" in name:
            variable.assign(draw.uniform(0.6, 1.4, shape))
        elif len(shape) >= 2:
            fan_in = np.prod(shape[:-1]) if shape[-1] > 1 else shape[0] ** 2  # 1: depthwise
            variable.assign(draw.normal(0.0, 1.4 / np.sqrt(fan_in), shape))
        else:
            variable.assign(draw.normal(0.0, 0.1, shape))
    inputs, sizes = detector.preprocess(noise(64, 80, seed)[None])
    predictions = detector(inputs, sizes=sizes)
    for variable in detector.weights:
        for part, (field, spread, level) in _HEADS.items():
            if part in variable.path and hasattr(predictions, field):
                level -= rarer if field in _CLASSES else 0.0
                _scale(variable, getattr(predictions, field), spread, level, draw)


def _scale(variable, predicted, spread: float, level: float, draw) -> None:
    """Scale the last kernel of a head, which what it predicts is linear in, and set its bias."""
    if "hidden" in variable.path or "depthwise" in variable.path:
        return
    now = np.std(predicted[-1] if isinstance(predicted, tuple) else predicted)
    if variable.path.endswith("/bias"):
        variable.assign(draw.normal(level, 0.1, tuple(variable.shape)))
    else:
        variable.assign(variable.value * float(spread / now))


def favor_class(detector, index: int) -> None:
    """Let a CenterNet with spread weights find more objects of a class: one may be all it finds."""
    for variable in detector.weights:
        if "/object_center." in variable.path and variable.path.endswith("last/convolution/bias"):
            raised = np.eye(variable.shape[0], dtype=np.float32)[index] * 3.0
            variable.assign(variable.value + raised)


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

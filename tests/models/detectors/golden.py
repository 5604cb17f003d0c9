"""A folder of the OD API's numbers, and the detector that should give them."""

from __future__ import annotations

import importlib.util
import json
from functools import cached_property
from pathlib import Path

import numpy as np
import tensorflow as tf

from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.config.load import load_config
from holdfast.data.sample import GroundTruth
from holdfast.models.detectors.build_detector import build_detector


class Golden:
    """Numbers of one config; arrays too large were stored with a stride."""

    def __init__(self, folder: Path, overrides: dict | None = None) -> None:
        self.folder = folder
        self.config = load_config(folder / "pipeline.config", overrides=overrides)
        self.names = [name for name, _, _ in self.json("variables")]

    def json(self, name: str):
        return json.loads((self.folder / f"{name}.json").read_text())

    @cached_property
    def inputs(self):
        return np.load(self.folder / "input.npz")

    @cached_property
    def outputs(self):
        return np.load(self.folder / "outputs.npz")

    @cached_property
    def targets(self):
        return np.load(self.folder / "targets.npz")

    @property
    def has_numbers(self) -> bool:
        return (self.folder / "outputs.npz").exists()

    @property
    def batch_size(self) -> int:
        return len(self.inputs["image_uint8"])

    def truth(self, rows: int | None = None) -> GroundTruth:
        """Give the ground truth, padded with weight 0 to a number of rows."""
        stored = np.load(self.folder / "groundtruth.npz")
        images = range(self.batch_size)
        rows = rows or max(len(stored[f"boxes__{image}"]) for image in images)
        boxes = np.zeros((self.batch_size, rows, 4), np.float32)
        classes = np.zeros((self.batch_size, rows), np.int32)
        weights = np.zeros((self.batch_size, rows), np.float32)
        for image in images:
            count = len(stored[f"boxes__{image}"])
            boxes[image, :count] = stored[f"boxes__{image}"]
            classes[image, :count] = stored[f"classes__{image}"]
            weights[image, :count] = 1.0
        truth = GroundTruth(*(tf.constant(each) for each in (boxes, classes, weights)))
        if "masks__0" not in stored:
            return truth
        masks = [stored[f"masks__{image}"] for image in images]
        padded = [np.pad(each, [(0, rows - len(each)), (0, 0), (0, 0)]) for each in masks]
        return truth._replace(masks=tf.constant(np.stack(padded)))

    def detector(self, tmp_path: Path, **keywords):
        """Build the detector and load the checkpoint that the numbers were computed with."""
        detector = build_detector(self.config, **keywords)
        report = load_checkpoint(detector, write_checkpoint(self.folder, tmp_path / "ckpt-0"))
        return detector, report

    def error(self, file: str, key: str, values) -> float:
        """Give the largest difference to a stored array, as a part of the whole array's range."""
        stored, about = np.load(self.folder / f"{file}.npz")[key], self.json(f"{file}.meta")[key]
        values = np.asarray(values)
        assert list(values.shape) == about["shape"]
        stride = about["flat_stride"]
        seen = values if stride == 1 else values.reshape(-1)[::stride]
        difference = np.max(np.abs(seen - stored))
        return float(difference / ((about["max"] - about["min"]) or 1.0))

    def sampler(self, mode: str):
        """Give a sampler that draws, call by call, what the OD API drew."""
        stored = np.load(self.folder / f"sampled_{mode}.npz")
        calls = iter(sorted(stored.files))
        return lambda candidates, positives, size: tf.constant(stored[next(calls)])[None]


def write_checkpoint(folder: Path, prefix: Path) -> Path:
    """Write the checkpoint of a golden folder by its rule."""
    tool = folder.parent.parent / "tools" / "golden_checkpoint.py"
    spec = importlib.util.spec_from_file_location("golden_checkpoint", tool)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(str(folder), str(prefix))
    return prefix

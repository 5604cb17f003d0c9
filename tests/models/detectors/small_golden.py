"""Small goldens: the OD API's numbers of one family, and the detector that should give them."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.checkpoints.bundles import write_bundle
from tests.goldens.weights import weight

from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.config.load import load_config
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import find_recipe
from holdfast.data.sample import GroundTruth
from holdfast.models.detectors.build_detector import build_detector

FOLDER = Path(__file__).resolve().parent.parent.parent / "goldens"
RECIPES = {
    "ssd_mobilenet_v2": "ssd_mobilenet_v2_320",
    "fpnlite": "fpnlite_320",
    "retinanet": "retinanet_50_640",
    "efficientdet": "efficientdet_d0",
    "faster_rcnn": "faster_rcnn_resnet50_640",
}
CONFIGS = ["ssd_inception_v2", "mask_rcnn", "faster_rcnn_fpn", "centernet", "centernet_fpn"]
FAMILIES = [*RECIPES, *CONFIGS]


class SmallGolden:
    """The numbers of one family, and the detector that should give them."""

    def __init__(self, family: str, folder: Path, *, freeze_batch_norm: bool = True) -> None:
        self.numbers = np.load(FOLDER / f"{family}.npz")
        self.num_images = sum(name.startswith("boxes__") for name in self.numbers)
        self.images = np.load(FOLDER / "images.npz")["images"][: self.num_images]
        self.losses = json.loads(str(self.numbers["losses"]))
        self.names, checkpoint = self._write_checkpoint(folder / family)
        self.detector = build_detector(
            recipe_model(find_recipe(RECIPES[family]), num_classes=90)
            if family in RECIPES
            else load_config(FOLDER / f"{family}.config"),
            freeze_batch_norm=freeze_batch_norm,
            sampler=self._sampler() if self.has_regions else None,
        )
        self.report = load_checkpoint(self.detector, checkpoint)

    @property
    def has_regions(self) -> bool:
        """Whether losses are those of regions, which were sampled."""
        return "sampled/call_0" in self.numbers

    @property
    def predicted(self) -> list[str]:
        """The names of the predictions that there are numbers of."""
        arrays = [name.removesuffix("/values") for name in self.numbers if "/values" in name]
        return [name for name in arrays if name != "preprocessed" and "detection_" not in name]

    def _sampler(self):
        """Draw, call by call, what the OD API drew for one image after the other."""
        calls = iter(sorted(name for name in self.numbers if name.startswith("sampled/")))

        def draw(candidates, positives, size):
            return tf.stack([self.numbers[next(calls)] for _ in range(self.num_images)])

        return draw

    def _write_checkpoint(self, prefix: Path) -> tuple[set[str], Path]:
        gains = json.loads(str(self.numbers["gains"]))
        rows = [json.loads(row) for row in self.numbers["variables"]]
        values = {
            key: weight(key, shape, gains) if dtype == "float32" else np.zeros(shape, dtype)
            for key, shape, dtype in rows
        }
        return set(values), write_bundle(prefix, values)

    @cached_property
    def inputs(self):
        return self.detector.preprocess(self.images)

    @cached_property
    def predictions(self):
        images, sizes = self.inputs
        return self.detector(images, sizes=sizes)

    @cached_property
    def truth(self) -> GroundTruth:
        """Give the ground truth of all images, padded with weight 0 to the fullest one."""
        boxes = self._padded("boxes", 0.0)
        known = [len(self.numbers[f"boxes__{image}"]) for image in range(self.num_images)]
        weights = np.arange(boxes.shape[1]) < np.array(known)[:, None]
        more = {
            name: self._padded(name, padding)
            for name, padding in (("masks", 0), ("keypoints", np.nan))
            if f"{name}__0" in self.numbers
        }
        return GroundTruth(
            boxes=boxes,
            classes=tf.cast(self._padded("classes", 0), tf.int32),
            weights=tf.cast(weights, tf.float32),
            **more,
        )

    def _padded(self, name: str, padding: float) -> tf.Tensor:
        rows = [self.numbers[f"{name}__{image}"] for image in range(self.num_images)]
        most = max(map(len, rows))
        rest = [(0, 0)] * (rows[0].ndim - 1)
        return tf.constant(
            np.stack(
                [
                    np.pad(each, [(0, most - len(each)), *rest], constant_values=padding)
                    for each in rows
                ]
            )
        )

    def training_loss_terms(self):
        images, sizes = self.inputs
        predictions = self.detector(images, sizes=sizes, truth=self.truth, training=True)
        return self.loss_terms(predictions)

    def loss_terms(self, predictions):
        targets = self.detector.targets(self.truth, self.inputs[1], predictions)
        return self.detector.loss_terms(predictions, targets)

    def prediction(self, name: str) -> Any:
        """Give what was predicted by the OD API's name for it: box/scale__0 of the first map."""
        name, _, level = name.partition("__")
        *_, last = name.split("/")
        values = (
            getattr(self.predictions.keypoints[0], last)
            if "/keypoint/" in name
            else getattr(self.predictions, name.replace("/", "_"))
        )
        return values[int(level)] if level else values

    def compare(self, name: str, values, *, tolerance: float) -> None:
        """Compare the sampled values, as parts of the whole array's range, and the whole's norm."""
        wanted = {key: self.numbers[f"{name}/{key}"] for key in ("values", "places", "shape", "l2")}
        low, high = self.numbers[f"{name}/range"]
        values = np.asarray(values, np.float64)
        np.testing.assert_array_equal(values.shape, wanted["shape"])
        sampled = values.reshape(-1)[wanted["places"]]
        np.testing.assert_allclose(sampled, wanted["values"], atol=tolerance * (high - low))
        assert np.linalg.norm(values) == pytest.approx(float(wanted["l2"]), rel=tolerance)

"""A detector of each family gives the OD API's numbers, as far as they travel with the project.

They are in tests/goldens; test_goldens.py compares all of them where the large ones are.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tests.checkpoints.bundles import write_bundle
from tests.goldens.weights import weight

from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.config.load import load_config
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe import find_recipe
from holdfast.data.sample import GroundTruth
from holdfast.models.detectors.build_detector import build_detector

FOLDER = Path(__file__).resolve().parent.parent.parent / "goldens"
RECIPES = {
    "ssd_mobilenet_v2": "ssd_mobilenet_v2_320",
    "fpnlite": "fpnlite_320",
    "retinanet": "retinanet_50_640",
    "efficientdet": "efficientdet_d0",
}
FAMILIES = [*RECIPES, "ssd_inception_v2"]
QUICKEST = "ssd_mobilenet_v2"


class SmallGolden:
    """The numbers of one family, and the detector that should give them."""

    def __init__(self, family: str, folder: Path, *, freeze_batch_norm: bool = True) -> None:
        self.numbers = np.load(FOLDER / f"{family}.npz")
        self.images = np.load(FOLDER / "images.npz")["images"]
        self.losses = json.loads(str(self.numbers["losses"]))
        self.names, checkpoint = self._write_checkpoint(folder / family)
        if family in RECIPES:
            model = recipe_model(find_recipe(RECIPES[family]), num_classes=90)
        else:
            model = load_config(FOLDER / f"{family}.config").model
        self.detector = build_detector(model, freeze_batch_norm=freeze_batch_norm)
        self.report = load_checkpoint(self.detector, checkpoint)

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
        """Give the ground truth of both images, padded with weight 0 to the fuller one."""
        counts = [len(self.numbers[f"boxes__{image}"]) for image in (0, 1)]
        boxes, classes = np.zeros((2, max(counts), 4), np.float32), np.zeros((2, max(counts)), int)
        for image, count in enumerate(counts):
            boxes[image, :count] = self.numbers[f"boxes__{image}"]
            classes[image, :count] = self.numbers[f"classes__{image}"]
        weights = (np.arange(max(counts)) < np.array(counts)[:, None]).astype(np.float32)
        return GroundTruth(
            boxes=tf.constant(boxes),
            classes=tf.constant(classes, tf.int32),
            weights=tf.constant(weights),
        )

    def training_loss_terms(self):
        images, sizes = self.inputs
        return self.loss_terms(self.detector(images, sizes=sizes, training=True))

    def loss_terms(self, predictions):
        targets = self.detector.targets(self.truth, self.inputs[1], predictions)
        return self.detector.loss_terms(predictions, targets)

    def compare(self, name: str, values, *, tolerance: float) -> None:
        """Compare the sampled values, as parts of the whole array's range, and the whole's norm."""
        wanted = {key: self.numbers[f"{name}/{key}"] for key in ("values", "places", "shape", "l2")}
        low, high = self.numbers[f"{name}/range"]
        values = np.asarray(values, np.float64)
        np.testing.assert_array_equal(values.shape, wanted["shape"])
        sampled = values.reshape(-1)[wanted["places"]]
        np.testing.assert_allclose(sampled, wanted["values"], atol=tolerance * (high - low))
        assert np.linalg.norm(values) == pytest.approx(float(wanted["l2"]), rel=tolerance)


@pytest.fixture(scope="module", params=FAMILIES)
def golden(request, tmp_path_factory):
    return SmallGolden(request.param, tmp_path_factory.mktemp("checkpoint"))


def test_every_variable_is_mapped(golden):
    assert golden.report.is_whole
    assert set(golden.report.loaded) | set(golden.report.other) == golden.names


def test_inputs_and_predictions(golden):
    golden.compare("preprocessed", golden.inputs[0], tolerance=1e-5)
    golden.compare("anchors", golden.predictions.anchors, tolerance=1e-5)
    for name in ("box_encodings", "class_predictions_with_background"):
        golden.compare(name, getattr(golden.predictions, name), tolerance=1e-3)
    for index, feature in enumerate(golden.predictions.feature_maps):
        golden.compare(f"feature_maps__{index}", feature, tolerance=1e-3)


def test_detections(golden):
    found = golden.detector.detections(golden.predictions, golden.inputs[1])
    wanted = golden.numbers
    np.testing.assert_array_equal(found.count, wanted["num_detections"])
    np.testing.assert_allclose(found.scores, wanted["detection_scores"], atol=1e-4)
    for image in (0, 1):
        rows = np.concatenate([found.boxes[image], found.classes[image][:, None]], axis=1)
        theirs = np.concatenate(
            [wanted["detection_boxes"][image], wanted["detection_classes"][image][:, None]], axis=1
        )
        scores = np.asarray(found.scores[image])
        for place, row in enumerate(theirs):  # neighbors of nearly equal score may change places
            tied = rows[np.abs(scores - scores[place]) < 1e-5]
            assert np.abs(tied - row).max(axis=1).min() < 1e-3


def test_losses_and_penalty(golden):
    terms = golden.loss_terms(golden.predictions)
    assert terms.keys() == golden.losses["frozen"].keys()
    for name, value in golden.losses["frozen"].items():
        assert float(terms[name]) == pytest.approx(value, rel=1e-4)
    penalty = float(golden.detector.regularization_loss())
    assert penalty == pytest.approx(golden.losses["regularization_loss"], rel=1e-4)


@pytest.mark.parametrize("golden", [QUICKEST], indirect=True)
def test_gradients(golden):
    with tf.GradientTape() as tape:
        terms = golden.training_loss_terms()
        total = sum(terms.values()) + golden.detector.regularization_loss()
    values = [variable.value for variable in golden.detector.trainable_variables]
    norm = float(tf.linalg.global_norm(tape.gradient(total, values)))
    assert norm == pytest.approx(golden.losses["gradient_norm"], rel=5e-3)


def test_batch_statistics(tmp_path):
    golden = SmallGolden(QUICKEST, tmp_path, freeze_batch_norm=False)
    terms = golden.training_loss_terms()
    for name, value in golden.losses["batch_statistics"].items():
        assert float(terms[name]) == pytest.approx(value, rel=1e-4)

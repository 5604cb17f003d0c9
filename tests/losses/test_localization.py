"""Localization losses equal the OD API's, alone and in the golden detectors."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.config.load import load_config
from holdfast.losses.localization import giou_loss, iou_loss, l1, l2, smooth_l1

GOLDEN = {
    "smooth_l1_d1": smooth_l1,
    "smooth_l1_d05": partial(smooth_l1, delta=0.5),
    "l2": l2,
    "l1": l1,
    "iou": iou_loss,
    "giou": giou_loss,
}
LOSSES = list(GOLDEN.values())
# Of these the golden holds every box prediction, and all anchors count.
DETECTORS = [
    "ssd_mobilenet_v2_320x320_coco17_tpu-8",
    "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8",
]
values = st.integers(-16, 16).map(lambda number: np.float32(number / 4))


@pytest.mark.parametrize("name", GOLDEN)
def test_losses_equal_the_od_api(shared, name):
    golden = np.load(shared / "goldens/_units/losses.npz")
    names = ("iou_boxes_pred", "iou_boxes_target") if "iou" in name else ("box_pred", "box_target")
    loss = GOLDEN[name](golden[names[0]], golden[names[1]], golden["box_weights"])
    expected = golden[f"loc/{name}"]
    expected = expected.sum(axis=-1) if name == "l1" else expected.reshape(2, -1)
    np.testing.assert_allclose(loss, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("mode", ["bn_inference", "bn_inference_gt_padded_to_8"])
def test_the_localization_loss_of_golden_detectors_is_equal(shared, name, mode):
    folder = shared / "goldens" / name
    ssd = load_config(folder / "pipeline.config").model.ssd
    predictions = np.load(folder / "outputs.npz")["pred/box_encodings"]
    golden = np.load(folder / "targets.npz")
    targets = np.zeros_like(predictions)
    targets[tuple(golden["reg_pos_index"].T)] = golden["reg_pos_targets"]
    weights = golden["reg_weights"]
    delta = ssd.loss.localization_loss.weighted_smooth_l1.delta
    loss = float(tf.reduce_sum(smooth_l1(predictions, targets, weights, delta=delta)))
    loss *= ssd.loss.localization_weight / max(1.0, weights.sum())
    if ssd.normalize_loc_loss_by_codesize:
        loss /= 4
    expected = json.loads((folder / "losses.json").read_text())["modes"][mode]["losses"]
    assert loss == pytest.approx(expected["Loss/localization_loss"], rel=1e-5)


@settings(max_examples=40)
@given(
    hnp.arrays(np.float32, (2, 3, 4), elements=values),
    hnp.arrays(np.float32, (2, 3, 4), elements=values),
    hnp.arrays(np.float32, (2, 3), elements=st.sampled_from([0.0, 0.5, 1.0])),
    st.sampled_from([0.25, 1.0, 2.0]),
)
def test_losses_equal_their_formulas(predictions, targets, weights, delta):
    distance = np.abs(predictions - targets)
    quadratic = 0.5 * distance**2
    huber = np.where(distance <= delta, quadratic, delta * (distance - 0.5 * delta))
    for loss, expected in (
        (smooth_l1(predictions, targets, weights, delta=delta), huber.sum(-1) * weights),
        (l2(predictions, targets, weights), quadratic.sum(-1) * weights**2),
        (l1(predictions, targets, weights), distance.sum(-1) * weights),
    ):
        np.testing.assert_allclose(loss, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_finite_on_boxes_without_area(loss):
    predictions = tf.constant([[[0.0, 0.0, 0.0, 0.0], [0.2, 0.2, 0.2, 0.2], [0.5, 0.5, 0.1, 0.1]]])
    targets = tf.constant([[[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]])
    with tf.GradientTape() as tape:
        tape.watch(predictions)
        total = tf.reduce_sum(loss(predictions, targets, tf.ones((1, 3))))
    assert np.isfinite(total)
    assert np.isfinite(tape.gradient(total, predictions)).all()


@pytest.mark.parametrize("loss", [smooth_l1, l1, l2])
def test_a_target_nobody_labeled_costs_and_teaches_nothing(loss):
    predictions = tf.constant([[[3.0, 3.0]]])
    targets = tf.constant([[[np.nan, 0.0]]])
    with tf.GradientTape() as tape:
        tape.watch(predictions)
        total = tf.reduce_sum(loss(predictions, targets, tf.ones((1, 1))))
    alone = loss(predictions[..., 1:], targets[..., 1:], tf.ones((1, 1)))
    assert float(total) == float(alone[0, 0])
    gradient = np.array(tape.gradient(total, predictions))[0, 0]
    assert gradient[0] == 0.0
    assert gradient[1] > 0.0

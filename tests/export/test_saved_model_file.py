"""A SavedModel finds in a process without Holdfast what its detector finds, of every family."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tests.models.detectors.small_configs import small_config
from tests.prediction.spread_weights import noise, spread_weights
from tests.training.small_training import config_of

import holdfast
from holdfast.config.text.overrides import apply_overrides
from holdfast.export.client_input import ClientInput
from holdfast.export.comparison import Tolerance, compare
from holdfast.export.detection_outputs import detection_outputs
from holdfast.export.fresh_process import run_saved_model
from holdfast.export.saved_model_file import write_saved_model
from holdfast.models.backbones.split_networks import SPLIT_NETWORKS

RESIZER = "model.ssd.image_resizer"
IMAGES = [noise(64, 80), noise(64, 80, 1), noise(90, 40, 2)]


def spread_detector(family):
    kept = dict(SPLIT_NETWORKS)
    try:
        if family in ("mask_rcnn", "center_net"):
            config = config_of(family, plain=False)
        else:
            name, _, kind = family.partition("_")
            config = small_config(name, 128, 128)
            if kind:
                config = with_aspect_ratio_kept(config, is_padded=kind == "padded")
        detector = holdfast.build_detector(config)
    finally:
        SPLIT_NETWORKS.clear()
        SPLIT_NETWORKS.update(kept)
    spread_weights(detector)
    return detector


def with_aspect_ratio_kept(config, *, is_padded):
    resizer = f"{RESIZER}.keep_aspect_ratio_resizer"
    config, problems = apply_overrides(
        config,
        {
            f"{resizer}.min_dimension": 128 if is_padded else 96,
            f"{resizer}.max_dimension": 128,
            f"{resizer}.pad_to_max_dimension": is_padded,
        },
    )
    assert not problems
    return config


def outputs(detector, image):
    inputs, sizes = detector.preprocess(image[None])
    return {k: v.numpy()[0] for k, v in detection_outputs(detector, inputs, sizes).items()}


@pytest.mark.parametrize(
    ("family", "input_type"),
    [
        ("ssd", ClientInput.IMAGE_TENSOR),
        ("ssd", ClientInput.ENCODED),
        ("ssd", ClientInput.EXAMPLE),
        pytest.param("fpnlite", ClientInput.IMAGE_TENSOR, marks=pytest.mark.slow),
        ("fpn_any_size", ClientInput.IMAGE_TENSOR),
        ("mask_rcnn", ClientInput.IMAGE_TENSOR),
        ("center_net", ClientInput.IMAGE_TENSOR),
    ],
)
def test_an_export_finds_what_the_detector_finds(family, input_type, tmp_path):
    detector = spread_detector(family)
    write_saved_model(detector, tmp_path / "model", input_type)
    exported = run_saved_model(tmp_path / "model", IMAGES, input_type, tmp_path)
    original = [outputs(detector, image) for image in IMAGES]
    assert np.ptp(original[0]["detection_scores"]) > 0.05  # else every comparison passes
    fixed = family not in ("mask_rcnn", "center_net")
    comparison = compare(original, exported, Tolerance(), has_fixed_places=fixed)
    assert comparison.is_within(Tolerance()), comparison
    assert comparison.objects > 3
    if family == "mask_rcnn":
        assert comparison.smallest_mask_iou > 0.98
    # An image that is not the same is not found to be.
    swapped = [exported[1], exported[0], exported[2]]
    comparison = compare(original, swapped, Tolerance(), has_fixed_places=False)
    assert not comparison.is_within(Tolerance())


def test_clients_call_it_as_one_of_the_od_api_with_one_image_or_several(tmp_path):
    detector = spread_detector("ssd")
    write_saved_model(detector, tmp_path / "model", ClientInput.IMAGE_TENSOR)
    detect = tf.saved_model.load(str(tmp_path / "model"))
    one = detect(tf.constant(IMAGES[0][None]))
    assert {value.dtype for value in one.values()} == {tf.float32}
    assert set(one) == {
        *("detection_boxes", "detection_scores", "detection_classes", "num_detections"),
        *("raw_detection_boxes", "raw_detection_scores"),
    }
    assert float(tf.reduce_min(one["detection_classes"])) >= 1.0  # ids of the label map
    several = detect.signatures["serving_default"](input_tensor=tf.constant(np.stack(IMAGES[:2])))
    np.testing.assert_allclose(
        several["detection_scores"][0], one["detection_scores"][0], atol=1e-5
    )

"""A TFLite file finds in LiteRT what its detector finds, of every family that has such a form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.export.test_saved_model_file import spread_detector
from tests.models.detectors.center_net.small_centers import BOXES as CENTER_BOXES
from tests.models.detectors.center_net.small_centers import center_net, keypoints
from tests.prediction.spread_weights import noise, spread_weights

import holdfast
from holdfast.checkpoints.trained_model import choose_trained
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.text.decode import decode
from holdfast.export import tflite_file
from holdfast.export.comparison import compare
from holdfast.export.detection_outputs import detection_outputs
from holdfast.export.export_choices import ExportPrecision, ExportSettings, FormatName
from holdfast.export.export_format import ExportJob
from holdfast.export.export_model import export_model
from holdfast.export.formats import FORMATS
from holdfast.runtimes.litert_model import LitertModel

ROW = FORMATS[FormatName.TFLITE]
IMAGES = [noise(64, 80), noise(64, 80, 1), noise(90, 40, 2)]
SSDS = ("ssd_mobilenet_v2_coco", "ssdlite_mobilenet_v2_coco")


def job_of(detector, precision, **changes):
    settings = ExportSettings(format=FormatName.TFLITE, precision=ExportPrecision(precision))
    job = ExportJob(
        detector=detector,
        config=None,
        folder=Path(),
        label_map=None,
        settings=settings,
        tell=lambda text: None,
    )
    return replace(job, **changes)


def outputs(detector, image):
    inputs, sizes = detector.preprocess(image[None])
    found = detection_outputs(detector, inputs, sizes)
    return {k: v.numpy()[0] for k, v in found.items() if k not in ROW.leaves_out}


def compared(detector, precision, path):
    """Write, run and compare; also an image in another's place."""
    job = job_of(detector, precision)
    ROW.write(job, path)
    exported = ROW.run(job, path, IMAGES)
    original = [outputs(detector, image) for image in IMAGES]
    assert np.ptp(original[0]["detection_scores"]) > 0.05  # else every comparison passes
    fixed = "raw_detection_scores" in original[0]
    tolerance = ROW.tolerances[job.settings.precision]
    comparison = compare(original, exported, tolerance, has_fixed_places=fixed)
    assert comparison.is_within(tolerance), comparison
    assert comparison.objects > 3
    swapped = compare(original, exported[1:] + exported[:1], tolerance, has_fixed_places=fixed)
    assert not swapped.is_within(tolerance)
    return comparison


@pytest.mark.parametrize(
    "family",
    [
        "ssd",
        "center_net",
        pytest.param("fpn", marks=pytest.mark.slow),
        pytest.param("fpnlite", marks=pytest.mark.slow),
        pytest.param("bifpn", marks=pytest.mark.slow),
        pytest.param("bifpn_padded", marks=pytest.mark.slow),
    ],
)
def test_float32_finds_what_the_detector_finds(family, tmp_path):
    comparison = compared(spread_detector(family), "float32", tmp_path / "model.tflite")
    if family != "center_net":
        assert comparison.largest_raw_score_difference < 1e-3


@pytest.mark.slow
def test_keypoints_of_a_center_net_are_found(tmp_path):
    detector = holdfast.build_detector(center_net(CENTER_BOXES + keypoints()))
    spread_weights(detector)
    comparison = compared(detector, "float32", tmp_path / "model.tflite")
    assert comparison.largest_keypoint_distance < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("family", ["ssd", "center_net"])
@pytest.mark.parametrize("precision", ["float16", "dynamic"])
def test_smaller_numbers_find_about_the_same(family, precision, tmp_path):
    path = tmp_path / "model.tflite"
    compared(spread_detector(family), precision, path)


def test_int8_takes_pixels_and_gives_the_classes_names(tmp_path, monkeypatch):
    pictures = [(noise(64, 80, seed), None) for seed in range(20)]
    monkeypatch.setattr(tflite_file, "images_of_reader", lambda *arguments: iter(pictures))
    detector, path = spread_detector("ssd"), tmp_path / "model.tflite"
    label_map = decode(
        "item { id: 1 name: 'cat' } item { id: 3 name: 'dog' }", StringIntLabelMap
    ).message
    job = job_of(detector, "int8", label_map=label_map)
    ROW.write(job, path)
    original = [outputs(detector, image) for image in IMAGES]
    tolerance = ROW.tolerances[ExportPrecision.INT8]
    found = ROW.run(job, path, IMAGES)
    assert compare(original, found, tolerance, has_fixed_places=True).is_within(tolerance)
    model = LitertModel(path)
    assert model.takes_pixels
    assert model._input["quantization"] == (1.0, 0)  # a step is a pixel's
    assert model.labels == {0: "cat", 2: "dog"}
    # Outputs stay float, in the order that clients know.
    details = model._interpreter.get_output_details()
    assert [len(each["shape"]) for each in details] == [3, 2, 2, 1]
    assert {each["dtype"] for each in details} == {np.float32}


@pytest.fixture(scope="module", params=SSDS)
def published(request, shared, tmp_path_factory):
    """Published weights, a config with a training set of crops, and what they find."""
    weights = shared / "weights" / request.param
    config = weights / "pipeline.config"
    if not config.is_file():
        config = shared / "corpus" / "zoo_configs" / "tf1" / f"{request.param}.config"
    folder = tmp_path_factory.mktemp("crops")
    pictures = shared / "weights" / "ssdlite_mobilenet_v2_coco"
    _save_crops([pictures / "image1.jpg", pictures / "image2.jpg"], folder / "crops.record")
    overrides = {
        "train_input_reader.tf_record_input_reader.input_path": str(folder / "crops.record"),
        "train_input_reader.label_map_path": "",
    }
    chosen = choose_trained(config, str(weights / "model.ckpt"), overrides=overrides)
    expected = json.loads((weights / "expected_detections.json").read_text())
    return chosen, {pictures / name: each["detections"] for name, each in expected.items()}


def _save_crops(pictures, path):
    import tensorflow as tf

    draw = np.random.default_rng(0)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for index in range(24):
            with Image.open(pictures[index % 2]) as image:
                pixels = np.asarray(image)
            height, width = pixels.shape[:2]
            share = draw.uniform(0.5, 1.0, 2)
            rows, columns = int(height * share[0]), int(width * share[1])
            top, left = draw.integers(0, [height - rows + 1, width - columns + 1])
            crop = np.ascontiguousarray(pixels[top : top + rows, left : left + columns])
            encoded = tf.io.encode_jpeg(crop).numpy()
            feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[encoded]))
            features = tf.train.Features(feature={"image/encoded": feature})
            writer.write(tf.train.Example(features=features).SerializeToString())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("precision", "score_off"),
    [("float32", 1e-3), ("float16", 0.01), ("dynamic", 0.1), ("int8", 0.2)],
)
def test_published_weights_find_what_they_found(published, precision, score_off, tmp_path):
    chosen, expected = published
    settings = ExportSettings(
        format=FormatName.TFLITE,
        precision=ExportPrecision(precision),
        score_threshold=0.05,
        images=4,
    )
    result = export_model(chosen, tmp_path / "out", settings)
    print(precision, result.num_bytes, result.evidence.comparison)
    model = holdfast.load_model(tmp_path / "out")
    for path, wanted in expected.items():
        with Image.open(path) as image:
            found = model([np.asarray(image)])
        for each in wanted:
            if each["score"] < (0.5 if precision == "int8" else 0.3 + score_off):
                continue
            overlaps = _overlaps(found, each)
            assert overlaps.max() > 0.7, each
            score = found.scores[0][overlaps.argmax()]
            print(path.name, each["class_id"], each["score"], score, overlaps.max())
            assert abs(score - each["score"]) < score_off


def _overlaps(found, wanted):
    from holdfast.geometry.overlap import iou, pairwise

    box = np.array([wanted["box_ymin_xmin_ymax_xmax"]], np.float32)
    overlaps = np.asarray(pairwise(iou, found.boxes[0], box))[:, 0]
    return np.where(found.classes[0] + 1 == wanted["class_id"], overlaps, 0.0)

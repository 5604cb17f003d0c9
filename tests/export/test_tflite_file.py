"""A TFLite file finds in LiteRT what its detector finds, of every family that has such a form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.export.test_saved_model_file import spread_detector
from tests.models.detectors.center_net.small_centers import BOXES as CENTER_BOXES
from tests.models.detectors.center_net.small_centers import center_net, keypoints
from tests.prediction.spread_weights import favor_class, noise, spread_weights

import holdfast
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.text.decode import decode
from holdfast.export import tflite_file
from holdfast.export.comparison import compare
from holdfast.export.detection_outputs import detection_outputs
from holdfast.export.export_choices import ExportPrecision, ExportSettings, FormatName
from holdfast.export.export_format import ExportJob
from holdfast.export.formats import FORMATS
from holdfast.runtimes.litert_model import LitertModel

ROW = FORMATS[FormatName.TFLITE]
IMAGES = [noise(64, 80), noise(64, 80, 1), noise(90, 40, 2)]
NOSE = 'keypoint_label_to_std { key: "nose" value: 0.5 }'
DOG_KEYPOINTS = keypoints("dog", "dog").replace(NOSE, "")


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
    detector = holdfast.build_detector(center_net(CENTER_BOXES + DOG_KEYPOINTS))
    spread_weights(detector)
    favor_class(detector, 1)  # of a class that is not found keypoints are 0 everywhere
    assert np.ptp(outputs(detector, IMAGES[1])["detection_keypoints"]) > 0.2
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


@pytest.mark.slow
@pytest.mark.parametrize("tasks", ["", DOG_KEYPOINTS], ids=["boxes", "keypoints"])
def test_int8_of_a_center_net_finds_peaks_in_floats(tasks, tmp_path, monkeypatch):
    pictures = [(noise(64, 80, seed), None) for seed in range(20)]
    monkeypatch.setattr(tflite_file, "images_of_reader", lambda *arguments: iter(pictures))
    detector = holdfast.build_detector(center_net(CENTER_BOXES + tasks))
    spread_weights(detector)
    favor_class(detector, 1)
    job, path = job_of(detector, "int8"), tmp_path / "model.tflite"
    ROW.write(job, path)
    original = [outputs(detector, image) for image in IMAGES]
    found = ROW.run(job, path, IMAGES)
    # Nothing is found twice, although rounded cells are often equal to their neighbors.
    tolerance = replace(ROW.tolerances[ExportPrecision.INT8], covered_iou=1.0)
    comparison = compare(original, found, tolerance, has_fixed_places=False)
    assert comparison.is_within(tolerance), comparison
    assert comparison.largest_score_difference < 0.15
    model = LitertModel(path)
    assert model.takes_pixels
    details = model._interpreter.get_output_details()
    assert {each["dtype"] for each in details} == {np.float32}
    kinds = {each["dtype"] for each in model._interpreter.get_tensor_details()}
    assert np.int8 in kinds

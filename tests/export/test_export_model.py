"""The published weights of COCO, exported, find what their own graph found."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import holdfast
from holdfast.checkpoints.trained_model import choose_trained
from holdfast.export.export_choices import ExportPrecision, ExportSettings, FormatName
from holdfast.export.export_model import export_model
from holdfast.geometry.overlap import iou, pairwise

MODELS = ("ssd_mobilenet_v2_coco", "ssdlite_mobilenet_v2_coco")
LOWEST_SCORE = 0.3  # of the detections that are stored
IMAGES = 4


@pytest.fixture(scope="module", params=MODELS)
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
    stored = json.loads((weights / "expected_detections.json").read_text())
    return chosen, {pictures / name: each["detections"] for name, each in stored.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_name", "precision", "score_off"),
    [
        (FormatName.SAVED_MODEL, "float32", 1e-3),
        (FormatName.ONNX, "float32", 1e-3),
        (FormatName.TFLITE, "float32", 1e-3),
        (FormatName.TFLITE, "float16", 0.01),
        (FormatName.TFLITE, "dynamic", 0.25),
        (FormatName.TFLITE, "int8", 0.35),
    ],
)
def test_published_weights_find_what_they_found(
    published, format_name, precision, score_off, tmp_path
):
    chosen, expected = published
    settings = ExportSettings(
        format=format_name,
        precision=ExportPrecision(precision),
        score_threshold=0.05,
        images=IMAGES,
    )
    result = export_model(chosen, tmp_path / "out", settings)
    assert result.evidence.comparison.images == IMAGES
    print(format_name, precision, result.num_bytes, result.evidence.comparison)
    model = holdfast.load_model(tmp_path / "out")
    for path, wanted in expected.items():
        with Image.open(path) as image:
            found = model([np.asarray(image)])
        for each in wanted:
            if each["score"] < (0.5 if precision == "int8" else LOWEST_SCORE + score_off):
                continue
            overlaps = _overlaps(found, each)
            score = found.scores[0][overlaps.argmax()]
            print(path.name, each["class_id"], each["score"], score, overlaps.max())
            assert overlaps.max() > (0.99 if precision == "float32" else 0.7), each
            assert abs(score - each["score"]) < score_off
        if precision == "float32":  # and nothing else
            scores = sorted(each["score"] for each in wanted)
            kept = np.sort(found.scores[0][found.scores[0] > LOWEST_SCORE])
            np.testing.assert_allclose(kept, scores, atol=score_off)


def _overlaps(found, wanted):
    box = np.array([wanted["box_ymin_xmin_ymax_xmax"]], np.float32)
    overlaps = np.asarray(pairwise(iou, found.boxes[0], box))[:, 0]
    return np.where(found.classes[0] + 1 == wanted["class_id"], overlaps, 0.0)


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

"""The published weights of COCO, exported, find what their own graph found."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import holdfast
from holdfast.checkpoints.trained_model import choose_trained
from holdfast.export.export_choices import ExportSettings
from holdfast.export.export_model import export_model

MODEL = "ssdlite_mobilenet_v2_coco"
LOWEST_SCORE = 0.3  # of the detections that are stored


@pytest.mark.slow
def test_published_weights_find_what_they_found_before_the_export(shared, tmp_path):
    weights = shared / "weights" / MODEL
    config = shared / "corpus" / "zoo_configs" / "tf1" / f"{MODEL}.config"
    chosen = choose_trained(config, str(weights / "model.ckpt"))
    result = export_model(chosen, tmp_path / "out", ExportSettings(images=2))
    assert result.evidence.source == "made on the spot"
    assert result.evidence.comparison.images == 2
    model = holdfast.load_model(tmp_path / "out")
    stored = json.loads((weights / "expected_detections.json").read_text())
    for name, expected in stored.items():
        with Image.open(weights / name) as image:
            found = model([np.asarray(image)])
        kept = found.scores[0] > LOWEST_SCORE
        wanted = expected["detections"]
        assert len(wanted) == kept.sum()
        assert (found.classes[0][kept] + 1).tolist() == [each["class_id"] for each in wanted]
        scores = [each["score"] for each in wanted]
        np.testing.assert_allclose(found.scores[0][kept], scores, atol=1e-3)

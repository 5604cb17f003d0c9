from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.doctor.cases import found
from tests.doctor.scenes import Scene, data_case, scenes

CORNERS = np.array([[0.1, 0.1, 0.1, 0.1], [0.5, 0.5, 0.5, 0.5]], np.float32)


def with_boxes(side: float, count: int = 6) -> list[Scene]:
    size = np.array([0, 0, side, side], np.float32)
    return [each._replace(boxes=CORNERS + size, ids=(1, 2)) for each in scenes(count)]


def test_boxes_of_two_pixels_are_an_error(tmp_path: Path):
    finding = found(data_case(tmp_path, with_boxes(0.02)), "boxes-too-small")
    assert finding is not None
    assert finding.severity == "error"
    assert finding.evidence["median_box_pixels"] == 1.9  # of 96


def test_a_larger_input_is_proposed(tmp_path: Path):
    # The finest map of the config has stride 16: 8 pixels of 96 are 0.083.
    mixed = [*with_boxes(0.06, 3), *with_boxes(0.3, 6)]
    finding = found(data_case(tmp_path, mixed), "boxes-too-small")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.fix.set == {
        "model.ssd.image_resizer.fixed_shape_resizer.height": "192",
        "model.ssd.image_resizer.fixed_shape_resizer.width": "192",
    }


def test_boxes_of_ten_pixels_are_fine(tmp_path: Path):
    assert found(data_case(tmp_path, with_boxes(0.11)), "boxes-too-small") is None

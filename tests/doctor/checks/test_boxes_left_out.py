from __future__ import annotations

from pathlib import Path

from tests.doctor.cases import found
from tests.doctor.scenes import HEIGHT, WIDTH, changed, data_case, scenes


def test_boxes_in_pixels_are_an_error_that_says_so(tmp_path: Path):
    pixels = changed(
        scenes(6), lambda each: each._replace(boxes=each.boxes * (HEIGHT, WIDTH, HEIGHT, WIDTH))
    )
    finding = found(data_case(tmp_path, [*pixels, *scenes(3, first=20)]), "boxes-left-out")
    assert finding is not None
    assert finding.severity == "error"
    assert "pixels" in finding.what
    assert finding.fix.text.startswith("Divide y by the image's height")


def test_a_few_boxes_of_the_evaluation_are_a_warning(tmp_path: Path):
    evaluation = scenes(10, first=20)
    evaluation[0] = evaluation[0]._replace(boxes=evaluation[0].boxes[:, [2, 1, 0, 3]])
    finding = found(data_case(tmp_path, scenes(6), evaluation), "boxes-left-out")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["left_out"][0]["data"] == "evaluation"


def test_good_boxes_are_fine(tmp_path: Path):
    assert found(data_case(tmp_path, scenes(6), scenes(3, first=20)), "boxes-left-out") is None

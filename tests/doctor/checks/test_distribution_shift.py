from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.doctor.cases import found
from tests.doctor.scenes import Scene, changed, data_case, scenes

TRAIN, EVALUATION = scenes(30), scenes(24, first=50)


def shifts(folder: Path, evaluation: list[Scene]) -> dict[str, float]:
    finding = found(data_case(folder, TRAIN, evaluation), "distribution-shift")
    if finding is None:
        return {}
    assert finding.severity == "warning"
    return {each["of"]: each["distance"] for each in finding.evidence["shifts"]}


def test_darker_images_are_a_shift_of_brightness(tmp_path: Path):
    dark = changed(EVALUATION, lambda each: each._replace(pixels=each.pixels // 2))
    assert shifts(tmp_path, dark)["brightness"] == 1.0


def test_other_classes_are_a_shift_of_classes(tmp_path: Path):
    assert shifts(tmp_path, scenes(24, first=50, kinds=[1]))["classes"] > 0.5


def test_larger_images_and_smaller_boxes_are_shifts(tmp_path: Path):
    def padded(each: Scene) -> Scene:
        pixels = np.pad(each.pixels, ((0, 120), (0, 160), (0, 0)), mode="edge")
        return each._replace(pixels=pixels, boxes=each.boxes / 2)

    found_shifts = shifts(tmp_path, changed(EVALUATION, padded))
    assert found_shifts["image area"] == found_shifts["box size"] == 1.0


def test_more_of_the_same_is_fine(tmp_path: Path):
    assert shifts(tmp_path, EVALUATION) == {}

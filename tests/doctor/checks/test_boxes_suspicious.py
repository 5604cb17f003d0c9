from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.doctor.cases import found
from tests.doctor.scenes import Scene, changed, data_case, scenes

from holdfast.doctor import box_fit
from holdfast.doctor.seen_by_model import SeenImage

SCENES = scenes(30, objects=5)


def with_boxes(change: Callable[[np.ndarray], np.ndarray]) -> list[Scene]:
    return changed(
        SCENES, lambda each: each._replace(boxes=change(each.boxes).clip(0, 1).astype(np.float32))
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (box_fit.exchanged, "x and y exchanged"),
        (box_fit.mirrored, "turned or mirrored"),
        (box_fit.upside_down, "turned or mirrored"),
        (box_fit.moved_by_size(0.5, 0.5), "half their size"),
        (box_fit.moved(0.05, 0.05), "same distance"),
    ],
)
def test_boxes_beside_their_objects_are_an_error(tmp_path: Path, change, words: str):
    finding = found(data_case(tmp_path, with_boxes(change)), "boxes-suspicious")
    assert finding is not None
    assert finding.severity == "error"
    assert words in finding.what


def test_boxes_with_a_wide_margin_are_a_warning(tmp_path: Path):
    finding = found(data_case(tmp_path, with_boxes(box_fit.resized(1.7))), "boxes-suspicious")
    assert finding is not None
    assert finding.severity == "warning"
    assert "larger than their objects" in finding.what


def test_boxes_of_other_images_are_an_error(tmp_path: Path):
    mixed = [
        each._replace(boxes=other.boxes, ids=other.ids)
        for each, other in zip(SCENES, [*SCENES[5:], *SCENES[:5]], strict=True)
    ]
    finding = found(data_case(tmp_path, mixed), "boxes-suspicious")
    assert finding is not None
    assert finding.severity == "error"
    assert "not those of their images" in finding.what


def test_labels_larger_than_what_a_detector_is_sure_of_are_loose(tmp_path: Path):
    case = data_case(tmp_path, SCENES)
    case.seen_by_model = tuple(
        SeenImage(
            image,
            box_fit.resized(0.75 if number < 10 else 1.0)(image.boxes),
            image.class_names,
            np.full(len(image.boxes), 0.8, np.float32),
        )
        for number, image in enumerate(case.train.images)
    )
    finding = found(case, "boxes-suspicious")
    assert finding is not None
    assert finding.evidence == {"labels": 150, "loose": 50}


def test_boxes_that_fit_are_fine(tmp_path: Path):
    assert found(data_case(tmp_path, SCENES), "boxes-suspicious") is None

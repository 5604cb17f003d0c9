from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.doctor.cases import found
from tests.doctor.scenes import Scene, changed, data_case, scenes

from holdfast.doctor.case import Case
from holdfast.doctor.seen_by_model import SeenImage

LABELED = scenes(20, objects=5)


def without_boxes(every: list[Scene]) -> list[Scene]:
    return changed(every, lambda each: each._replace(boxes=each.boxes[:0], ids=()))


def seen(case: Case, score_in_empty: float) -> tuple[SeenImage, ...]:
    """Let a detector see every label, and something in images without any."""
    box, name = np.array([[0.2, 0.2, 0.5, 0.5]], np.float32), ("disc",)
    return tuple(
        SeenImage(image, image.boxes, image.class_names, np.full(len(image.boxes), 0.8, np.float32))
        if len(image.boxes)
        else SeenImage(image, box, name, np.array([score_in_empty], np.float32))
        for image in case.train.images
    )


def test_empty_images_among_crowded_ones_are_a_warning(tmp_path: Path):
    case = data_case(tmp_path, [*LABELED, *without_boxes(scenes(5, first=30))])
    finding = found(case, "unlabelled-images")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["without_boxes"] == 5
    assert "30.png" in finding.evidence["examples"]


def test_objects_that_a_detector_is_sure_of_are_a_warning(tmp_path: Path):
    few = scenes(20, objects=1)
    case = data_case(tmp_path, [*few, *without_boxes(scenes(5, first=30))])
    case.seen_by_model = seen(case, 0.85)
    finding = found(case, "unlabelled-images")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["with_sure_detections"] == 5


def test_empty_scenes_in_which_a_detector_sees_nothing_are_fine(tmp_path: Path):
    case = data_case(tmp_path, [*LABELED, *without_boxes(scenes(5, first=30))])
    case.seen_by_model = seen(case, 0.1)
    assert found(case, "unlabelled-images") is None


def test_a_few_empty_images_among_images_of_one_box_are_fine(tmp_path: Path):
    few = scenes(20, objects=1)
    assert (
        found(data_case(tmp_path, [*few, *without_boxes(scenes(4, first=30))]), "unlabelled-images")
        is None
    )

"""Pascal's metrics against a slow oracle, and on cases done by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from holdfast.evaluation.metrics.pascal import PascalEvaluator

from ..scenes import CLASSES, Scene, found, labeled, random_scene, scenes

MEAN = "PascalBoxes_Precision/mAP@0.5IOU"
CAT = "PascalBoxes_PerformanceByCategory/AP@0.5IOU/cat"
FAR = {"box": (50, 50, 60, 60)}


def evaluated(scene: Scene, **keywords) -> dict[str, float]:
    evaluator = PascalEvaluator(CLASSES, **keywords)
    for image in range(scene.images):
        evaluator.add(*scene.of_images([image]))
    return evaluator.result()


def one_image(labels: list[dict], finds: list[dict], **keywords) -> float:
    result = evaluated(Scene(1, labeled(labels), found(finds)), **keywords)
    return next(value for name, value in result.items() if name.endswith("/cat"))


def oracle(scene: Scene, class_index: int, flag: str) -> float:
    """Compute the average precision box by box; objects with the flag are set aside."""
    objects, finds = scene.labeled, scene.found
    verdicts, taken = [], set()
    for row in sorted(np.flatnonzero(finds.classes == class_index), key=lambda n: -finds.scores[n]):
        verdict = _verdict(scene, int(row), class_index, flag, taken)
        verdicts += [] if verdict is None else [verdict]
    is_class = objects.classes == class_index
    total = int(np.count_nonzero(is_class & ~getattr(objects, flag)))
    if not total:
        return math.nan
    curve = [
        (sum(verdicts[:n]) / total, sum(verdicts[:n]) / n) for n in range(1, len(verdicts) + 1)
    ]
    area = 0.0
    for step in range(1, total + 1):
        reached = [precision for recall, precision in curve if recall * total >= step - 1e-9]
        area += max(reached, default=0.0) / total
    return area


def _verdict(scene: Scene, row: int, class_index: int, flag: str, taken: set[int]) -> bool | None:
    objects, finds = scene.labeled, scene.found
    box = finds.boxes[row].astype(float)
    if min(box[2] - box[0], box[3] - box[1]) <= 0:
        return None
    here = np.flatnonzero((objects.image == finds.image[row]) & (objects.classes == class_index))
    is_group = objects.group_of[here] & (flag == "group_of")
    overlaps = [(_iou(box, objects.boxes[n].astype(float)), -n) for n in here[~is_group]]
    iou, best = max(overlaps, default=(0.0, 0))
    if iou >= 0.5:
        if flag == "difficult" and objects.difficult[-best]:
            return None
        if -best not in taken:
            taken.add(-best)
            return True
    groups = [objects.boxes[n].astype(float) for n in here[is_group]]
    if any(_shared(box, group) / _area(box) >= 0.5 for group in groups):
        return None
    return False


def _area(box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _shared(one, other) -> float:
    height = min(one[2], other[2]) - max(one[0], other[0])
    width = min(one[3], other[3]) - max(one[1], other[1])
    return max(height, 0.0) * max(width, 0.0)


def _iou(one, other) -> float:
    shared = _shared(one, other)
    return shared / (_area(one) + _area(other) - shared)


def assert_equals_the_oracle(scene: Scene) -> None:
    flavours = {
        "difficult": {},
        "group_of": {"prefix": "P", "heeds_difficult": False, "heeds_groups": True},
    }
    for flag, keywords in flavours.items():
        result = list(evaluated(scene, **keywords).values())
        expected = [oracle(scene, number - 1, flag) for number in CLASSES]
        known = [value for value in expected if not math.isnan(value)]
        mean = sum(known) / len(known) if known else math.nan
        assert result == pytest.approx([mean, *expected], nan_ok=True)


@pytest.mark.parametrize("seed", range(3))
def test_random_objects_score_as_the_oracle_says(seed):
    scene = random_scene(seed)
    assert_equals_the_oracle(scene)
    assert 0.05 < evaluated(scene)[MEAN] < 0.95


@given(scene=scenes())
def test_ties_and_empty_images_score_as_the_oracle_says(scene):
    assert_equals_the_oracle(scene)


def test_the_names_are_those_of_the_od_api():
    names = list(PascalEvaluator({1: "cat", 2: "café"}).result())
    assert names == [MEAN, CAT, CAT.removesuffix("cat") + "cafe\u0301"]


def test_an_object_found_twice_is_a_false_alarm_the_second_time():
    assert one_image([{}, FAR], [{"score": 0.9}, {"score": 0.8}, FAR]) == pytest.approx(5 / 6)


def test_a_difficult_object_counts_neither_way():
    hard = {"difficult": True, "box": (20, 20, 30, 30)}
    at_hard = {"box": (20, 20, 30, 30), "score": 0.9}
    assert one_image([{}, hard], [at_hard, at_hard, {}]) == 1.0
    assert one_image([{}, hard], [{}]) == 1.0
    assert math.isnan(one_image([hard], [at_hard]))


def test_a_group_is_an_object_like_others_unless_groups_are_heeded():
    group = {"group_of": True, "box": (20, 20, 40, 40)}
    inside = [{"box": (20, 20, 30, 30), "score": 0.9}, {"box": (30, 30, 40, 40), "score": 0.8}]
    assert one_image([{}, group], [*inside, {}]) == pytest.approx(1 / 6)
    assert one_image([{}, group], [*inside, {}], heeds_groups=True) == 1.0


def test_a_class_without_objects_is_not_a_number_and_does_not_count():
    result = evaluated(Scene(1, labeled([{}]), found([{}, {"class_index": 1}])))
    assert result[MEAN] == 1.0
    assert math.isnan(result["PascalBoxes_PerformanceByCategory/AP@0.5IOU/dog"])


def test_what_is_never_found_scores_zero():
    assert one_image([{}], []) == 0.0
    assert one_image([{}], [FAR]) == 0.0

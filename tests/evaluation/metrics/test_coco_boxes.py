"""COCO's metrics against pycocotools, on the same objects."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings

from holdfast.evaluation.metrics.coco_boxes import CategoryMetrics, CocoEvaluator, CocoResult

from ..scenes import CLASSES, UNKNOWN, Scene, coco_numbers, found, labeled, random_scene, scenes

NAMES = (
    "DetectionBoxes_Precision/mAP",
    "DetectionBoxes_Precision/mAP@.50IOU",
    "DetectionBoxes_Precision/mAP@.75IOU",
    "DetectionBoxes_Precision/mAP (small)",
    "DetectionBoxes_Precision/mAP (medium)",
    "DetectionBoxes_Precision/mAP (large)",
    "DetectionBoxes_Recall/AR@1",
    "DetectionBoxes_Recall/AR@10",
    "DetectionBoxes_Recall/AR@100",
    "DetectionBoxes_Recall/AR@100 (small)",
    "DetectionBoxes_Recall/AR@100 (medium)",
    "DetectionBoxes_Recall/AR@100 (large)",
)
EVERYTHING = CategoryMetrics(
    included=True, all_measures=True, groups={"pet": ("cat", "dog"), "none": ("emu",)}
)


def evaluated(scene: Scene, categories=None, images_at_once: int = 1) -> CocoResult:
    evaluator = CocoEvaluator(CLASSES, categories)
    for first in range(0, scene.images, images_at_once):
        evaluator.add(*scene.of_images(range(first, first + images_at_once)))
    return evaluator.result()


def assert_equals_pycocotools(scene: Scene) -> None:
    result, expected = evaluated(scene), coco_numbers(scene)
    assert list(result.metrics) == list(NAMES)
    assert list(result.metrics.values()) == pytest.approx(expected.stats, abs=1e-9)
    for name, score in result.per_class.items():
        assert (-1.0 if score.ap is None else score.ap) == pytest.approx(expected.ap[name])
        assert (-1.0 if score.ap50 is None else score.ap50) == pytest.approx(expected.ap50[name])


@pytest.mark.parametrize("seed", range(4))
def test_random_objects_score_as_in_pycocotools(seed):
    scene = random_scene(seed)
    assert_equals_pycocotools(scene)
    assert 0.05 < evaluated(scene).metrics[NAMES[0]] < 0.95


def test_only_the_best_100_of_a_class_count_in_an_image():
    assert_equals_pycocotools(random_scene(9, images=4, most_found=900))


@given(scene=scenes())
def test_ties_crowds_and_empty_images_score_as_in_pycocotools(scene):
    assert_equals_pycocotools(scene)


@settings(max_examples=20)
@given(scene=scenes())
def test_how_images_are_batched_does_not_matter(scene):
    assert evaluated(scene) == evaluated(scene, images_at_once=3)


def test_objects_found_exactly_score_one():
    scene = random_scene(1)
    objects = scene.labeled
    same = found(
        [
            {"image": i, "box": b, "class_index": c, "score": 1.0}
            for i, b, c in zip(objects.image, objects.boxes, objects.classes, strict=True)
        ]
    )
    result = evaluated(Scene(scene.images, objects, same))
    assert result.metrics[NAMES[0]] == pytest.approx(1.0)
    assert result.metrics[NAMES[8]] == pytest.approx(1.0)
    assert {score.ap for score in result.per_class.values()} == {1.0}


def test_without_any_object_every_metric_is_minus_one_and_no_class_has_a_score():
    result = evaluated(Scene(1, labeled([]), found([{}])))
    assert set(result.metrics.values()) == {-1.0}
    assert [(score.ap, score.ap50, score.objects) for score in result.per_class.values()] == [
        (None, None, 0)
    ] * len(CLASSES)


def test_nothing_added_is_nothing_found():
    assert set(CocoEvaluator(CLASSES).result().metrics.values()) == {-1.0}


def test_a_crowd_is_no_object():
    crowd = labeled([{"is_crowd": True}, {"box": (50, 50, 60, 60)}])
    result = evaluated(Scene(1, crowd, found([{}, {"box": (50, 50, 60, 60), "score": 0.1}])))
    assert (result.per_class["cat"].objects, result.per_class["cat"].ap) == (1, 1.0)


def test_the_area_of_the_record_decides_what_is_small_and_the_box_where_it_has_none():
    box = {"box": (0, 0, 40, 40)}
    small = evaluated(Scene(1, labeled([box | {"area": 900.0}]), found([box])))
    medium = evaluated(Scene(1, labeled([box]), found([box])))
    assert small.metrics["DetectionBoxes_Precision/mAP (small)"] == 1.0
    assert medium.metrics["DetectionBoxes_Precision/mAP (small)"] == -1.0
    assert medium.metrics["DetectionBoxes_Precision/mAP (medium)"] == 1.0


def test_objects_of_classes_that_the_label_map_lacks_are_left_out():
    unknown = {"class_index": UNKNOWN}
    result = evaluated(Scene(1, labeled([{}, unknown]), found([{}, unknown])))
    assert sum(score.objects for score in result.per_class.values()) == 1


def test_classes_are_listed_by_the_od_apis_names_when_asked_for():
    scene = random_scene(3)
    result, expected = evaluated(scene, CategoryMetrics(included=True)), coco_numbers(scene)
    extra = {name: value for name, value in result.metrics.items() if name not in NAMES}
    assert list(extra) == [
        f"DetectionBoxes_PerformanceByCategory/mAP/{name}" for name in CLASSES.values()
    ]
    assert list(extra.values()) == pytest.approx(list(expected.ap.values()))


def test_every_measure_of_every_class_and_group_is_listed_when_asked_for():
    result = evaluated(random_scene(3), EVERYTHING)
    metrics, scores = result.metrics, result.per_class
    assert len(metrics) == len(NAMES) * (1 + len(CLASSES) + 2) + len(CLASSES) + 2
    assert metrics["DetectionBoxes_Precision/mAP@.50IOU ByCategory/owl"] == scores["owl"].ap50
    pets = (scores["cat"].ap + scores["dog"].ap) / 2
    assert metrics["DetectionBoxes_PerformanceBySuperCategory/pet"] == pytest.approx(pets)
    assert metrics["DetectionBoxes_Precision/mAP BySuperCategory/pet"] == pytest.approx(pets)
    assert metrics["DetectionBoxes_PerformanceBySuperCategory/none"] == -1.0


def test_memory_is_that_of_the_found_objects():
    scene = random_scene(0, images=100, most_found=200)
    evaluator = CocoEvaluator(CLASSES)
    parts = [scene.of_images([image]) for image in range(scene.images)]
    tracemalloc.start()
    for part in parts:
        evaluator.add(*part)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 40 * len(scene.found.image)

"""COCO's metrics of masks and keypoints against pycocotools, on the same objects."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from pycocotools import mask as coco_masks
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from holdfast.evaluation.metrics.coco_boxes import CocoEvaluator
from holdfast.evaluation.metrics.coco_class import MASKS
from holdfast.evaluation.metrics.coco_keypoints import KeypointEvaluator, KeypointMetrics
from holdfast.evaluation.metrics.compared_objects import FoundObjects, LabeledObjects
from holdfast.evaluation.pasted_masks import PastedPart, encode_part

from ..scenes import CLASSES, found, labeled

HEIGHT, WIDTH = 120, 160
IMAGES = 12
SIGMAS = (0.03, 0.1, 0.25)
NAMES = (
    "Precision/mAP",
    "Precision/mAP@.50IOU",
    "Precision/mAP@.75IOU",
    "Precision/mAP (small)",
    "Precision/mAP (medium)",
    "Precision/mAP (large)",
    "Recall/AR@1",
    "Recall/AR@10",
    "Recall/AR@100",
    "Recall/AR@100 (small)",
    "Recall/AR@100 (medium)",
    "Recall/AR@100 (large)",
)


def ellipse(box) -> np.ndarray:
    top, left, bottom, right = box
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    height, width = max(bottom - top, 1), max(right - left, 1)
    y, x = (2 * (y - top) / height - 1), (2 * (x - left) / width - 1)
    return (y**2 + x**2 <= 1).astype(np.uint8)


def with_shapes(objects, points):
    masks = np.empty(len(objects.image), object)
    for index, box in enumerate(objects.boxes):
        masks[index] = encode_part(PastedPart(ellipse(box), 0, 0), HEIGHT, WIDTH)
    return objects._replace(masks=masks, keypoints=np.array(points, np.float32).reshape(-1, 3, 2))


def scene(seed: int) -> tuple[LabeledObjects, FoundObjects]:
    """Draw ellipses with three keypoints each, and found ones that are shifted and noisy."""
    random = np.random.default_rng(seed)
    labels, label_points, finds, find_points = [], [], [], []
    for image in range(IMAGES):
        for _ in range(random.integers(1, 5)):
            corner, size = random.uniform(0, 60, 2), np.exp(random.uniform(2, 4.7, 2))
            box = np.concatenate([corner, corner + size])
            row = {"image": image, "class_index": int(random.choice([0, 1, 3]))}
            points = corner + random.random((3, 2)) * size
            seen = random.random((3, 1)) < 0.7
            labels.append(
                row
                | {
                    "box": box,
                    "is_crowd": random.random() < 0.1,
                    "area": float(ellipse(box).sum()) if random.random() < 0.8 else 0.0,
                }
            )
            label_points.append(np.where(seen, points, np.nan))
            for _ in range(random.integers(0, 3)):
                noise = random.normal(0, 0.06, 4) * np.tile(size, 2)
                finds.append(row | {"box": box + noise, "score": float(random.random())})
                find_points.append(points + random.normal(0, 0.06, (3, 2)) * size)
    return with_shapes(labeled(labels), label_points), with_shapes(found(finds), find_points)


def annotations(objects) -> list[dict]:
    rows = []
    for index, (top, left, bottom, right) in enumerate(objects.boxes.tolist()):
        points = objects.keypoints[index].astype(np.float64)
        is_known = np.isfinite(points).all(axis=-1)
        mask = objects.masks[index]
        flat = np.column_stack([np.nan_to_num(points[:, ::-1]), 2 * is_known]).ravel()
        row = {
            "id": index + 1,
            "image_id": int(objects.image[index]),
            "category_id": int(objects.classes[index]) + 1,
            "bbox": [left, top, right - left, bottom - top],
            "segmentation": mask.coco(),
            "keypoints": flat.tolist(),
            "num_keypoints": int(is_known.sum()),
            "iscrowd": 0,
        }
        box_area = (right - left) * (bottom - top)
        if isinstance(objects, LabeledObjects):
            row["area"] = float(objects.areas[index]) or box_area
            row["iscrowd"] = int(objects.is_crowd[index])
        else:
            row["score"] = float(objects.scores[index])
            row["area"] = box_area
        rows.append(row)
    return rows


def pycocotools(objects, others, kind, classes=CLASSES, sigmas=None) -> COCOeval:
    def coco(rows):
        made = COCO()
        made.dataset = {
            "images": [{"id": n, "height": HEIGHT, "width": WIDTH} for n in range(IMAGES)],
            "categories": [{"id": number, "name": name} for number, name in classes.items()],
            "annotations": [row for row in rows if row["category_id"] in classes],
        }
        made.createIndex()
        return made

    truth, detected = annotations(objects), annotations(others)
    if kind == "segm":
        for row in detected:
            row["area"] = float(coco_masks.area(row["segmentation"]))
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = COCOeval(coco(truth), coco(detected), kind)
        if sigmas is not None:
            evaluation.params.kpt_oks_sigmas = np.array(sigmas)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation


@pytest.mark.parametrize("seed", range(3))
def test_noisy_masks_score_as_in_pycocotools(seed):
    objects, others = scene(seed)
    evaluator = CocoEvaluator(CLASSES, comparison=MASKS)
    for image in range(IMAGES):
        evaluator.add(*(rows_of(each, image) for each in (objects, others)))
    result = evaluator.result()
    expected = pycocotools(objects, others, "segm")
    assert list(result.metrics) == [f"DetectionMasks_{name}" for name in NAMES]
    assert list(result.metrics.values()) == pytest.approx(list(expected.stats), abs=1e-9)
    assert 0.1 < expected.stats[0] < 0.9
    for number, name in enumerate(CLASSES.values()):
        precision = expected.eval["precision"][:, :, number, 0, 2]
        assert result.per_class[name].ap == pytest.approx(precision.mean())


@pytest.mark.parametrize("seed", range(3))
def test_noisy_keypoints_score_as_in_pycocotools(seed):
    objects, others = scene(seed)
    evaluator = KeypointEvaluator(
        KeypointMetrics(class_id=1, class_name="cat", places=(0, 1, 2), sigmas=SIGMAS)
    )
    for image in range(IMAGES):
        evaluator.add(*(rows_of(each, image) for each in (objects, others)))
    result = evaluator.result()
    expected = pycocotools(objects, others, "keypoints", {1: "cat"}, SIGMAS)
    names = [name for name in NAMES if "small" not in name]
    assert list(result) == [f"Keypoints_{name} ByCategory/cat" for name in names]
    assert list(result.values()) == pytest.approx(list(expected.stats), abs=1e-9)
    assert 0.05 < expected.stats[0] < 0.95


def test_what_is_labeled_found_again_scores_one():
    objects, _ = scene(5)
    same = FoundObjects(
        objects.image,
        objects.boxes,
        objects.classes,
        np.ones(len(objects.image), np.float32),
        objects.masks,
        np.nan_to_num(objects.keypoints),
    )
    masks = CocoEvaluator(CLASSES, comparison=MASKS)
    points = KeypointEvaluator(KeypointMetrics(class_id=1, class_name="cat"))
    for evaluator in (masks, points):
        evaluator.add(objects, same)
    assert masks.result().metrics["DetectionMasks_Precision/mAP"] == pytest.approx(1.0)
    assert points.result()["Keypoints_Precision/mAP ByCategory/cat"] == pytest.approx(1.0)


def test_where_nothing_is_found_the_precision_is_zero():
    objects, others = scene(2)
    nothing = rows_of(others, -1)
    masks = CocoEvaluator(CLASSES, comparison=MASKS)
    points = KeypointEvaluator(KeypointMetrics(class_id=1, class_name="cat"))
    for evaluator in (masks, points):
        evaluator.add(objects, nothing)
    assert masks.result().metrics["DetectionMasks_Precision/mAP"] == 0.0
    assert points.result()["Keypoints_Precision/mAP ByCategory/cat"] == 0.0


def test_only_the_chosen_keypoints_count():
    objects, others = scene(6)
    chosen = {"class_id": 1, "class_name": "cat"}
    first = KeypointEvaluator(KeypointMetrics(places=(0,), sigmas=(0.05,), **chosen))
    first.add(objects, others)
    alone = KeypointEvaluator(KeypointMetrics(**chosen))
    alone.add(
        objects._replace(keypoints=objects.keypoints[:, :1]),
        others._replace(keypoints=others.keypoints[:, :1]),
    )
    assert first.result() == alone.result()


def test_a_detector_may_give_the_keypoints_of_the_class_alone():
    objects, others = scene(6)
    chosen = KeypointMetrics(class_id=1, class_name="cat", places=(1, 2), sigmas=(0.1, 0.2))
    whole, alone = KeypointEvaluator(chosen), KeypointEvaluator(chosen)
    whole.add(objects, others)
    alone.add(objects, others._replace(keypoints=others.keypoints[:, 1:]))
    assert whole.result() == alone.result()


def test_without_objects_of_the_class_every_number_is_minus_one():
    evaluator = KeypointEvaluator(KeypointMetrics(class_id=7, class_name="emu"))
    assert set(evaluator.result().values()) == {-1.0}
    evaluator.add(*scene(1))
    assert set(evaluator.result().values()) == {-1.0}


def rows_of(objects, image):
    rows = objects.image == image
    return type(objects)(*(None if column is None else column[rows] for column in objects))

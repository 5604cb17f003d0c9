"""Labeled and found objects made up, and what pycocotools says about them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from holdfast.evaluation.metrics.compared_objects import (
    FoundObjects,
    LabeledObjects,
    choose_objects,
)

CLASSES = {1: "cat", 2: "dog", 4: "owl"}  # 3 is free, as in COCO's own label map
UNKNOWN = 2  # class index of an object that no label map knows


class Scene(NamedTuple):
    """What some images show, and what was found in them."""

    images: int
    labeled: LabeledObjects
    found: FoundObjects

    def of_images(self, numbers: Sequence[int]) -> tuple[LabeledObjects, FoundObjects]:
        """Keep the objects of some images."""
        return tuple(
            choose_objects(objects, np.isin(objects.image, numbers))
            for objects in (self.labeled, self.found)
        )


class CocoNumbers(NamedTuple):
    """What pycocotools computes."""

    stats: list[float]  # the twelve numbers, in its order
    ap: dict[str, float]  # of each class; -1 without objects
    ap50: dict[str, float]


def labeled(rows: Sequence[dict]) -> LabeledObjects:
    """Make labeled objects from rows; what is not said is false or 0."""
    defaults = {
        "image": 0,
        "box": (0, 0, 10, 10),
        "class_index": 0,
        "is_crowd": False,
        "group_of": False,
        "difficult": False,
        "area": 0.0,
    }
    columns = [[(defaults | row)[name] for row in rows] for name in defaults]
    image, boxes, classes, *flags, areas = columns
    return LabeledObjects(
        np.array(image, np.int32),
        np.array(boxes, np.float32).reshape(-1, 4),
        np.array(classes, np.int32),
        *(np.array(flag, np.bool_) for flag in flags),
        np.array(areas, np.float32),
    )


def found(rows: Sequence[dict]) -> FoundObjects:
    defaults = {"image": 0, "box": (0, 0, 10, 10), "class_index": 0, "score": 0.5}
    image, boxes, classes, scores = [[(defaults | row)[name] for row in rows] for name in defaults]
    return FoundObjects(
        np.array(image, np.int32),
        np.array(boxes, np.float32).reshape(-1, 4),
        np.array(classes, np.int32),
        np.array(scores, np.float32),
    )


def random_scene(seed: int, *, images: int = 30, most_found: int = 40) -> Scene:
    """Draw objects of all sizes, and found ones that mostly lie near them."""
    random = np.random.default_rng(seed)
    labeled_rows, found_rows = [], []
    for image in range(images):
        objects = [_random_object(random, image) for _ in range(random.integers(0, 8))]
        labeled_rows += objects
        for _ in range(random.integers(0, most_found)):
            near = (
                objects[random.integers(len(objects))]
                if objects and random.random() < 0.7
                else None
            )
            found_rows.append(_random_find(random, image, near))
    return Scene(images, labeled(labeled_rows), found(found_rows))


def _random_object(random: np.random.Generator, image: int) -> dict:
    corner, size = random.uniform(0, 300, 2), np.exp(random.uniform(1, 6, 2))
    box = (*corner, *(corner + size))
    return {
        "image": image,
        "box": box,
        "class_index": int(random.choice([0, 1, 3, UNKNOWN])),
        "is_crowd": bool(random.random() < 0.1),
        "difficult": bool(random.random() < 0.2),
        "group_of": bool(random.random() < 0.2),
        "area": float(size.prod() * random.choice([0.0, 0.5, 0.9])),
    }


def _random_find(random: np.random.Generator, image: int, near: dict | None) -> dict:
    drawn = _random_object(random, image)
    if near is not None:
        box = np.array(near["box"])
        noise = random.normal(0, 0.08, 4) * np.tile(box[2:] - box[:2], 2)
        drawn["box"] = tuple(box + noise)
        drawn["class_index"] = near["class_index"]
    return {**drawn, "score": float(random.random())}


def scenes() -> st.SearchStrategy[Scene]:
    """Draw small scenes with many ties: few places, few sizes, few scores."""
    places = st.tuples(*[st.sampled_from([0, 10, 20])] * 2)
    sizes = st.tuples(*[st.sampled_from([0, 5, 10, 15, 40])] * 2)
    boxes = st.builds(
        lambda corner, size: (*corner, corner[0] + size[0], corner[1] + size[1]), places, sizes
    )
    classes = st.sampled_from([0, 1, 3, UNKNOWN])
    flags = st.booleans()
    label = st.fixed_dictionaries(
        {
            "box": boxes,
            "class_index": classes,
            "is_crowd": flags,
            "difficult": flags,
            "group_of": flags,
            "area": st.sampled_from([0.0, 50.0, 1024.0, 9216.0]),
        }
    )
    find = st.fixed_dictionaries(
        {"box": boxes, "class_index": classes, "score": st.sampled_from([0.0, 0.25, 0.5, 1.0])}
    )
    image = st.tuples(st.lists(label, max_size=5), st.lists(find, max_size=6))
    return st.lists(image, max_size=4).map(_scene)


def _scene(images: list[tuple[list[dict], list[dict]]]) -> Scene:
    return Scene(
        len(images),
        labeled(
            [row | {"image": number} for number, (rows, _) in enumerate(images) for row in rows]
        ),
        found([row | {"image": number} for number, (_, rows) in enumerate(images) for row in rows]),
    )


def coco_numbers(scene: Scene, classes: Mapping[int, str] = CLASSES) -> CocoNumbers:
    """Ask pycocotools, with all classes and images at once."""
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = COCOeval(
            _coco(scene.images, classes, _labeled_annotations(scene.labeled)),
            _coco(scene.images, classes, _found_annotations(scene.found)),
            "bbox",
        )
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    precision = evaluation.eval["precision"][:, :, :, 0, 2]  # thresholds, recalls, classes
    return CocoNumbers(
        stats=list(evaluation.stats),
        ap={name: precision[:, :, k].mean() for k, name in enumerate(classes.values())},
        ap50={name: precision[0, :, k].mean() for k, name in enumerate(classes.values())},
    )


def _coco(images: int, classes: Mapping[int, str], annotations: list[dict]) -> COCO:
    coco = COCO()
    coco.dataset = {
        "images": [{"id": number} for number in range(images)],
        "categories": [{"id": number, "name": name} for number, name in classes.items()],
        "annotations": [each for each in annotations if each["category_id"] in classes],
    }
    coco.createIndex()
    return coco


def _labeled_annotations(objects: LabeledObjects) -> list[dict]:
    annotations = _annotations(objects)
    for annotation, area, is_crowd in zip(
        annotations, objects.areas, objects.is_crowd, strict=True
    ):
        annotation["area"] = float(area) or annotation["area"]
        annotation["iscrowd"] = int(is_crowd)
    return annotations


def _found_annotations(objects: FoundObjects) -> list[dict]:
    annotations = _annotations(objects)
    for annotation, score in zip(annotations, objects.scores, strict=True):
        annotation["score"] = float(score)
    return annotations


def _annotations(objects: LabeledObjects | FoundObjects) -> list[dict]:
    annotations = []
    rows = zip(objects.image, objects.boxes, objects.classes, strict=True)
    for number, (image, (top, left, bottom, right), class_index) in enumerate(rows, start=1):
        width, height = float(right - left), float(bottom - top)
        annotations.append(
            {
                "id": number,
                "image_id": int(image),
                "category_id": int(class_index) + 1,
                "bbox": [float(left), float(top), width, height],
                "area": width * height,
                "iscrowd": 0,
            }
        )
    return annotations

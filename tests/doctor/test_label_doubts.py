"""The ranking of doubtful labels, with a detector that errs as real ones do."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.doctor.label_doubts import doubt_labels, paired_areas
from holdfast.doctor.seen_by_model import SeenImage
from holdfast.doctor.whole_images import WholeImage

NAMES = np.array(["red", "white", "platelet"])
SIDES = {"red": 0.16, "white": 0.3, "platelet": 0.07}


def image_of(number: int, boxes: np.ndarray, names: np.ndarray) -> WholeImage:
    return WholeImage(f"{number}", ("f", number), b"", 480, 640, boxes, tuple(names.tolist()))


def blood(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Lay out cells as in a blood smear: a dozen, many of them touching each other."""
    names = random.choice(NAMES, size=int(random.integers(8, 16)), p=[0.84, 0.08, 0.08])
    sides = np.array([SIDES[name] for name in names]) * random.uniform(0.85, 1.15, len(names))
    centers = random.uniform(0.1, 0.9, (len(names), 2))
    halves = np.stack([sides * 0.6, sides * 0.45], axis=-1)
    boxes = np.concatenate([centers - halves, centers + halves], axis=-1)
    return boxes.astype(np.float32), names


def detections(
    boxes: np.ndarray, names: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Detect as a network does after a short training: most objects, some twice, some falsely."""
    sides = np.tile(boxes[:, 2:] - boxes[:, :2], 2)
    found = random.uniform(size=len(boxes)) > 0.12
    exact = boxes + random.normal(0, 0.06, boxes.shape) * sides
    scores = random.beta(6, 3, len(boxes))
    again = boxes + random.normal(0, 0.2, boxes.shape) * sides  # second boxes, not suppressed
    other = NAMES[random.integers(0, 3, len(boxes))]  # other classes at the same place, unsure
    false = np.sort(random.uniform(0, 1, (3, 2, 2)), axis=1).reshape(3, 4)
    every = np.concatenate([exact[found], again, exact, false]).astype(np.float32)
    labels = np.concatenate([names[found], names, other, NAMES[random.integers(0, 3, 3)]])
    certain = np.concatenate(
        [scores[found], random.beta(1, 8, 2 * len(boxes)), random.beta(2, 5, 3)]
    )
    order = np.argsort(-certain)
    return every[order], labels[order], certain[order].astype(np.float32)


def corrupt(
    boxes: np.ndarray, names: np.ndarray, index: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    boxes, names = boxes.copy(), names.copy()
    if random.uniform() < 0.5:
        names[index] = random.choice(NAMES[names[index] != NAMES])
        return boxes, names
    side = boxes[index, 2:] - boxes[index, :2]
    angle, distance = random.uniform(0, 2 * np.pi), random.uniform(0.5, 1.5)
    boxes[index] += np.tile(side * distance * np.array([np.sin(angle), np.cos(angle)]), 2)
    return boxes, names


@pytest.mark.parametrize("seed", range(3))
def test_wrong_labels_come_first(seed: int):
    random = np.random.default_rng(seed)
    images, wrong = [], set()
    for number in range(200):
        boxes, names = blood(random)
        seen = detections(boxes, names, random)
        for index in np.flatnonzero(random.uniform(size=len(boxes)) < 0.08).tolist():
            boxes, names = corrupt(boxes, names, index, random)
            wrong.add((number, index))
        found, labels, scores = seen
        images.append(
            SeenImage(image_of(number, boxes, names), found, tuple(labels.tolist()), scores)
        )
    first = doubt_labels(images).ranked[: len(wrong)]
    right = sum((int(each.image.name), each.label_index) in wrong for each in first)
    assert right / len(wrong) >= 0.75  # 0.6 is promised; 0.08 is chance


def test_every_label_is_ranked_once_and_agreement_is_no_candidate():
    random = np.random.default_rng(0)
    boxes, names = blood(random)
    image = image_of(0, boxes, names)
    seen = SeenImage(image, boxes, tuple(names.tolist()), np.full(len(boxes), 0.7, np.float32))
    doubts = doubt_labels([seen])
    assert sorted(each.label_index for each in doubts.ranked) == list(range(len(boxes)))
    assert doubts.candidates == ()
    assert doubts.unlabeled == ()
    assert doubts.found_share == 1.0


def test_a_sure_detection_without_label_is_an_object_and_no_doubt():
    boxes = np.array([[0.1, 0.1, 0.3, 0.3], [0.6, 0.6, 0.8, 0.8]], np.float32)
    seen = SeenImage(
        image_of(0, boxes[:1], NAMES[:1]), boxes, ("red", "red"), np.array([0.6, 0.9], np.float32)
    )
    doubts = doubt_labels([seen])
    assert doubts.candidates == ()
    assert [each.box.tolist() for each in doubts.unlabeled] == [boxes[1].tolist()]


def test_the_class_of_a_neighbor_with_a_label_of_its_own_counts_not():
    # A platelet on a red cell: two objects at one place, both labeled and both seen.
    boxes = np.array([[0.1, 0.1, 0.3, 0.3], [0.1, 0.1, 0.28, 0.3]], np.float32)
    names = np.array(["red", "platelet"])
    seen = SeenImage(
        image_of(0, boxes, names), boxes, ("red", "platelet"), np.array([0.9, 0.8], np.float32)
    )
    assert doubt_labels([seen]).candidates == ()


def test_without_labels_or_detections_there_is_nothing_to_doubt():
    none = np.zeros((0, 4), np.float32)
    empty = SeenImage(image_of(0, none, NAMES[:0]), none, (), np.zeros(0, np.float32))
    assert doubt_labels([empty]) == ((), (), 0.0)
    assert doubt_labels([]) == ((), (), 0.0)
    assert paired_areas([empty]) == []


def test_areas_are_compared_with_sure_detections():
    boxes = np.array([[0.1, 0.1, 0.3, 0.3]], np.float32)
    seen = SeenImage(
        image_of(0, boxes, NAMES[:1]),
        np.array([[0.1, 0.1, 0.3, 0.25]], np.float32),
        ("red",),
        np.array([0.6], np.float32),
    )
    np.testing.assert_allclose(paired_areas([seen]), [4 / 3], rtol=1e-4)

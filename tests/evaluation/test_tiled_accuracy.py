"""Tiling costs no accuracy: what an honest detector finds in tiles scores as in whole images."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.sources.open_source import open_source
from holdfast.evaluation.metrics.compared_objects import FoundObjects, LabeledObjects
from holdfast.evaluation.metrics.metrics_set import Evaluators, MetricsSet
from holdfast.geometry.image_tiles import Tiling, boxes_in_tile, tiles_of
from holdfast.models.inference.detections import Detections
from holdfast.models.inference.tiled_detection import merge_detections

IMAGES = 60
WIDTH = 2048
TILING = Tiling(size=640, overlap=0.2)
FEWEST = 0.15  # of an object, below which no detector would know it
JITTER = 0.02  # standard deviation of an edge, in sides of the object


@pytest.fixture(scope="module")
def scenes(shared):
    """Boxes in pixels and classes of blood cells, as if the images were enlarged to 2048 pixels."""
    source = open_source(str(shared / "datasets" / "bccd"), masks=False)
    found = []
    for entry in source.entries[:IMAGES]:
        sample = entry.read().sample
        boxes = np.clip(sample.boxes, 0, 1) * ([WIDTH * 3 // 4, WIDTH] * 2)
        is_sound = ((boxes[:, 2:] - boxes[:, :2]) > 1).all(axis=1)
        found.append((boxes[is_sound], sample.classes[is_sound]))
    return found


def jittered(boxes, draw):
    """Give edges that are a little off, and scores that say nothing of it."""
    sides = np.tile(boxes[:, 2:] - boxes[:, :2], 2)
    moved = boxes + draw.normal(0, JITTER, boxes.shape) * sides
    return moved.astype(np.float32), draw.uniform(0.3, 1.0, len(boxes)).astype(np.float32)


def in_tiles(boxes, classes, draw):
    """Detect in each tile what of the objects can be seen there."""
    height, width = WIDTH * 3 // 4, WIDTH
    tiles = tiles_of(height, width, TILING)
    found = []
    for tile in tiles:
        seen = boxes_in_tile(boxes / ([height, width] * 2), height, width, tile)
        seen = seen.chosen(seen.shares >= FEWEST)
        moved, scores = jittered(seen.boxes, draw)
        moved = np.clip(moved, 0, 1)
        found.append(
            Detections(
                moved[None],
                scores[None],
                classes[seen.rows][None],
                np.array([len(scores)], np.int32),
            )
        )
    most = max(int(each.count[0]) for each in found)
    padded = [
        Detections(
            *(
                np.pad(each[0], [(0, most - each.shape[1]), *[(0, 0)] * (each.ndim - 2)])[None]
                for each in one[:3]
            ),
            one.count,
        )
        for one in found
    ]
    merged = merge_detections(padded, tiles, height, width)
    return merged.boxes[0] * ([height, width] * 2), merged.scores[0], merged.classes[0]


def score(scenes, detect):
    evaluators = Evaluators(MetricsSet(classes={1: "RBC", 2: "WBC", 3: "Platelets"}))
    draw = np.random.default_rng(0)
    for number, (boxes, classes) in enumerate(scenes):
        none = np.zeros(len(boxes), bool)
        labeled = LabeledObjects(
            np.full(len(boxes), number, np.int32),
            boxes.astype(np.float32),
            classes,
            none,
            none,
            none,
            np.zeros(len(boxes), np.float32),
        )
        found, scores, kinds = detect(boxes, classes, draw)
        order = np.argsort(-scores)
        image = np.full(len(scores), number, np.int32)
        evaluators.add(labeled, FoundObjects(image, found[order], kinds[order], scores[order]))
    metrics, _ = evaluators.result()
    return metrics["DetectionBoxes_Precision/mAP"], metrics["DetectionBoxes_Precision/mAP@.50IOU"]


def whole(boxes, classes, draw):
    moved, scores = jittered(boxes, draw)
    return moved, scores, classes


def test_tiles_of_enlarged_blood_cells_score_as_the_whole_images(scenes):
    """Red cells are 330 pixels there, and tiles share 128: most are cut through by some edge."""
    untiled, untiled_50 = score(scenes, whole)
    tiled, tiled_50 = score(scenes, in_tiles)
    assert untiled_50 > 0.95  # the detector is good, and could lose something
    assert tiled_50 == pytest.approx(untiled_50, abs=0.02)
    assert tiled == pytest.approx(untiled, abs=0.02)

"""A whole evaluation, from record files to metrics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from holdfast.data.records.record_files import read_records
from holdfast.errors import HoldfastError
from holdfast.evaluation.build_evaluation import build_evaluation_input, build_metrics_set
from holdfast.evaluation.evaluate import evaluate_step
from holdfast.evaluation.evaluation_step import EvaluatedBatch, EvaluationStep
from holdfast.models.inference.detections import Detections

from .scenes import Scene, coco_numbers, found, labeled
from .setups import NUM_IMAGES, setup

MAP = "DetectionBoxes_Precision/mAP"
CLASSES = ("ellipse", "rectangle", "star", "triangle")
_SIDES = ("ymin", "xmin", "ymax", "xmax")


class FindsWhatIsLabeled:
    """A step that finds every object, its box moved by a part of its size."""

    def __init__(self, moved: float = 0.0) -> None:
        self.moved = moved

    def __call__(self, batch) -> EvaluatedBatch:
        boxes = batch.truth.boxes.numpy()
        sizes = boxes[..., 2:] - boxes[..., :2]
        boxes = boxes + self.moved * np.tile(sizes, 2)
        scores = np.ones(boxes.shape[:2], np.float32)
        return EvaluatedBatch(
            Detections(boxes, scores, batch.truth.classes, batch.truth.counts), {}
        )


def evaluate(made, step, **keywords):
    data = build_evaluation_input(made.config, made.records, made.statistics)
    return evaluate_step(step, data, build_metrics_set(made.config, made.records), **keywords)


def test_finding_what_is_labeled_scores_one(made):
    result = evaluate(made, FindsWhatIsLabeled())
    assert result.images == NUM_IMAGES
    assert result.metrics[MAP] == pytest.approx(1.0)
    assert result.metrics["PascalBoxes_Precision/mAP@0.5IOU"] == 1.0
    assert {name: score.ap for name, score in result.per_class.items()} == dict.fromkeys(
        CLASSES, pytest.approx(1.0)
    )
    assert sum(score.objects for score in result.per_class.values()) == made.statistics.boxes


def test_the_frame_does_not_depend_on_the_resizer(made, records_folder):
    padded = "keep_aspect_ratio_resizer { min_dimension: 40 max_dimension: 80 }"
    moved = FindsWhatIsLabeled(moved=0.07)
    fixed = evaluate(made, moved)
    kept = evaluate(setup(records_folder, resizer=padded), moved)
    assert 0.2 < fixed.metrics[MAP] < 0.9
    assert kept.metrics == pytest.approx(fixed.metrics, nan_ok=True)


def test_an_untrained_network_scores_what_pycocotools_says(made, detector):
    result = evaluate(made, EvaluationStep(detector))
    expected = coco_numbers(_scene_of(made.records.files, detector), dict(enumerate(CLASSES, 1)))
    values = [value for name, value in result.metrics.items() if name.startswith("Detection")]
    assert values == pytest.approx(expected.stats, abs=1e-6)
    assert {name: score.ap for name, score in result.per_class.items()} == pytest.approx(
        expected.ap, abs=1e-6
    )
    assert result.metrics["DetectionBoxes_Recall/AR@100"] > 0.0


def _scene_of(files, detector) -> Scene:
    """Read the records and run the network, without tf.data."""
    features = [
        tf.train.Example.FromString(serialized).features.feature
        for file in files
        for serialized in read_records(file)
    ]
    images = [tf.io.decode_jpeg(each["image/encoded"].bytes_list.value[0]) for each in features]
    inputs, sizes = detector.preprocess(images)
    detections = detector.detections(detector(inputs), sizes)
    labels, finds = [], []
    for number, (feature, image) in enumerate(zip(features, images, strict=True)):
        pixels = np.tile(image.shape[:2], 2)
        columns = [
            *(feature[f"image/object/bbox/{side}"].float_list.value for side in _SIDES),
            feature["image/object/class/label"].int64_list.value,
            feature["image/object/area"].float_list.value,
        ]
        for *box, class_id, area in zip(*columns, strict=True):
            place = {"image": number, "box": pixels * box, "class_index": class_id - 1}
            labels.append(place | {"area": area})
        boxes, scores, classes = (each[number].numpy() for each in detections[:3])
        for n in range(int(detections.count[number])):
            place = {"image": number, "box": pixels * boxes[n], "class_index": classes[n]}
            finds.append(place | {"score": scores[n]})
    return Scene(len(images), labeled(labels), found(finds))


def test_losses_are_means_over_the_real_images(made):
    class WithLoss(FindsWhatIsLabeled):
        def __call__(self, batch):
            first = int(batch.source_ids[0].numpy().decode() in ids[:4])
            return super().__call__(batch)._replace(losses={"Loss/total_loss": tf.constant(first)})

    data = build_evaluation_input(made.config, made.records, made.statistics)
    ids = [name.decode() for batch in data.batches() for name in batch.source_ids.numpy()]
    result = evaluate(made, WithLoss())
    assert result.metrics["Loss/total_loss"] == pytest.approx(4 / NUM_IMAGES)


def test_progress_counts_real_images(made):
    told = []
    evaluate(made, FindsWhatIsLabeled(), progress=lambda done, total: told.append((done, total)))
    assert told == [(4, 10), (8, 10), (10, 10)]


def test_data_that_changed_since_it_was_looked_at_is_an_error(made):
    data = build_evaluation_input(made.config, made.records, made.statistics)
    changed = replace(data, stream=replace(data.stream, num_records=20))
    metrics = build_metrics_set(made.config, made.records)
    with pytest.raises(HoldfastError, match="and its statistics say 20"):
        evaluate_step(FindsWhatIsLabeled(), changed, metrics)


def test_only_the_metrics_that_are_chosen_are_given(records_folder):
    chosen = setup(records_folder, evaluation='metrics_set: "pascal_voc_detection_metrics"')
    result = evaluate(chosen, FindsWhatIsLabeled())
    assert {name.split("_")[0] for name in result.metrics} == {"PascalBoxes"}
    assert result.per_class["star"].ap == pytest.approx(1.0)

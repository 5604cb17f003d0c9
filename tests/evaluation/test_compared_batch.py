from __future__ import annotations

import numpy as np

from holdfast.evaluation.build_evaluation import build_evaluation_input, build_metrics_set
from holdfast.evaluation.compared_batch import EvaluationShare, pack_batches, unpack_batches
from holdfast.evaluation.evaluate import compare_batches, evaluate_step, score_batches
from holdfast.evaluation.evaluation_step import EvaluatedBatch
from holdfast.evaluation.pasted_masks import MaskRuns
from holdfast.models.inference.detections import Detections


def finds_most(batch) -> EvaluatedBatch:
    """A step that finds what is labeled, a little beside, and has a loss."""
    truth = batch.truth
    scores = np.linspace(0.9, 0.1, truth.boxes.shape[1])[None] * np.ones((len(truth.boxes), 1))
    detections = Detections(truth.boxes.numpy() * 0.97, scores, truth.classes, truth.counts)
    return EvaluatedBatch(detections, {"Loss/total_loss": np.float32(scores.sum())})


def test_shares_of_several_processes_score_as_one_pass_does(made):
    data = build_evaluation_input(made.config, made.records, made.statistics)
    metrics = build_metrics_set(made.config, made.records)
    whole = evaluate_step(finds_most, data, metrics)
    sent = [
        pack_batches(compare_batches(finds_most, data, metrics, share=EvaluationShare(first, 3)))
        for first in range(3)
    ]
    batches = [batch for content in sent for batch in unpack_batches(content)]
    numbers = sorted(batch.number for batch in batches)
    assert numbers == list(range(len(numbers)))
    together = score_batches(sorted(batches, key=lambda each: each.number), data, metrics, 0.0)
    assert together.metrics == whole.metrics
    assert together.per_class == whole.per_class


def test_masks_travel_as_they_are(made):
    data = build_evaluation_input(made.config, made.records, made.statistics)
    metrics = build_metrics_set(made.config, made.records)
    batch = next(compare_batches(finds_most, data, metrics))
    masks = np.empty(len(batch.found.image), np.object_)
    for row in range(len(masks)):
        masks[row] = MaskRuns(40, 60, bytes([65 + row]) * row)
    batch = batch._replace(found=batch.found._replace(masks=masks))
    (back,) = unpack_batches(pack_batches([batch]))
    assert back.found.masks.tolist() == masks.tolist()
    assert back.labeled.masks is None
    assert unpack_batches(pack_batches([])) == []

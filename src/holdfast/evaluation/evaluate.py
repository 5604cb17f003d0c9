"""Evaluate a detector: one pass over the data, in memory that the detections alone let grow."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np

from holdfast.data.input.evaluation_input import EvaluationBatch, EvaluationInput
from holdfast.errors import HoldfastError
from holdfast.evaluation.evaluation_step import EvaluatedBatch
from holdfast.evaluation.metrics.compared_objects import found_objects, labeled_objects
from holdfast.evaluation.metrics.metrics_set import Evaluators, MetricsSet
from holdfast.evaluation.result import EvaluationResult
from holdfast.progress import Progress, silent

Step = Callable[[EvaluationBatch], EvaluatedBatch]


def evaluate_step(
    step: Step,
    data: EvaluationInput,
    metrics: MetricsSet,
    *,
    progress: Progress = silent,
) -> EvaluationResult:
    """Evaluate with a step that lives longer, so that it is not traced again each time."""
    start = time.perf_counter()
    evaluators = Evaluators(metrics)
    losses: defaultdict[str, float] = defaultdict(float)  # summed over images
    images = 0
    for batch in data.batches():
        detections, terms = step(batch)
        evaluators.add(
            labeled_objects(batch, images, metrics.shapes),
            found_objects(detections, batch, images, metrics.shapes),
        )
        real = int(np.count_nonzero(batch.is_real))
        for name, value in terms.items():
            losses[name] += float(value) * real
        images += real
        progress(images, data.num_images)
    if images != data.num_images:
        raise HoldfastError(
            f"The evaluation data has {images} images, and its statistics say {data.num_images}.",
            fix="Look at the data again with `holdfast inspect`.",
        )
    values, per_class = evaluators.result()
    return EvaluationResult(
        metrics=values | {name: total / images for name, total in losses.items()},
        per_class=per_class,
        images=images,
        seconds=time.perf_counter() - start,
    )

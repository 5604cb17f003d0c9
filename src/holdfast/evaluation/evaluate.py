"""Evaluate a detector: one pass over the data, in memory that the detections alone let grow."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np

from holdfast.data.evaluation_input import EvaluationBatch, EvaluationInput
from holdfast.errors import HoldfastError
from holdfast.evaluation.metrics_set import Evaluators, MetricsSet
from holdfast.evaluation.objects import found_objects, labelled_objects
from holdfast.evaluation.result import EvaluationResult
from holdfast.evaluation.step import Detector, EvaluationStep, StepResult

Progress = Callable[[int, int], None]  # images done, of all
Step = Callable[[EvaluationBatch], StepResult]


def evaluate_detector(
    detector: Detector,
    data: EvaluationInput,
    metrics: MetricsSet,
    *,
    with_loss: bool = False,
    progress: Progress = lambda done, total: None,
) -> EvaluationResult:
    """Evaluate a detector once; with_loss adds its mean loss terms to the metrics."""
    return evaluate_step(
        EvaluationStep(detector, with_loss=with_loss), data, metrics, progress=progress
    )


def evaluate_step(
    step: Step,
    data: EvaluationInput,
    metrics: MetricsSet,
    *,
    progress: Progress = lambda done, total: None,
) -> EvaluationResult:
    """Evaluate with a step that lives longer, so that it is not traced again each time."""
    start = time.perf_counter()
    evaluators = Evaluators(metrics)
    losses: defaultdict[str, float] = defaultdict(float)  # summed over images
    images = 0
    for batch in data.batches():
        detections, terms = step(batch)
        evaluators.add(labelled_objects(batch, images), found_objects(detections, batch, images))
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

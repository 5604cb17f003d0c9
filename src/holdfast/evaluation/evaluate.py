"""Evaluate a detector: one pass over the data, in memory that the detections alone let grow."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from holdfast.data.input.evaluation_input import EvaluationBatch, EvaluationInput
from holdfast.errors import HoldfastError
from holdfast.evaluation.compared_batch import WHOLE, ComparedBatch, EvaluationShare
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
    return score_batches(
        compare_batches(step, data, metrics, progress=progress), data, metrics, start
    )


def compare_batches(
    step: Step,
    data: EvaluationInput,
    metrics: MetricsSet,
    *,
    share: EvaluationShare = WHOLE,
    progress: Progress = silent,
) -> Iterator[ComparedBatch]:
    """Yield what is labeled and what is found, batch by batch, in all of the data or a share."""
    images = 0
    for turn, batch in enumerate(data.batches(*share)):
        number = share.first + turn * share.every
        detections, terms = step(batch)
        first_image = number * data.batch_size
        real = int(np.count_nonzero(batch.is_real))
        images += real
        yield ComparedBatch(
            number=number,
            images=real,
            labeled=labeled_objects(batch, first_image, metrics.shapes),
            found=found_objects(detections, batch, first_image, metrics.shapes),
            losses={name: float(value) * real for name, value in terms.items()},
        )
        progress(min(images * share.every, data.num_images), data.num_images)


def score_batches(
    batches: Iterable[ComparedBatch], data: EvaluationInput, metrics: MetricsSet, start: float
) -> EvaluationResult:
    """Give the metrics of all batches, in their order; start: when, by time.perf_counter."""
    evaluators = Evaluators(metrics)
    losses: defaultdict[str, float] = defaultdict(float)  # summed over images
    images = 0
    for batch in batches:
        evaluators.add(batch.labeled, batch.found)
        for name, value in batch.losses.items():
            losses[name] += value
        images += batch.images
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

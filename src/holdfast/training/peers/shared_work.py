"""Work that several processes share: statistics read once, each evaluation by all of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.build_input import open_reader
from holdfast.data.input.evaluation_input import EvaluationInput
from holdfast.data.survey.observe import Observation
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.evaluation.compared_batch import EvaluationShare, pack_batches, unpack_batches
from holdfast.evaluation.evaluate import Step, compare_batches, evaluate_step, score_batches
from holdfast.evaluation.metrics.metrics_set import MetricsSet
from holdfast.evaluation.result import ClassScore, EvaluationResult
from holdfast.progress import Progress
from holdfast.training.peers.present_peers import doing, first_one_first, present_peers


def read_statistics_once(config: TrainEvalPipelineConfig, folder: Path) -> None:
    """Let the first process look at all records; the others find in the cache what it found.

    Where they do not see its cache they look themselves, once it has.
    """
    if present_peers() is None:
        return
    readers = {"train_input_reader": config.train_input_reader}
    readers |= {"eval_input_reader": next(iter(config.eval_input_reader), None)}
    with first_one_first():
        for name, reader in readers.items():
            if reader is not None:
                records = open_reader(reader, folder, name=name)
                record_statistics(
                    records.files, records.layout, records.names, on_each=partial(_looked, name)
                )


def _looked(name: str, observation: Observation) -> None:
    doing(f"looks at the data of {name}")


def evaluate_together(
    step: Step, data: EvaluationInput, metrics: MetricsSet, progress: Progress
) -> EvaluationResult:
    """Evaluate, each process a share of the batches; all get the result, which the first computes.

    It is the result that one process alone would have: batches are the same, and in their order.
    """
    peers = present_peers()
    if peers is None:
        return evaluate_step(step, data, metrics, progress=progress)

    def moved(done: int, total: int) -> None:
        doing(f"evaluates (about {done} of {total} images by all)")
        progress(done, total)

    start = time.perf_counter()
    share = EvaluationShare(peers.index, peers.count)
    contents = peers.gather(
        pack_batches(compare_batches(step, data, metrics, share=share, progress=moved))
    )
    result = None
    if peers.is_chief:
        doing("computes the metrics of an evaluation")
        batches = [batch for content in contents for batch in unpack_batches(content)]
        in_order = sorted(batches, key=lambda batch: batch.number)
        result = score_batches(in_order, data, metrics, start)
    return _result(peers.exchange(None if result is None else asdict(result))[0])


def _result(document: Mapping[str, Any]) -> EvaluationResult:
    scores = {name: ClassScore(**each) for name, each in document["per_class"].items()}
    return EvaluationResult(**{**document, "per_class": scores})

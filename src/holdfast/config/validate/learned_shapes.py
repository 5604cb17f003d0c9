"""Masks and keypoints: whether the data that a detector learns and is judged by is read at all."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.facts.learned_fields import learned_fields
from holdfast.config.facts.networks import detector_of
from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import Problem

_METRICS = {"coco_mask_metrics": "masks", "coco_keypoint_metrics": "keypoints"}
_LOADED_BY = {"masks": "load_instance_masks", "keypoints": "num_keypoints"}
_FIXES = {"masks": "true", "keypoints": "how many each object has"}


def check_shapes(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield readers that do not load what is learned, and metrics of what is not found."""
    detector = detector_of(config.model) if config.model else None
    if detector is None:
        return
    learned = learned_fields(detector) & set(_LOADED_BY)
    evaluated = next(iter(config.eval_input_reader), None)
    for shape in sorted(learned):
        if config.train_input_reader is not None and not _loads(config.train_input_reader, shape):
            yield _unloaded("train_input_reader", shape, f"the detector learns {shape}")
        if evaluated is not None and not _loads(evaluated, shape):
            why = f"{shape} are not evaluated"
            yield _unloaded("eval_input_reader[0]", shape, why, is_error=False)
    for path, shape in _wanted(config.eval_config or EvalConfig()):
        if shape not in learned:
            instead = "coco_detection_metrics" if "metrics_set" in path else ""
            yield Problem(
                path=path,
                message=f"the detector finds no {shape}",
                fix=f"write {instead!r}, or remove it" if instead else "remove it",
                remedy=((path if instead else path.partition("[")[0], instead),),
            )


def _wanted(evaluation: EvalConfig) -> Iterator[tuple[str, str]]:
    """Yield the metrics of masks and keypoints that are chosen: where, and what they compare."""
    for index, name in enumerate(evaluation.metrics_set):
        if shape := _METRICS.get(name):
            yield f"eval_config.metrics_set[{index}]", shape
    for index, _ in enumerate(evaluation.parameterized_metric):
        yield f"eval_config.parameterized_metric[{index}]", "keypoints"


def _loads(reader: InputReader, shape: str) -> bool:
    return bool(getattr(reader, _LOADED_BY[shape]))


def _unloaded(path: str, shape: str, why: str, *, is_error: bool = True) -> Problem:
    setting = f"{path}.{_LOADED_BY[shape]}"
    return Problem(
        path=setting,
        severity="error" if is_error else "warning",
        message=f"the {shape} of the data are not read, so {why}"
        if not is_error
        else f"{why}, and those of the data are not read",
        fix=f"set {_LOADED_BY[shape]}: {_FIXES[shape]}",
        remedy=((setting, "true"),) if shape == "masks" else (),
    )

"""Settings of training and evaluation that Holdfast obeys differently, or cannot obey."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.message import Message
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.config.validate.value_ranges import METRICS
from holdfast.errors import Problem, nearest

COMPUTED_METRICS = (
    "coco_detection_metrics",
    "coco_mask_metrics",
    "coco_keypoint_metrics",
    "pascal_voc_detection_metrics",
    "oid_V2_detection_metrics",
)


class _Rule(NamedTuple):
    """What to say of a field that is set to anything but these values."""

    harmless: tuple[Any, ...]
    message: str
    fix: str = "remove it"
    severity: Literal["error", "warning"] = "warning"


_NOT_SUPPORTED = "Holdfast does not support it"

_TRAIN = {
    "sync_replicas": _Rule(
        (True,), "all devices work in lockstep here, as in the OD API's TF2 half"
    ),
    "startup_delay_steps": _Rule((0.0,), "all workers start together here"),
    "replicas_to_aggregate": _Rule(
        (1,),
        "the batch is divided among the devices that there are, and all of them take part",
        "remove it; several machines are named in TF_CONFIG",
    ),
    "keep_checkpoint_every_n_hours": _Rule(
        (10000.0,),
        "checkpoints are not kept by age: the newest and the best one are",
        "remove it, and choose how many with --keep",
    ),
    "merge_multiple_label_boxes": _Rule(
        (False,), _NOT_SUPPORTED, "remove it; each box has one class", "error"
    ),
    "use_multiclass_scores": _Rule(
        (False,), _NOT_SUPPORTED, "remove it; each box has one class", "error"
    ),
    "retain_original_images": _Rule(
        (False,),
        "images are not drawn while they are trained on",
        "remove it, and look at them with holdfast inspect",
    ),
    "summarize_gradients": _Rule(
        (False,), "histograms of gradients are not written; their norms always are"
    ),
}

_EVALUATION = {
    "eval_interval_secs": _Rule(
        (),
        "evaluations are counted in steps, not in seconds",
        "remove it, and choose with --evaluate-every",
    ),
    "save_graph": _Rule((False,), "the graph is not written"),
    "visualization_export_dir": _Rule(
        ("",),
        "pictures are written to the TensorBoard files of the run instead",
        "remove it, and look with tensorboard --logdir RUN/tensorboard",
    ),
    "keep_image_id_for_visualization_export": _Rule(
        (False,), "pictures are in the run's TensorBoard files, each with its image's name"
    ),
    "eval_master": _Rule(("",), "the process that trains is the one that evaluates"),
    "export_path": _Rule(("",), "detections are not exported"),
    "ignore_groundtruth": _Rule((False,), "an evaluation needs the ground truth"),
    "eval_instance_masks": _Rule(
        (False,),
        "metrics_set decides what is evaluated, as in the OD API",
        'remove it, and write metrics_set: "coco_mask_metrics"',
    ),
    "skip_scores": _Rule((False,), "pictures always show the scores"),
    "skip_labels": _Rule((False,), "pictures always show the names of the classes"),
    "visualize_groundtruth_boxes": _Rule(
        (True,), "pictures always show the ground truth, beside the detections"
    ),
    "groundtruth_box_visualization_color": _Rule(("black",), "boxes have the color of their class"),
    "recall_lower_bound": _Rule((0.0,), "Holdfast computes no metric with bounds of recall"),
    "recall_upper_bound": _Rule((1.0,), "Holdfast computes no metric with bounds of recall"),
    "retain_original_image_additional_channels": _Rule((False,), "images have three channels"),
    "use_dummy_loss_in_eval": _Rule((False,), "the true loss is computed"),
    "image_classes_field_map_empty_to_ones": _Rule(
        (True,), "which classes an image was checked for is not read: all of them count as checked"
    ),
}

# These change the metrics, and an evaluation refuses them too.
_EVALUATION_REFUSED = {
    "skip_predictions_for_unlabeled_class": _Rule(
        (False,), _NOT_SUPPORTED, "remove it, and label every class in every image", "error"
    ),
}


def check_obedience(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield what train_config and eval_config ask for in vain."""
    if config.train_config is not None:
        yield from _broken(config.train_config, _TRAIN, "train_config")
    if config.eval_config is not None:
        yield from _broken(config.eval_config, _EVALUATION, "eval_config")
        yield from unsupported_evaluation(config.eval_config)
        yield from _check_metrics(config.eval_config)
    yield from _check_averages(config)
    if len(config.eval_input_reader) > 1:
        yield Problem(
            path="eval_input_reader[1]",
            severity="warning",
            message="only the first eval_input_reader is evaluated",
            fix="name all files in the input_path of the first",
        )


def unsupported_evaluation(evaluation: EvalConfig) -> Iterator[Problem]:
    """Yield the settings that change the metrics and that Holdfast cannot obey."""
    return _broken(evaluation, _EVALUATION_REFUSED, "eval_config")


def _broken(message: Message, rules: Mapping[str, _Rule], path: str) -> Iterator[Problem]:
    for name, rule in rules.items():
        value = getattr(message, name)
        if message.has(name) and value not in rule.harmless:
            yield Problem(
                path=f"{path}.{name}" + ("[0]" if isinstance(value, tuple) else ""),
                severity=rule.severity,
                message=rule.message,
                fix=rule.fix,
                remedy=((f"{path}.{name}", ""),),
            )


def _check_metrics(evaluation: EvalConfig) -> Iterator[Problem]:
    for index, name in enumerate(evaluation.metrics_set):
        if name in METRICS and name not in COMPUTED_METRICS:
            instead = (*nearest(name, COMPUTED_METRICS), COMPUTED_METRICS[0])[0]
            place = f"eval_config.metrics_set[{index}]"
            yield Problem(
                path=place,
                message=_NOT_SUPPORTED,
                fix=f"write {instead!r}, or remove it",
                remedy=((place, instead),),
            )


def _check_averages(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    optimizer = (config.train_config or TrainConfig()).optimizer
    evaluation = config.eval_config or EvalConfig()
    if optimizer is None or optimizer.use_moving_average or not evaluation.use_moving_averages:
        return
    yield Problem(
        path="eval_config.use_moving_averages",
        severity="warning",
        message="the training keeps no averages that could be evaluated",
        fix="set use_moving_average: true in train_config.optimizer, or remove it",
    )

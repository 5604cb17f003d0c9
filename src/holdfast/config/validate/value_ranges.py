"""Single settings: values that are refused, have no effect, or mean something unexpected."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.config.schema.walk import walk
from holdfast.errors import Problem, nearest
from holdfast.registry import registered

CHECKPOINT_TYPES = ("classification", "detection", "full", "fine_tune")
METRICS = (
    "coco_detection_metrics",
    "coco_keypoint_metrics",
    "coco_mask_metrics",
    "coco_panoptic_metrics",
    "lvis_mask_metrics",
    "oid_V2_detection_metrics",
    "oid_challenge_detection_metrics",
    "oid_challenge_segmentation_metrics",
    "pascal_voc_detection_metrics",
    "pascal_voc_instance_segmentation_metrics",
    "precision_at_recall_detection_metrics",
    "weighted_pascal_voc_detection_metrics",
    "weighted_pascal_voc_instance_segmentation_metrics",
)
# Names that users' configs have: of older versions of the OD API, or never known to it.
_FORMER_METRICS = {
    "coco_metrics": "coco_detection_metrics",
    "open_images_metrics": "oid_V2_detection_metrics",
    "open_images_V2_detection_metrics": "oid_V2_detection_metrics",
    "pascal_voc_metrics": "pascal_voc_detection_metrics",
    "weighted_pascal_voc_metrics": "weighted_pascal_voc_detection_metrics",
}
_OWN = "; a metric of your own needs --import MODULE"


def check_settings(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield what single fields get wrong."""
    yield from _check_deprecated(config)
    if config.train_config is not None:
        yield from _check_train(config.train_config)
        yield from _check_checkpoint(config.train_config)
    if config.eval_config is not None:
        yield from _check_metrics(config.eval_config)


def _check_deprecated(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    for field in walk(config):
        if instead := field.owner.deprecated.get(field.spec.name):
            yield Problem(
                path=field.path,
                severity="warning",
                message=f"{field.spec.name} is deprecated and has no effect"
                if field.spec.name != "from_detection_checkpoint"
                else f"{field.spec.name} is deprecated",
                fix=instead,
            )


def _check_train(train: TrainConfig) -> Iterator[Problem]:
    if train.batch_size == 0:
        yield Problem(
            path="train_config.batch_size",
            message="a batch of 0 images",
            fix="write at least 1",
            remedy=(("train_config.batch_size", "8"),),
        )
    if train.num_steps == 0:
        yield Problem(
            path="train_config.num_steps",
            severity="warning",
            message="num_steps is not set: the training has no end",
            fix="set num_steps, or pass --steps",
        )
    if train.use_bfloat16:
        yield Problem(
            path="train_config.use_bfloat16",
            severity="warning",
            message="it has an effect on TPUs only, as in the OD API: elsewhere float32 is used",
            fix="choose with --precision mixed_bfloat16",
        )
    for index, step in enumerate(train.data_augmentation_options):
        if step.which("preprocessing_step") is None:
            yield Problem(
                path=f"train_config.data_augmentation_options[{index}]",
                message="no augmentation is named in it",
                fix="name one, e.g. random_horizontal_flip { }, or remove the block",
            )


def _check_checkpoint(train: TrainConfig) -> Iterator[Problem]:
    kind, path = train.fine_tune_checkpoint_type, "train_config.fine_tune_checkpoint_type"
    if kind and kind not in CHECKPOINT_TYPES:
        similar = nearest(kind, CHECKPOINT_TYPES)
        fix = f"write {similar[0]!r}" if similar else f"write one of {', '.join(CHECKPOINT_TYPES)}"
        yield Problem(
            path=path,
            message=f"{kind!r} is not a checkpoint type",
            fix=fix,
            remedy=((path, similar[0] if similar else "detection"),),
        )
    if train.fine_tune_checkpoint and not kind and not train.has("from_detection_checkpoint"):
        yield Problem(
            path=path,
            severity="warning",
            message="it is not set, which means 'classification', as in the OD API",
            fix='write "detection" to keep a detector\'s features, "classification" for a backbone',
        )
    if train.load_all_detection_checkpoint_vars:
        yield Problem(
            path="train_config.load_all_detection_checkpoint_vars",
            severity="warning",
            message="the OD API's TF2 half refuses it",
            fix='remove it and write fine_tune_checkpoint_type: "full"',
        )


def _check_metrics(evaluation: EvalConfig) -> Iterator[Problem]:
    for index, name in enumerate(evaluation.metrics_set):
        if name not in METRICS and registered("metric", name) is None:
            similar = nearest(name, METRICS) or METRICS
            place, instead = f"eval_config.metrics_set[{index}]", _FORMER_METRICS.get(name)
            yield Problem(
                path=place,
                message=f"there is no metric {name!r}",
                fix=f"write {instead!r}" if instead else f"write {similar[0]!r}{_OWN}",
                remedy=((place, instead or similar[0]),),
            )

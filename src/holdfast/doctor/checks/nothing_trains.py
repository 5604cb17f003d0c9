"""nothing-trains: what is frozen, or has no weight in the loss, cannot learn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.ssd import Ssd
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError

# Names that variables of the features and of the heads have in TF1's half of the OD API, in
# Holdfast and in TF2's checkpoints.
_FEATURES = (
    ("FeatureExtractor/Network/Conv/weights", "FirstStageFeatureExtractor/Network/Conv/weights"),
    ("backbone/conv/kernel", "neck/conv/kernel"),
    ("model/_feature_extractor/layer_with_weights-0/kernel",),
)
_HEADS = (
    (
        *("BoxPredictor_0/ClassPredictor/weights", "BoxPredictor_0/BoxEncodingPredictor/weights"),
        *("WeightSharedConvolutionalBoxPredictor/ClassPredictor/weights",),
        *("FirstStageBoxPredictor/ClassPredictor/weights", "SecondStageBoxPredictor/weights"),
    ),
    ("head/class/kernel", "head/box/kernel"),
    ("model/_box_predictor/_prediction_heads/class_predictions_with_background/kernel",),
)
_NAMINGS = tuple(zip(_FEATURES, _HEADS, strict=True))


@check("nothing-trains", about="config", needs=("train_config",))
def nothing_trains(case: Case) -> Iterator[Finding]:
    """Settings leave nothing to learn: all is frozen, the rate is 0, or a loss has no weight.

    Why it happens: a pattern in freeze_variables finds more than was meant (a pattern is found
    anywhere in a name: `.*` and an empty text find everything), update_trainable_variables names a
    part that does not decide, a learning rate of 0 is left from a trial, or a loss was switched
    off by its weight.

    How it is seen: the patterns are tried on the names that variables of the features and of the
    heads have, each in the first naming (TF1's, Holdfast's, TF2's) that it tells apart, as training
    does. All frozen is an error, and so is a frozen head that starts with fresh weights.

    What helps: freeze the features alone, by their scope (FeatureExtractor), or nothing.
    """
    yield from _frozen(case)
    yield from _without_rate(case)
    yield from _weightless(case)


def _frozen(case: Case) -> Iterator[Finding]:
    train = case.train_config
    update, freeze = train.update_trainable_variables, train.freeze_variables
    if not update and not freeze:
        return
    features, heads = (_is_trained(part, update, freeze) for part in (0, 1))
    if heads:
        return
    everything = not features
    starts_whole = train.fine_tune_checkpoint_type in ("full", "fine_tune")
    yield Finding(
        code="nothing-trains",
        severity="error" if everything or not starts_whole else "warning",
        what="freeze_variables and update_trainable_variables leave "
        + ("nothing to train." if everything else "the heads untrained."),
        why="What is frozen stays as it is: a head that begins with fresh weights never finds "
        "anything.",
        evidence={"freeze_variables": list(freeze), "update_trainable_variables": list(update)},
        fix=Fix(
            text='Freeze nothing, or only the features: freeze_variables: "FeatureExtractor".',
            set={
                f"train_config.{name}": ""
                for name, patterns in (
                    ("freeze_variables", freeze),
                    ("update_trainable_variables", update),
                )
                if patterns
            },
        ),
    )


def _is_trained(part: int, update: Sequence[str], freeze: Sequence[str]) -> bool:
    """Tell whether training changes the features (0) or the heads (1)."""

    def found(patterns: Sequence[str], at: int) -> list[bool]:
        read = [pattern for pattern in patterns if _naming(pattern) == at]
        return [any(_search(pattern, name) for pattern in read) for name in _NAMINGS[at][part]]

    places = range(len(_NAMINGS))
    is_updated = not update or any(any(found(update, at)) for at in places)
    return is_updated and not any(all(found(freeze, at)) for at in places)


def _naming(pattern: str) -> int | None:
    """Choose the naming that training reads a pattern in; None where it finds nothing."""
    everything = None
    for at, (features, heads) in enumerate(_NAMINGS):
        found = [_search(pattern, name) for name in (*features, *heads)]
        if any(found) and not all(found):
            return at
        if all(found) and everything is None:
            everything = at
    return everything


def _search(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False  # `holdfast train` refuses it


def _without_rate(case: Case) -> Iterator[Finding]:
    try:
        curve = case.rate_curve
    except MissingError:
        return
    if curve.peak > 0:
        return
    yield Finding(
        code="nothing-trains",
        severity="error",
        what="The learning rate is 0 during the whole run.",
        why="Steps without a learning rate change nothing.",
        evidence={"highest_rate": curve.peak, "num_steps": curve.num_steps},
        fix=Fix(text=f"Set the rates below {curve.path}."),
    )


def _weightless(case: Case) -> Iterator[Finding]:
    try:
        detector, place = case.detector, case.detector_path
    except MissingError:
        return
    match detector:
        case Ssd(loss=loss) if loss is not None:
            place = f"{place}.loss"
            weights = {
                "classification_weight": loss.classification_weight,
                "localization_weight": loss.localization_weight,
            }
        case FasterRcnn():
            names = (
                *("first_stage_localization_loss_weight", "first_stage_objectness_loss_weight"),
                "second_stage_localization_loss_weight",
                *("second_stage_classification_loss_weight", "second_stage_balance_fraction"),
            )
            weights = {name: getattr(detector, name) for name in names}
        case CenterNet():
            weights = _of_centers(detector)
        case _:
            return
    idle = [name for name, weight in weights.items() if weight <= 0]
    if idle:
        yield Finding(
            code="nothing-trains",
            severity="error",
            what=f"{' and '.join(idle)} {'is' if len(idle) == 1 else 'are'} not above 0: that part "
            "of the detector learns nothing.",
            why="A loss without weight gives no gradient: boxes or classes stay what chance made "
            "them.",
            evidence=dict(weights),
            fix=Fix(text="Set it to 1.", set={f"{place}.{name}": "1.0" for name in idle}),
        )


def _of_centers(detector: CenterNet) -> dict[str, float]:
    center, task = detector.object_center_params, detector.object_detection_task
    weights = {}
    if center is not None:
        name = "object_center_loss_weight"
        weights[f"object_center_params.{name}"] = center.object_center_loss_weight
    if task is not None:
        for name in ("task_loss_weight", "offset_loss_weight", "scale_loss_weight"):
            weights[f"object_detection_task.{name}"] = getattr(task, name)
    return weights

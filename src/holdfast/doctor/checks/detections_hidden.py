"""detections-hidden: what the network finds does not come through to the metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.post_processing import (
    BatchNonMaxSuppression,
    PostProcessing,
    ScoreConverter,
)
from holdfast.config.schema.ssd import Ssd
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix, Severity
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.network_facts import post_processing

if TYPE_CHECKING:
    from holdfast.runs.json_text import JsonValue

# Published: 1e-8, 0 and, among users, 0.3. Scores of a detector trained with focal loss are seldom
# above 0.7, so that a threshold of 0.5 cuts most of the curve that mAP is the area of.
_HIGH_SCORE, _ALL_HIDDEN_SCORE = 0.45, 0.8
# Published: 0.5 and 0.6. Below 0.2 neighbors remove each other, from 0.95 on nothing is removed.
_LOW_IOU, _NO_IOU = 0.2, 0.95
_FEW_PROPOSALS = 10  # published: 32 to 500


@check("detections-hidden", about="config", needs=("detector",))
def detections_hidden(case: Case) -> Iterator[Finding]:
    """Thresholds or limits hide what the network finds.

    Why it happens: a score threshold that was meant for pictures stands in post_processing, where
    it also decides what is evaluated; limits on the number of detections are lower than the number
    of objects in an image; suppression removes neighbors; or score_converter, whose default is
    IDENTITY, was left out. The loss falls, and mAP stays low.

    How it is seen: score_threshold, iou_threshold, max_detections_per_class and
    max_total_detections of the config, compared with what was published and, where there is data,
    with the most boxes in an image.

    What helps: a score threshold of 1e-8 for training and evaluation. Choose one for pictures when
    you look at them.
    """
    placed = post_processing(case.detector)
    if placed is not None and placed[1].batch_non_max_suppression is not None:
        place = f"{case.detector_path}.{placed[0]}.batch_non_max_suppression"
        suppression = placed[1].batch_non_max_suppression
        yield from _scores(suppression, place)
        yield from _limits(case, suppression, place)
        yield from _neighbors(suppression, place)
        yield from _logits(case, placed[1])
    if isinstance(case.detector, FasterRcnn):
        yield from _proposals(case.detector, case.detector_path)
    if isinstance(case.detector, CenterNet):
        yield from _peaks(case, case.detector, case.detector_path)


def _scores(suppression: BatchNonMaxSuppression, place: str) -> Iterator[Finding]:
    threshold = suppression.score_threshold
    if threshold >= _HIGH_SCORE:
        yield _hidden(
            "error" if threshold >= _ALL_HIDDEN_SCORE else "warning",
            f"Detections with a score below {threshold:g} are dropped before they are evaluated.",
            {"score_threshold": threshold},
            Fix(text="Set it to 1e-8, as published.", set={f"{place}.score_threshold": "1e-8"}),
        )


def _limits(case: Case, suppression: BatchNonMaxSuppression, place: str) -> Iterator[Finding]:
    total, of_class = suppression.max_total_detections, suppression.max_detections_per_class
    most, most_of_class = _most_boxes(case), _most_of_a_class(case)
    wanted = max(100, most or 0)
    if min(total, of_class) < 1:
        severity: Severity = "error"
        what = f"No detection comes through: the limits are {total} in all, {of_class} of a class."
    elif most is not None and total < most:
        severity = "warning"
        what = f"At most {total} detections come through, and an image has up to {most} objects."
    elif most_of_class is not None and of_class < most_of_class:
        severity = "warning"
        what = (
            f"At most {of_class} detections of a class come through, and an image has up to "
            f"{most_of_class} objects of one."
        )
    else:
        return
    yield _hidden(
        severity,
        what,
        {
            "max_total_detections": total,
            "max_detections_per_class": of_class,
            "most_boxes_in_an_image": most,
            "most_boxes_of_a_class": most_of_class,
        },
        Fix(
            text=f"Let {wanted} through.",
            set={
                f"{place}.max_total_detections": str(max(total, wanted)),
                f"{place}.max_detections_per_class": str(max(of_class, wanted)),
            },
        ),
    )


def _neighbors(suppression: BatchNonMaxSuppression, place: str) -> Iterator[Finding]:
    threshold = suppression.iou_threshold
    if _LOW_IOU <= threshold < _NO_IOU:
        return
    what = (
        f"Of two boxes that overlap by an IoU of {threshold:g}, one is removed: neighbors, too."
        if threshold < _LOW_IOU
        else f"Boxes are duplicates only from an IoU of {threshold:g} on: hardly any is removed."
    )
    yield _hidden(
        "warning",
        what,
        {"iou_threshold": threshold},
        Fix(text="Set it to 0.6, as published.", set={f"{place}.iou_threshold": "0.6"}),
    )


def _logits(case: Case, settings: PostProcessing) -> Iterator[Finding]:
    if settings.score_converter is not ScoreConverter.IDENTITY:
        return
    is_single = isinstance(case.detector, Ssd)
    field = "post_processing" if is_single else "second_stage_post_processing"
    converter = "SIGMOID" if is_single else "SOFTMAX"
    yield _hidden(
        "error",
        "score_converter is IDENTITY: scores are the network's raw outputs, most of them negative.",
        {"score_converter": "IDENTITY"},
        Fix(
            text=f"Set it to {converter}: scores then lie between 0 and 1.",
            set={f"{case.detector_path}.{field}.score_converter": converter},
        ),
    )


def _proposals(detector: FasterRcnn, place: str) -> Iterator[Finding]:
    yield from _overlapping_proposals(detector.first_stage_nms_iou_threshold, place)
    most, threshold = detector.first_stage_max_proposals, detector.first_stage_nms_score_threshold
    if most >= _FEW_PROPOSALS and threshold < _HIGH_SCORE:
        return
    yield _hidden(
        "error" if most < 1 or threshold >= _ALL_HIDDEN_SCORE else "warning",
        f"The second stage sees at most {most} proposals, of a score of {threshold:g} or more.",
        {"first_stage_max_proposals": most, "first_stage_nms_score_threshold": threshold},
        Fix(
            text="Let 300 proposals through, whatever their score.",
            set={
                f"{place}.first_stage_max_proposals": "300",
                f"{place}.first_stage_nms_score_threshold": "0.0",
            },
        ),
    )


def _overlapping_proposals(threshold: float, place: str) -> Iterator[Finding]:
    if _LOW_IOU <= threshold < _NO_IOU:
        return
    what = (
        f"Of two proposals that overlap by an IoU of {threshold:g} the second stage sees one: "
        "neighbors are lost."
        if threshold < _LOW_IOU
        else f"Proposals are duplicates only from an IoU of {threshold:g} on: most show the same."
    )
    yield _hidden(
        "warning",
        what,
        {"first_stage_nms_iou_threshold": threshold},
        Fix(
            text="Set it to 0.7, as published.",
            set={f"{place}.first_stage_nms_iou_threshold": "0.7"},
        ),
    )


def _peaks(case: Case, detector: CenterNet, place: str) -> Iterator[Finding]:
    center, most = detector.object_center_params, _most_boxes(case)
    limit = center.max_box_predictions if center is not None else 100
    if limit >= 1 and (most is None or limit >= most):
        return
    wanted = max(100, most or 0)
    yield _hidden(
        "error" if limit < 1 else "warning",
        f"At most {limit} detections come through"
        + (f", and an image has up to {most} objects." if most else "."),
        {"max_box_predictions": limit, "most_boxes_in_an_image": most},
        Fix(
            text=f"Let {wanted} through.",
            set={f"{place}.object_center_params.max_box_predictions": str(wanted)},
        ),
    )


def _hidden(severity: Severity, what: str, evidence: Mapping[str, JsonValue], fix: Fix) -> Finding:
    return Finding(
        code="detections-hidden",
        severity=severity,
        what=what,
        why="Metrics see only what comes through: mAP is low, whatever the network has learned.",
        evidence=evidence,
        fix=fix,
    )


def _most_boxes(case: Case) -> int | None:
    try:
        counts = case.train.statistics.boxes_per_image
    except MissingError:
        return None
    return counts.maximum if counts is not None else None


def _most_of_a_class(case: Case) -> int | None:
    try:
        images = case.train.images
    except MissingError:
        return None
    counts = (Counter(image.class_names).most_common(1) for image in images)
    return max((most[0][1] for most in counts if most), default=None)

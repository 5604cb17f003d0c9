"""localization-stuck: classes are learned, boxes are not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.curves import Values, change, first_level, last_level
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.history import PRECISION_AT_HALF, History, metric_of
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.learning import BOX_TERMS, CLASS_TERMS, evaluations_of, terms_like

_FEWEST = 300  # steps at the full rate
_HARDLY = 0.8  # of the beginning, surely more than that is left of the boxes' terms
_LEARNED = 0.6  # of the beginning, surely less than that is left of the classes' terms
_STRICT = ("DetectionBoxes_Precision/mAP@.75IOU",)
_PLACED = 0.15  # mAP at 0.75 over mAP at 0.5: boxes are where they belong
_FIRST_STAGE = "rpnloss/localization"
_FOUND = 0.3  # mAP at IoU 0.5


@check("localization-stuck", about="run", needs=("history",))
def localization_stuck(case: Case) -> Iterator[Finding]:
    """The terms about classes fall, those about boxes do not.

    Why it happens: boxes whose axes are swapped or that are shifted against the images, an
    augmentation that moves images but not boxes, a localization weight of almost 0, anchors that
    fit so badly that few boxes are learned from, or a coder with other scale factors than its loss
    expects.

    How it is seen: after 300 steps at the full rate surely more than 0.8 of the first localization
    loss is left, and surely less than 0.6 of the classification loss. A run whose boxes evaluate
    well (mAP at IoU 0.5 of 0.3, or at 0.75 a sixth of it) is left alone.

    What helps: look at boxes on images (`holdfast inspect`); boxes-suspicious, anchors-miss-boxes.
    """
    history = case.history
    if int(history.full_rate.sum()) < _FEWEST or history.is_warming_up:
        return
    boxes, classes = _sum(history, _box_terms(history)), _sum(history, CLASS_TERMS)
    if boxes is None or classes is None:
        raise MissingError("the losses have no terms of boxes and classes that are told apart")
    left, learned = (change(first_level(each), last_level(each)) for each in (boxes, classes))
    if left.least < _HARDLY or learned.most > _LEARNED or _is_placed(case):
        return
    yield Finding(
        code="localization-stuck",
        severity="error",
        what=f"{left.ratio:.0%} of the first localization loss is left, but only "
        f"{learned.ratio:.0%} of the loss of classes.",
        why="The network sees what is there, and cannot tell where: boxes do not go with the "
        "images, or their term counts for nothing.",
        evidence={
            "localization_first": float(np.median(first_level(boxes))),
            "localization_now": float(np.median(last_level(boxes))),
            "classification_first": float(np.median(first_level(classes))),
            "classification_now": float(np.median(last_level(classes))),
            "steps": history.range_text(0, -1),
        },
        fix=Fix(
            text="Look at boxes on images: `holdfast inspect`. If they are right, raise "
            "loss.localization_weight, and refit the anchors with `holdfast adapt`."
        ),
    )


def _box_terms(history: History) -> tuple[str, ...]:
    """Choose the first stage of two: the second one's loss rises with the proposals it gets."""
    has_stages = bool(terms_like(list(history.terms), _FIRST_STAGE))
    return (_FIRST_STAGE,) if has_stages else BOX_TERMS


def _sum(history: History, words: tuple[str, ...]) -> Values | None:
    names = terms_like(list(history.terms), *words)
    total = np.sum([history.terms[name] for name in names], axis=0) if names else np.zeros(1)
    return total if np.median(total) > 0 else None


def _is_placed(case: Case) -> bool:
    evaluations = evaluations_of(case)
    if not evaluations:
        return False
    at_half = metric_of(evaluations[-1], PRECISION_AT_HALF) or 0.0
    strict = metric_of(evaluations[-1], _STRICT) or 0.0
    return at_half >= _FOUND or (at_half > 0.05 and strict >= _PLACED * at_half)

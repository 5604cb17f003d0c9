"""detections-zero: the loss falls, and still nothing is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.curves import change, first_level, last_level
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.history import PRECISION_AT_HALF, TOTAL, metric_of
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.learning import (
    BOX_TERMS,
    CLASS_TERMS,
    batch_norm_drifts,
    lately,
    positive_score,
    terms_like,
    vitals_of,
)
from holdfast.doctor.network_facts import post_processing
from holdfast.doctor.rate_fix import doctor_command, scaled_rate
from holdfast.runs.events import Event

_NOTHING = 0.005  # mAP at IoU 0.5
_FELL = 0.7  # of the first loss, surely less than that is left
_EARLY_STEPS, _EARLY_SHARE = 300, 0.1  # steps, or of the planned ones
_KNOWS = 0.3  # score of the right class in training, where an object is
_WORSE = 2.0  # times the training loss


class _Cause(NamedTuple):
    name: str
    why: str
    fix: Fix


@check("detections-zero", about="run", needs=("history", "evaluations"))
def detections_zero(case: Case) -> Iterator[Finding]:
    """MAP stays at zero although the loss falls.

    Why it happens, and how the causes are told apart:
    - too early: 300 steps, or a tenth of the run, are not done yet;
    - background collapse: where objects are, the right class scores below 0.05 in training;
    - thresholds: training scores are good, but score_threshold is above them, or no detection is
      kept;
    - label map: the maps of training and evaluation name other classes for the same ids, or in the
      evaluation only the loss of classes is far worse than in training;
    - batch norm: in the evaluation all terms are far worse than in training, or the moving
      statistics are far from the batches';
    - otherwise it is not known, and the pictures of the evaluations in the run's folder show most.

    How it is seen: mAP at IoU 0.5 of the last evaluation is below 0.005, and the training loss has
    surely fallen to less than 0.7 of its beginning.

    What helps: it depends on the cause, which is in the evidence.
    """
    last = case.evaluations[-1]
    precision = metric_of(last, PRECISION_AT_HALF)
    loss = case.history.loss
    fell = change(first_level(loss), last_level(loss))
    if precision is None or precision >= _NOTHING or fell.most > _FELL:
        return
    ratios = _ratios(case, last)
    cause = next(found for each in _CAUSES if (found := each(case, last, ratios)) is not None)
    yield Finding(
        code="detections-zero",
        severity="note" if cause.name == "too early" else "error",
        what=f"After step {last.step} mAP at IoU 0.5 is {precision:.3f}, although the loss has "
        f"fallen to {fell.ratio:.0%}. Probable cause: {cause.name}.",
        why=cause.why,
        evidence={
            "cause": cause.name,
            "map_50": precision,
            "loss_first": float(np.median(first_level(loss))),
            "loss_now": float(np.median(last_level(loss))),
            "evaluation_over_training_loss": ratios.total,
            "of_classes": ratios.classes,
            "of_boxes": ratios.boxes,
            "positive_mean_score": positive_score(case),
        },
        fix=cause.fix,
    )


class _Ratios(NamedTuple):
    """Losses of the evaluation over those of training at that time; None: not known."""

    total: float | None
    classes: float | None
    boxes: float | None


def _ratios(case: Case, evaluation: Event) -> _Ratios:
    terms = case.history.terms
    return _Ratios(
        _ratio(case, evaluation, [name for name in terms if name != TOTAL]),
        _ratio(case, evaluation, terms_like(list(terms), *CLASS_TERMS)),
        _ratio(case, evaluation, terms_like(list(terms), *BOX_TERMS)),
    )


def _ratio(case: Case, evaluation: Event, names: list[str]) -> float | None:
    evaluated = [metric_of(evaluation, (name,)) for name in names]
    if not names or any(value is None for value in evaluated):
        return None
    end = int(np.searchsorted(case.history.steps, evaluation.step, side="right"))
    recent = slice(max(end - 50, 0), max(end, 1))
    trained = sum(float(np.median(case.history.terms[name][recent])) for name in names)
    return sum(value or 0.0 for value in evaluated) / max(trained, 1e-12)


def _too_early(case: Case, last: Event, ratios: _Ratios) -> _Cause | None:
    least = max(_EARLY_STEPS, _EARLY_SHARE * (case.planned_steps or 0))
    score = positive_score(case)
    if last.step >= least or (score or 0.0) >= _KNOWS:
        return None
    text = "Wait for the next evaluations."
    return _Cause(
        "too early", "The first detections come after some hundred steps.", Fix(text=text)
    )


def _collapse(case: Case, last: Event, ratios: _Ratios) -> _Cause | None:
    score = positive_score(case)
    if score is None or score >= 0.05:
        return None
    return _Cause(
        "background collapse",
        f"Where objects are, the right class scores {score:.3f} in training: all is background.",
        Fix(text="See background-collapse.", set=scaled_rate(case, 0.1)),
    )


def _thresholds(case: Case, last: Event, ratios: _Ratios) -> _Cause | None:
    limit = _score_threshold(case)
    score = positive_score(case)
    if limit is None or limit[1] < 0.2 or (score is not None and score > limit[1] + 0.2):
        return None
    return _Cause(
        "thresholds",
        f"Detections that score below {limit[1]:.2g} are dropped, and hardly any scores more.",
        Fix(text="Lower the threshold: mAP wants all detections.", set={limit[0]: "1e-8"}),
    )


def _label_map(case: Case, last: Event, ratios: _Ratios) -> _Cause | None:
    maps = _maps_differ(case)
    boxes, classes = ratios.boxes, ratios.classes
    only_classes = (
        boxes is not None and classes is not None and boxes < 1.5 and classes > 1.5 * _WORSE
    )
    if not maps and not only_classes:
        return None
    why = (
        "The label maps of training and evaluation differ."
        if maps
        else ("In the evaluation boxes are as good as in training, and classes are not.")
    )
    fix = Fix(
        text="Give both readers the same label_map_path, the one the records were made with.",
        command=doctor_command(case, "--only", "label-shift,classes-mismatch"),
    )
    return _Cause("label map", why, fix)


def _batch_norm(case: Case, last: Event, ratios: _Ratios) -> _Cause | None:
    drift = max(batch_norm_drifts(case, vitals_of(case)).values(), default=0.0)
    if (ratios.total or 0.0) < _WORSE and drift < 1.0:
        return None
    return _Cause(
        "batch norm",
        "Evaluated with the moving statistics of batch norm, the network is far worse than with "
        "the batches': they have not followed.",
        Fix(text="Let them follow faster: batch_norm { decay: 0.95 } in conv_hyperparams."),
    )


def _unknown(case: Case, last: Event, ratios: _Ratios) -> _Cause | None:
    agreement = lately(vitals_of(case), "scores", "positive_agreement")
    hint = "" if agreement is None else f" In training {agreement:.0%} of the classes are right."
    text = "Look at the pictures of the last evaluation in the run's folder."
    return _Cause("not known", f"None of the usual causes shows.{hint}", Fix(text=text))


_CAUSES: tuple[Callable[[Case, Event, _Ratios], _Cause | None], ...] = (
    *(_too_early, _collapse, _thresholds, _label_map, _batch_norm, _unknown),
)


def _score_threshold(case: Case) -> tuple[str, float] | None:
    """Give the path and value of the threshold below which detections are dropped."""
    try:
        detector, path = case.detector, case.detector_path
    except MissingError:
        return None
    found = post_processing(detector)
    suppression = found[1].batch_non_max_suppression if found is not None else None
    if found is None or suppression is None:
        return None
    field = f"{path}.{found[0]}.batch_non_max_suppression.score_threshold"
    return field, suppression.score_threshold


def _maps_differ(case: Case) -> bool:
    try:
        train, evaluation = case.label_maps
    except MissingError:
        return False
    if train is None or evaluation is None:
        return False
    named = [{item.id: item.name for item in each.item} for each in (train, evaluation)]
    return any(named[1].get(key, name) != name for key, name in named[0].items())

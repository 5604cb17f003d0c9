from __future__ import annotations

import pytest
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import BOXES, CLASSES, evaluation, healthy_steps, run_case, vitals

from holdfast.config.schema.label_map_items import StringIntLabelMap, StringIntLabelMapItem
from holdfast.doctor.case import Case, LabelMaps

ALIKE = {CLASSES: 0.33, BOXES: 0.22}
FEWER = "model.ssd.post_processing.batch_non_max_suppression.score_threshold"


def label_map(first: int) -> StringIntLabelMap:
    names = enumerate(("cat", "dog", "yak"), first)
    items = (StringIntLabelMapItem(id=number, name=name) for number, name in names)
    return StringIntLabelMap(item=tuple(items))


def case_with(
    losses: dict[str, float], step: int = 1000, score: float | None = 0.5, **overrides
) -> Case:
    looks = [] if score is None else [vitals(at, positive_mean=score) for at in (300, 600, 900)]
    events = [*healthy_steps(max(step, 150)), evaluation(step, 0.0, losses=losses), *looks]
    return run_case(events, overrides={FEWER: overrides.get("threshold", 1e-8)})


def shifted() -> Case:
    case = case_with(ALIKE, score=None)
    case.label_maps = LabelMaps(label_map(1), label_map(2))
    return case


CAUSES = {
    "too early": case_with(ALIKE, step=200, score=None),
    "background collapse": case_with(ALIKE, score=0.01),
    "thresholds": case_with(ALIKE, score=None, threshold=0.6),
    "batch norm": case_with({CLASSES: 3.0, BOXES: 1.4}),
    "label map": case_with({CLASSES: 2.5, BOXES: 0.2}),
    "not known": case_with(ALIKE),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_is(cause: str):
    finding = found(CAUSES[cause], "detections-zero")
    assert finding is not None
    assert finding.evidence["cause"] == cause
    assert finding.severity == ("note" if cause == "too early" else "error")


def test_label_maps_that_disagree_are_named():
    finding = found(shifted(), "detections-zero")
    assert finding is not None
    assert finding.evidence["cause"] == "label map"


def test_a_first_detection_is_enough():
    case = run_case([*healthy_steps(1000), evaluation(1000, 0.02)])
    assert found(case, "detections-zero") is None

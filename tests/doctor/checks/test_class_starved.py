from __future__ import annotations

import pytest
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import evaluation, run_case, vitals


def evaluated(rare: float, objects: int):
    scores = {"cat": (0.6, 200), "dog": (0.5, 180), "yak": (rare, objects)}
    return [evaluation(step, 0.4, per_class=scores) for step in (500, 1000)]


def test_a_class_that_is_never_found_is_told_with_what_it_had():
    looks = [vitals(at, boxes={"cat": 500, "dog": 400, "yak": 42}) for at in (100, 200)]
    finding = found(run_case([*evaluated(0.0, 12), *looks]), "class-starved")
    assert finding is not None
    row = finding.evidence["classes"][0]
    assert (row["class"], row["boxes_learned_from"]) == ("yak", 84)
    assert "--class-weights" in finding.fix.command


@pytest.mark.parametrize(("rare", "objects"), [(0.15, 12), (0.0, 2)])
def test_a_class_that_is_found_now_and_then_or_hardly_there_is_not(rare: float, objects: int):
    assert found(run_case(evaluated(rare, objects)), "class-starved") is None

from __future__ import annotations

import json

import pytest

from holdfast.errors import HoldfastError
from holdfast.memory.plan import BlockActivation, MemoryPlan, StepSettings, read_plan

PLAN = MemoryPlan(
    fits=True,
    limit_bytes=8 << 30,
    base_bytes=500 << 20,
    predicted_peak_bytes=300,
    items={"weights": 100, "activations/backbone/conv": 200},
    settings=StepSettings(micro_batch=4, accumulation=2, rematerialize=("backbone/conv",)),
    assumptions=("100 boxes",),
    predicted_step_flops=10**12,
    largest_activations=(
        BlockActivation(
            layer="backbone/conv", operation="Conv2D", shape=(4, 10, 10, 3), bytes=4800
        ),
    ),
)


def test_a_plan_survives_json() -> None:
    assert read_plan(json.loads(json.dumps(PLAN.document()))) == PLAN


def test_the_document_has_the_keys_other_tools_rely_on() -> None:
    document = PLAN.document()
    keys = ["fits", "limit_bytes", "base_bytes", "predicted_peak_bytes", "items", "settings"]
    assert {*keys, "assumptions", "predicted_step_flops"} <= document.keys()
    assert "measured_peak_bytes" not in document
    assert document["settings"] == {
        "micro_batch": 4,
        "accumulation": 2,
        "precision": "float32",
        "rematerialize": ["backbone/conv"],
        "region_chunks": 1,
    }


def test_a_plan_made_before_there_were_chunks_is_read() -> None:
    document = PLAN.document()
    del document["settings"]["region_chunks"]
    assert read_plan(document) == PLAN


def test_items_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(HoldfastError, match="not a memory plan"):
        read_plan(PLAN.document() | {"predicted_peak_bytes": 301})


def test_a_document_without_settings_is_refused() -> None:
    with pytest.raises(HoldfastError, match="settings"):
        read_plan({"fits": True, "items": {}})

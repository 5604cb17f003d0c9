from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.doctor.synthetic_runs import CLASSES, evaluation, healthy_steps, run_case, step_events

from holdfast.doctor.trial_plan import TriedFix, fix_of, start_of
from holdfast.errors import HoldfastError

STARVED = {"cat": (0.6, 200), "dog": (0.5, 180), "yak": (0.0, 30)}


def diverged():
    return run_case(step_events({CLASSES: np.geomspace(1.0, 50.0, 300)}))


def test_a_fix_is_taken_from_what_is_found():
    fix = fix_of(diverged(), "loss-diverged")
    assert fix.overrides["train_config.gradient_clipping_by_norm"] == "10"
    assert fix.keeps_loss


def test_class_weights_are_a_fix_too():
    events = [evaluation(step, 0.4, per_class=STARVED) for step in (500, 1000)]
    fix = fix_of(run_case(events), "class-starved")
    assert fix.class_weights == "auto"
    assert not fix.keeps_loss


@pytest.mark.parametrize("code", ["overfitting", "loss-diverged"])
def test_what_is_not_found_cannot_be_tried(code: str):
    with pytest.raises(HoldfastError, match=f"{code} was not found here"):
        fix_of(run_case(healthy_steps(100)), code)


def test_advice_cannot_be_tried():
    seconds = np.linspace(0.4, 1.2, 400)
    with pytest.raises(HoldfastError, match="not a setting"):
        fix_of(run_case(healthy_steps(400, step_seconds=seconds)), "slow-steps")


def saved(run: Path, *steps: int) -> Path:
    for step in steps:
        folder = run / "checkpoints" / f"step-{step:08d}"
        folder.mkdir(parents=True)
        text = f'{{"step": {step}, "metric": null, "higher_is_better": true, "extra": {{}}}}'
        (folder / "checkpoint.json").write_text(text)
    return run


def test_a_run_that_had_learned_is_gone_on_from_others_start_anew(tmp_path: Path):
    rate = TriedFix(name="a", text="b", overrides={"train_config.batch_size": "8"})
    good, bad = (run_case([*healthy_steps(500), evaluation(500, score)]) for score in (0.4, 0.0))
    good.run_path = bad.run_path = saved(tmp_path, 250, 500)
    found = start_of(good, rate)
    assert found is not None
    assert found.step == 500
    assert start_of(bad, rate) is None
    evaluates = TriedFix(name="a", text="b", overrides={"eval_input_reader[0].label_map_path": "c"})
    assert start_of(bad, evaluates) is not None
    network = TriedFix(name="a", text="b", overrides={"model.ssd.num_classes": "8"})
    assert start_of(good, network) is None

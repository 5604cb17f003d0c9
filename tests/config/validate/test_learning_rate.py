from __future__ import annotations

import json
import math
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.schema.optimizer import CosineDecayLearningRate, LearningRate, Optimizer
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.validate.learning_rate import check_schedule, chosen_schedule
from holdfast.errors import Problem

from ..texts import CONFIG, COSINE, config, edited, line_of, on_lines

PATH = "train_config.optimizer.momentum_optimizer.learning_rate"


def judged(*replacements: tuple[str, str]) -> list[tuple[str, str, str]]:
    """Give severity, field and message of each problem of the edited config."""
    return brief(check_schedule(config(*replacements)))


def brief(problems) -> list[tuple[str, str, str]]:
    found = []
    for each in problems:
        schedule, _, field = each.path.removeprefix(f"{PATH}.").rpartition(".")
        assert schedule in ("cosine_decay_learning_rate", "exponential_decay_learning_rate")
        found.append((each.severity, field, each.message))
    return found


def scheduled(schedule: str, num_steps: int = 1000) -> list[Problem]:
    """Judge another schedule."""
    steps = ("num_steps: 1000", f"num_steps: {num_steps}")
    return list(check_schedule(config((COSINE, schedule), steps)))


def test_the_schedule_of_a_good_config_gives_nothing_to_say():
    assert judged() == []


# Cosine.


def test_a_warm_up_longer_than_the_decay_is_refused_as_by_the_od_api():
    text = edited(("warmup_steps: 100", "warmup_steps: 1001"))
    problems = list(check_schedule(config(text=text)))
    assert brief(problems) == [
        ("error", "warmup_steps", "the warm-up of 1001 steps is longer than total_steps, 1000")
    ]
    assert on_lines(problems, text)[0].line == line_of("warmup_steps", text)
    assert judged(("warmup_steps: 100", "warmup_steps: 999")) == []


def test_a_warm_up_that_starts_above_the_base_is_refused_as_by_the_od_api():
    text = edited(("warmup_learning_rate: 0.02", "warmup_learning_rate: 0.1"))
    problems = list(check_schedule(config(text=text)))
    assert brief(problems) == [
        (
            "error",
            "warmup_learning_rate",
            "the warm-up starts at 0.1, above learning_rate_base 0.08",
        )
    ]
    assert on_lines(problems, text)[0].line == line_of("warmup_learning_rate", text)
    assert judged(("warmup_learning_rate: 0.02", "warmup_learning_rate: 0.08")) == []


def test_without_warm_up_steps_the_rate_it_would_start_at_does_not_matter():
    edits = (("warmup_learning_rate: 0.02", "warmup_learning_rate: 0.1"),)
    assert judged(*edits, ("warmup_steps: 100", "warmup_steps: 0")) == []


def test_a_warm_up_that_is_not_over_at_the_end_of_the_run_is_a_warning():
    edits = [("num_steps: 1000", "num_steps: 100"), ("total_steps: 1000", "total_steps: 100")]
    assert judged(*edits) == [
        (
            "warning",
            "warmup_steps",
            "the run ends at step 100, within the warm-up of 100 steps: the learning rate rises "
            "to 100% of learning_rate_base and never falls",
        )
    ]
    assert judged(*edits, ("warmup_steps: 100", "warmup_steps: 99")) == []


def test_a_run_within_the_warm_up_is_told_how_far_the_rate_rises_and_nothing_of_a_decay():
    ((_, field, message),) = judged(("num_steps: 1000", "num_steps: 30"))
    assert field == "warmup_steps"
    assert "rises to 48% of learning_rate_base" in message  # 0.02 + 0.06 * 30 / 100, of 0.08
    assert "still" not in message


def test_a_run_that_ends_while_the_rate_is_held_is_not_told_that_it_is_still_100_percent():
    edits = (("warmup_steps: 100", "warmup_steps: 100 hold_base_rate_steps: 300"),)
    ((_, field, message),) = judged(*edits, ("num_steps: 1000", "num_steps: 200"))
    assert field == "total_steps"
    assert message.endswith("the learning rate has not begun to fall")


def test_a_decay_shorter_than_the_run_is_a_warning():
    text = edited(("total_steps: 1000", "total_steps: 900"))
    problems = list(check_schedule(config(text=text)))
    assert brief(problems) == [
        (
            "warning",
            "total_steps",
            "the learning rate is 0 from step 900 on, and num_steps is 1000",
        )
    ]
    assert problems[0].fix == "set total_steps to 1000"
    assert on_lines(problems, text)[0].line == line_of("total_steps", text)


def test_a_decay_much_longer_than_the_run_is_a_warning():
    ((severity, field, message),) = judged(("total_steps: 1000", "total_steps: 2000"))
    assert (severity, field) == ("warning", "total_steps")
    assert message.endswith(
        "of a decay over 2000: the learning rate is still 54% of learning_rate_base"
    )


def test_a_decay_that_all_but_ends_with_the_run_is_fine():
    assert judged(("total_steps: 1000", "total_steps: 1050")) == []


def test_an_endless_run_cannot_be_longer_than_its_decay():
    assert judged(("num_steps: 1000", "num_steps: 0"), ("total_steps: 1000", "total_steps: 9")) == [
        ("error", "warmup_steps", "the warm-up of 100 steps is longer than total_steps, 9")
    ]


@given(st.integers(0, 50), st.integers(0, 50), st.floats(0, 1, width=32), st.floats(0, 1, width=32))
def test_a_cosine_is_refused_exactly_where_the_od_api_refuses_it(
    total: int, warmup: int, base: float, start: float
):
    """The two conditions of learning_schedules.cosine_decay_with_warmup."""
    refused = total < warmup or (warmup > 0 and base < start)
    schedule = (
        f"cosine_decay_learning_rate {{ total_steps: {total} warmup_steps: {warmup} "
        f"learning_rate_base: {base!r} warmup_learning_rate: {start!r} }}"
    )
    errors = [each for each in scheduled(schedule) if each.severity == "error"]
    assert bool(errors) == refused


def test_what_is_said_about_cosines_is_what_the_od_api_computed(shared: Path):
    goldens = json.loads((shared / "goldens" / "_units" / "learning_rates.json").read_text())
    said = {"is 0 from": 0, "is still": 0, "rises to": 0, "": 0}
    for golden in goldens["schedules"].values():
        schedule, problems, _ = decode(golden["config"], LearningRate)
        if not isinstance(schedule := schedule.chosen("learning_rate"), CosineDecayLearningRate):
            continue
        for step, rate in zip(goldens["steps"][1:], golden["values"][1:], strict=True):
            messages = [
                each.message
                for each in scheduled(golden["config"], step)
                if each.path.endswith(("total_steps", "warmup_steps"))
            ]
            share = rate / schedule.learning_rate_base
            match messages:
                case [message] if "is 0 from" in message:
                    assert rate == 0
                    said["is 0 from"] += 1
                case [message] if "not begun to fall" in message:
                    assert math.isclose(share, 1, abs_tol=1e-6)
                case [message]:
                    percent = int(re.findall(r"(\d+)%", message)[0])
                    assert math.isclose(percent, 100 * share, abs_tol=0.51)
                    is_rising = step <= schedule.warmup_steps
                    assert ("rises to" if is_rising else "is still") in message
                    said["rises to" if is_rising else "is still"] += 1
                case []:
                    assert share < 0.03
                    said[""] += 1
        assert problems == []
    assert min(said.values()) >= 3, said


# Manual steps.


def manual(*steps: int, warmup: bool = False, num_steps: int = 1000) -> list[tuple[str, str, str]]:
    entries = " ".join(f"schedule {{ step: {step} learning_rate: 0.01 }}" for step in steps)
    schedule = f"manual_step_learning_rate {{ {entries} warmup: {str(warmup).lower()} }}"
    return [
        (each.severity, each.path.removeprefix(f"{PATH}.manual_step_learning_rate."), each.message)
        for each in scheduled(schedule, num_steps)
    ]


def test_increasing_steps_within_the_run_are_fine():
    assert manual(500, 999) == []
    assert manual(10, 999, warmup=True) == []


def test_no_steps_are_refused_as_by_the_od_api():
    assert manual() == [("error", "schedule", "it has no step")]


def test_steps_must_increase_as_in_the_od_api():
    assert manual(10, 20, 20) == [("error", "schedule[2].step", "step 20 comes after step 20")]
    assert manual(10, 5, 20) == [("error", "schedule[1].step", "step 5 comes after step 10")]


def test_a_first_step_of_0_is_a_warning_because_old_zoo_configs_have_it():
    ((severity, field, message),) = manual(0, 500)
    assert (severity, field) == ("warning", "schedule[0].step")
    assert "replaces initial_learning_rate" in message


def test_a_step_that_is_never_reached_is_a_warning_once():
    assert manual(500, 1000, 2000) == [
        ("warning", "schedule[1].step", "step 1000 is never reached: num_steps is 1000")
    ]
    assert manual(500, 1000, num_steps=0) == []


def test_a_warm_up_to_a_step_that_is_never_reached_is_a_warning():
    severity, field, message = manual(1000, warmup=True)[0]
    assert (severity, field) == ("warning", "schedule[0].step")
    assert message == "the warm-up of 1000 steps is not over when the run ends at 1000"
    assert all("warm-up" not in message for _, _, message in manual(1000))


def test_a_manual_step_is_reported_on_its_line():
    schedule = (
        "manual_step_learning_rate {\n schedule { step: 10 }\n schedule {\n  step: 5\n }\n}\n"
    )
    text = edited((COSINE, schedule))
    problems = on_lines(list(check_schedule(config(text=text))), text)
    assert [each.line for each in problems] == [line_of("step: 5\n", text)]


@given(st.lists(st.integers(1, 30), max_size=4), st.booleans())
def test_manual_steps_are_refused_exactly_where_the_od_api_refuses_them(
    steps: list[int], warmup: bool
):
    """optimizer_builder refuses an empty schedule, manual_stepping what does not increase."""
    refused = not steps or steps != sorted(set(steps))
    errors = [severity for severity, _, _ in manual(*steps, warmup=warmup) if severity == "error"]
    assert bool(errors) == refused


# Exponential.


def exponential(fields: str, num_steps: int = 1000) -> list[tuple[str, str, str]]:
    return brief(scheduled(f"exponential_decay_learning_rate {{ {fields} }}", num_steps))


def test_a_decay_that_happens_during_the_run_is_fine():
    assert exponential("decay_steps: 999") == []
    assert exponential("decay_steps: 5000 staircase: false") == []
    assert exponential("decay_steps: 10 burnin_steps: 999") == []


def test_a_first_decay_after_the_end_of_the_run_is_a_warning():
    ((severity, field, message),) = exponential("decay_steps: 1000")
    assert (severity, field) == ("warning", "decay_steps")
    assert "the learning rate stays constant" in message
    assert exponential("decay_steps: 1000", num_steps=0) == []


def test_decay_steps_of_0_are_refused():
    assert exponential("decay_steps: 0") == [("error", "decay_steps", "it is 0")]


def test_a_burn_in_that_is_not_over_at_the_end_of_the_run_is_a_warning():
    assert exponential("decay_steps: 10 burnin_steps: 1000") == [
        (
            "warning",
            "burnin_steps",
            "the warm-up of 1000 steps is not over when the run ends at 1000",
        )
    ]


# Which schedule.


def test_a_constant_rate_gives_nothing_to_say():
    assert scheduled("constant_learning_rate { learning_rate: 0.1 }") == []


def test_the_schedule_of_any_optimizer_is_judged_under_its_own_path():
    for name in ("rms_prop_optimizer", "adam_optimizer"):
        text = edited(
            ("momentum_optimizer {", f"{name} {{"),
            ("      momentum_optimizer_value: 0.9\n", ""),
            ("total_steps: 1000", "total_steps: 10"),
        )
        paths = [each.path for each in check_schedule(config(text=text))]
        assert paths[0].startswith(f"train_config.optimizer.{name}.learning_rate.cosine_decay_")


def test_what_is_not_there_is_not_judged():
    optimizer = CONFIG[CONFIG.index("  optimizer {") : CONFIG.index("  fine_tune_checkpoint:")]
    assert list(check_schedule(TrainEvalPipelineConfig())) == []
    assert judged((optimizer, "")) == []
    assert judged((COSINE, "")) == []


def test_the_chosen_schedule_comes_with_its_path():
    train = config().train_config
    assert train is not None
    assert train.optimizer is not None
    path, schedule = chosen_schedule(train.optimizer)
    assert path == f"{PATH}.cosine_decay_learning_rate"
    assert isinstance(schedule, CosineDecayLearningRate)
    assert chosen_schedule(Optimizer()) == ("train_config.optimizer", None)

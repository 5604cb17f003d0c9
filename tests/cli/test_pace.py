from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.pace import Pace


def test_nothing_is_foretold_from_the_first_step():
    pace = Pace(steps=10, evaluate_every=5)
    assert pace.step_seconds is None
    pace.stepped(30.0, 1.0)
    assert pace.step_seconds is None
    assert pace.seconds_left(1) is None
    assert pace.first_seconds == 31.0
    assert not pace.is_sure


def test_only_the_latest_steps_count():
    pace = Pace(steps=1000, evaluate_every=1000)
    for seconds in [1.0] * 100 + [2.0] * 50:
        pace.stepped(seconds, 0.0)
    assert pace.step_seconds == 2.0
    assert pace.is_sure


@given(st.integers(1, 60), st.integers(1, 25), st.integers(0, 60))
def test_evaluations_to_come_are_counted_as_the_loop_does_them(steps, every, done):
    done = min(done, steps)
    pace = Pace(steps=steps, evaluate_every=every)
    pace.stepped(1.0, 0.0)
    pace.stepped(1.0, 0.0)
    pace.evaluated(100.0)
    to_come = [step for step in range(done + 1, steps + 1) if step % every == 0 or step == steps]
    assert pace.seconds_left(done) == (steps - done) + 100.0 * len(to_come)

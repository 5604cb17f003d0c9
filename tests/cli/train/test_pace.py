from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.train.pace import MeasuredPace


def make(
    steps: int = 10, evaluate_every: int = 5, checkpoint_every: int = 500, images: int = 0
) -> MeasuredPace:
    return MeasuredPace(
        steps=steps,
        evaluate_every=evaluate_every,
        checkpoint_every=checkpoint_every,
        batch_size=4,
        evaluation_images=images,
    )


def test_nothing_is_foretold_from_the_first_step():
    pace = make()
    assert pace.step_seconds is None
    pace.stepped(30.0, 1.0)
    assert pace.step_seconds is None
    assert pace.seconds_left(1) is None
    assert pace.first_seconds == 31.0
    assert not pace.is_sure


def test_only_the_latest_steps_count():
    pace = make(steps=1000, evaluate_every=1000)
    for seconds in [1.0] * 100 + [2.0] * 50:
        pace.stepped(seconds, 0.0)
    assert pace.step_seconds == 2.0
    assert pace.is_sure


@given(st.integers(1, 60), st.integers(1, 25), st.integers(1, 25), st.integers(1, 60))
def test_what_is_to_come_is_counted_as_the_loop_does_it(steps, evaluate_every, save_every, done):
    done = min(done, steps)
    pace = make(steps, evaluate_every, save_every)
    pace.stepped(1.0, 0.0)
    pace.stepped(1.0, 0.0)
    pace.evaluated(1000.0)
    pace.saved(1e6)
    to_come = range(done, steps + 1)  # after a step, its own evaluation and checkpoint are to come
    evaluations = [step for step in to_come if step % evaluate_every == 0 or step == steps]
    saves = {step for step in to_come if step % save_every == 0} | set(evaluations)
    assert pace.seconds_left(done) == (steps - done) + 1000.0 * len(evaluations) + 1e6 * len(saves)


def test_an_evaluation_that_was_never_seen_is_part_of_the_time_left():
    """A short training has only the one at its end, which may take longer than all of its steps."""
    without, with_images = make(30, 100), make(30, 100, images=400)
    for pace in (without, with_images):
        pace.stepped(20.0, 0.0)
        pace.stepped(1.0, 0.0)
    assert without.seconds_left(10) == 20.0
    left = with_images.seconds_left(10)
    assert left is not None
    assert 20 + 100 / 4 < left < 20 + 100 + 20  # 100 batches, forward only, and their graph


def test_what_an_evaluation_took_goes_before_what_was_estimated():
    pace = make(30, 15, images=400)
    pace.stepped(20.0, 0.0)
    pace.stepped(1.0, 0.0)
    pace.evaluated(3.0)
    assert pace.seconds_left(16) == 14.0 + 3.0


def test_after_the_last_step_the_evaluation_is_left():
    pace = make(30, 100, images=400)
    pace.stepped(1.0, 0.0)
    pace.stepped(1.0, 0.0)
    assert pace.seconds_left(30)

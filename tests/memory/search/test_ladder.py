"""Settings get ever cheaper."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.plan import StepSettings
from holdfast.memory.search.ladder import ladder

BLOCKS = ["backbone/one", "backbone/two", "head/one"]


@given(st.integers(1, 64), st.integers(1, 8), st.sets(st.sampled_from(BLOCKS)))
def test_each_rung_is_cheaper_and_keeps_the_batch(micro_batch, accumulation, blocks):
    current = StepSettings(
        micro_batch=micro_batch, accumulation=accumulation, rematerialize=tuple(blocks)
    )
    rungs = ladder(BLOCKS, current)
    before = current
    for rung in rungs:
        assert rung.batch_size == current.batch_size
        assert set(rung.rematerialize) == set(BLOCKS)
        is_smaller = 2 * rung.micro_batch <= before.micro_batch
        assert is_smaller or len(before.rematerialize) < len(rung.rematerialize)
        before = rung
    assert before.micro_batch == 1 or not rungs
    assert before.micro_batch == 1


def test_computing_twice_comes_before_smaller_pieces():
    first, second, *_ = ladder(BLOCKS, StepSettings(micro_batch=8))
    assert (first.micro_batch, first.accumulation) == (8, 1)
    assert (second.micro_batch, second.accumulation) == (4, 2)

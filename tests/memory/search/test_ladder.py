"""Settings get ever cheaper."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.plan import StepSettings
from holdfast.memory.search.ladder import MOST_CHUNKS, ladder

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


def test_regions_in_chunks_come_between_and_stay():
    rungs = ladder(BLOCKS, StepSettings(micro_batch=4), most_chunks=64)
    assert [(rung.micro_batch, rung.region_chunks) for rung in rungs] == [
        (4, 1),
        (4, MOST_CHUNKS),
        (2, MOST_CHUNKS),
        (1, MOST_CHUNKS),
    ]


def test_there_are_no_more_chunks_than_regions_and_no_fewer_than_now():
    rungs = ladder(BLOCKS, StepSettings(micro_batch=1), most_chunks=3)
    assert [rung.region_chunks for rung in rungs] == [1, 3]
    given = StepSettings(micro_batch=1, region_chunks=16, rematerialize=tuple(BLOCKS))
    assert ladder(BLOCKS, given, most_chunks=64) == ()

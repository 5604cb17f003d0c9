"""Out-of-memory errors are recognised, states are put back, and settings get ever cheaper."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.plan import StepSettings
from holdfast.memory.recovery import Snapshot, is_out_of_memory, ladder, reason_text

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


def test_what_a_runtime_says_when_memory_ran_out_is_recognised():
    texts = [
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "Failed to allocate request for 2.0GiB",
        "CUDNN_STATUS_ALLOC_FAILED",
        "Operation received an exception:Status: 1, message: could not create a primitive",
    ]
    for text in texts:
        assert is_out_of_memory(tf.errors.InternalError(None, None, text))
    assert is_out_of_memory(tf.errors.ResourceExhaustedError(None, None, ""))
    assert not is_out_of_memory(tf.errors.InternalError(None, None, "shapes differ"))
    assert not is_out_of_memory(ValueError("rank must be 4"))


def test_an_array_that_does_not_fit_is_recognised_also_when_wrapped():
    with pytest.raises(MemoryError) as too_large:
        np.ones(2**56)
    assert is_out_of_memory(too_large.value)
    wrapped = TypeError("Exception encountered when calling a layer")
    wrapped.__context__ = too_large.value
    assert is_out_of_memory(wrapped)


def test_the_reason_is_the_line_that_speaks_of_memory():
    text = "Graph execution error:\n\nDetected at node x\nOOM when allocating tensor\n more"
    error = tf.errors.ResourceExhaustedError(None, None, text)
    assert reason_text(error) == "OOM when allocating tensor"
    assert reason_text(MemoryError()) == "MemoryError"


def test_a_snapshot_gives_back_what_was_there():
    variables = [tf.Variable([1.0, 2.0]), tf.Variable(3, dtype=tf.int64)]
    snapshot = Snapshot(variables)
    snapshot.take()
    for _ in range(2):
        variables[0].assign_add([5.0, 5.0])
        variables[1].assign(9)
        snapshot.put_back()
        assert variables[0].numpy().tolist() == [1.0, 2.0]
        assert int(variables[1]) == 3

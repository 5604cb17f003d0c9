"""Out-of-memory errors are recognized, and states are put back."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.training.surviving.out_of_memory import Snapshot, is_out_of_memory, reason_text


def test_what_a_runtime_says_when_memory_ran_out_is_recognized():
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


def test_an_array_that_does_not_fit_is_recognized_also_when_wrapped():
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

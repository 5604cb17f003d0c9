from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import tensorflow as tf

from holdfast.memory.predict.evaluation_phase import follow_evaluation
from holdfast.memory.predict.items import EVALUATION
from holdfast.memory.predict.prediction import Surroundings, UnpredictableError, predict
from holdfast.memory.predict.traced_step import TracedEvaluation, TracedStep

SIDE = 512


def graph_of(function: Callable[..., object], *sides: int | None) -> tf.Graph:
    specification = tf.TensorSpec(sides, tf.float32)
    return tf.function(function).get_concrete_function(specification).graph


def step(function: Callable[..., object], *sides: int | None) -> TracedStep:
    return TracedStep(
        graph=graph_of(function, *sides),
        weights=(4 * SIDE**2,),
        optimizer_slots=(),
        averages=(),
        input_batch=(4 * SIDE**2,),
    )


def squared(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.linalg.matmul(x, x))


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("has_arena", [False, True])
def test_the_peak_is_that_of_the_phase_that_needs_most(device, has_arena):
    traced = step(squared, SIDE, SIDE)
    alone = predict(traced, Surroundings(device=device, has_arena=has_arena))

    def with_evaluation(side: int) -> int:
        evaluation = TracedEvaluation(
            graph=graph_of(squared, side, side), input_batch=(4 * side**2,)
        )
        phase = follow_evaluation(evaluation, device=device)
        around = Surroundings(device=device, has_arena=has_arena, evaluation=phase)
        found = predict(traced, around)
        assert sum(found.items.values()) == found.peak_bytes
        assert found.peak_bytes - alone.peak_bytes == found.items[EVALUATION]
        return found.items[EVALUATION]

    small, large, larger = (with_evaluation(side) for side in (64, 4 * SIDE, 8 * SIDE))
    assert small < 2**20  # its graph, on a CPU
    # Two batches that are alive, and the square of one.
    assert larger - large == pytest.approx(3 * 4 * (8**2 - 4**2) * SIDE**2, rel=0.1)


def test_no_figure_is_given_that_stands_on_guesses():
    def repeated(x: tf.Tensor) -> tf.Tensor:
        count = tf.cast(tf.reduce_sum(x), tf.int32)
        return tf.reduce_sum(tf.sin(tf.tile(x, [count])))

    with pytest.raises(UnpredictableError, match="cannot be predicted: 2 tensors") as raised:
        predict(step(repeated, 1000))
    assert raised.value.fix


def test_open_sides_are_predicted_for_the_largest_ones():
    open_step = step(squared, None, None)
    name = open_step.graph.inputs[0].op.name
    bounded = predict(replace(open_step, largest={name: (SIDE, SIDE)}))
    assert bounded.items == pytest.approx(predict(step(squared, SIDE, SIDE)).items, rel=0.02)

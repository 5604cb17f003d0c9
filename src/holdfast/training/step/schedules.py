"""Learning rates as functions of the step.

The step counts from 0: the first update of the weights uses the rate of step 0, as in the OD API,
which raises its global step after the update. A step is an int, or an integer tensor inside of a
tf.function; the rate is a float32 scalar.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import tensorflow as tf

from holdfast.geometry.tensor import Tensor

Schedule = Callable[[Tensor], Tensor]  # step -> learning rate


def constant(step: Tensor, *, learning_rate: float) -> Tensor:
    """Give the same rate at every step.

    >>> float(constant(7, learning_rate=0.5))
    0.5
    """
    return tf.constant(learning_rate, tf.float32)


def exponential_decay(
    step: Tensor,
    *,
    initial_learning_rate: float,
    decay_steps: int,
    decay_factor: float,
    staircase: bool = True,
    burnin_learning_rate: float = 0.0,
    burnin_steps: int = 0,
    min_learning_rate: float = 0.0,
) -> Tensor:
    """Multiply by decay_factor every decay_steps that follow a burn-in at a rate of its own.

    staircase: all at once, else a little at each step. A burn-in rate of 0 is the initial one.

    >>> float(exponential_decay(25, initial_learning_rate=1, decay_steps=10, decay_factor=0.5))
    0.25
    """
    decays = tf.cast(step - burnin_steps, tf.float32) / decay_steps
    decays = tf.floor(decays) if staircase else decays
    decayed = initial_learning_rate * tf.pow(tf.constant(decay_factor, tf.float32), decays)
    burnin = tf.constant(burnin_learning_rate or initial_learning_rate, tf.float32)
    return tf.maximum(tf.where(step < burnin_steps, burnin, decayed), min_learning_rate)


def manual_steps(
    step: Tensor, *, boundaries: Sequence[int], rates: Sequence[float], warmup: bool = False
) -> Tensor:
    """Give rates[0], from step boundaries[0] on rates[1], and so on.

    rates: one more than boundaries. warmup: rise in a straight line from rates[0] at step 0 to
    rates[1] at step boundaries[0].

    >>> [float(manual_steps(step, boundaries=[10], rates=[1, 3], warmup=True)) for step in (5, 10)]
    [2.0, 3.0]
    """
    is_passed = tf.cast(step, tf.int64) >= tf.constant(boundaries, tf.int64)
    passed = tf.reduce_sum(tf.cast(is_passed, tf.int32))
    rate = tf.gather(tf.constant(rates, tf.float32), passed)
    if not warmup or not boundaries or boundaries[0] == 0:
        return rate
    slope = (rates[1] - rates[0]) / boundaries[0]
    return tf.where(step < boundaries[0], _line(step, rates[0], slope), rate)


def cosine_decay(
    step: Tensor,
    *,
    learning_rate_base: float,
    total_steps: int,
    warmup_learning_rate: float = 0.0,
    warmup_steps: int = 0,
    hold_base_rate_steps: int = 0,
) -> Tensor:
    """Warm up in a straight line, hold the base, then fall along half a cosine (arXiv 1608.03983).

    The rate is 0 after total_steps.

    >>> rate = [cosine_decay(step, learning_rate_base=1, total_steps=10) for step in (0, 5, 11)]
    >>> [round(float(each), 3) for each in rate]
    [1.0, 0.5, 0.0]
    """
    start = warmup_steps + hold_base_rate_steps
    # When the warm-up lasts to the end, nothing is left to decay: that must not divide by 0.
    angle = math.pi * tf.cast(step - start, tf.float32) / max(total_steps - start, 1)
    decayed = 0.5 * learning_rate_base * (1 + tf.cos(angle))
    rate = tf.where(step > start, decayed, learning_rate_base)
    if warmup_steps > 0:
        slope = (learning_rate_base - warmup_learning_rate) / warmup_steps
        rate = tf.where(step < warmup_steps, _line(step, warmup_learning_rate, slope), rate)
    return tf.where(step > total_steps, 0.0, rate)


def cosine_restarts(
    step: Tensor,
    *,
    rate: float,
    period: float,
    multiplier: float = 2.0,
    decay: float = 1.0,
    warmup: float = 0.0,
) -> Tensor:
    """Fall along half a cosine again and again, with warm restarts (arXiv 1608.03983).

    Each period is `multiplier` times as long as the one before, and begins at `decay` times its
    rate. warmup: steps of a straight line from 0 before the first period.

    >>> rates = [cosine_restarts(step, rate=1, period=10) for step in (0, 5, 10, 20, 30)]
    >>> [round(float(each), 3) for each in rates]
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """
    passed = tf.maximum(tf.cast(step, tf.float32) - warmup, 0.0) / period  # in first periods
    if multiplier == 1.0:
        number = tf.floor(passed)
        share = passed - number
    else:
        # After n periods, (multiplier^n - 1) / (multiplier - 1) first periods have passed. The
        # smallest part of a step more keeps a restart from being missed by rounding.
        grown = 1.0 + (passed + 1e-6) * (multiplier - 1.0)
        number = tf.floor(tf.math.log(grown) / math.log(multiplier) + 1e-6)
        length = tf.pow(tf.constant(multiplier, tf.float32), number)
        begun = (length - 1.0) / (multiplier - 1.0)
        share = tf.clip_by_value((passed - begun) / length, 0.0, 1.0)
    highest = rate * tf.pow(tf.constant(decay, tf.float32), number)
    falling = 0.5 * highest * (1.0 + tf.cos(math.pi * share))
    if not warmup:
        return falling
    return tf.where(tf.cast(step, tf.float32) < warmup, _line(step, 0.0, rate / warmup), falling)


def one_cycle(
    step: Tensor,
    *,
    rate: float,
    steps: float,
    rise: float = 0.3,
    start: float = 25.0,
    end: float = 1e4,
) -> Tensor:
    """Rise once along half a cosine, then fall far below the beginning (arXiv 1708.07120).

    rise: the share of the steps until the highest rate. The first rate is rate / start, the last
    that divided by `end`.

    >>> rates = [one_cycle(step, rate=1, steps=100) for step in (0, 30, 100)]
    >>> [round(float(each), 6) for each in rates]
    [0.04, 1.0, 4e-06]
    """
    passed = tf.clip_by_value(tf.cast(step, tf.float32) / steps, 0.0, 1.0)
    first, last = rate / start, rate / start / end
    rising = _half_cosine(passed / max(rise, 1e-6), first, rate)
    falling = _half_cosine((passed - rise) / max(1.0 - rise, 1e-6), rate, last)
    return tf.where(passed < rise, rising, falling)


def _half_cosine(share: Tensor, begin: float, end: float) -> Tensor:
    """Go from one rate to another, slowly at both ends; share is 0 to 1."""
    return end + 0.5 * (begin - end) * (1.0 + tf.cos(math.pi * share))


def _line(step: Tensor, start: float, slope: float) -> Tensor:
    return slope * tf.cast(step, tf.float32) + start

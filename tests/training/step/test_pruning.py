"""Pruning: as much as the schedule says, the smallest first, and what is 0 stays 0."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.detectors.center_net.small_centers import BOXES, MOBILE, center_net
from tests.models.detectors.small_configs import small_config, small_stages
from tests.models.detectors.two_stage.tiny_network import TINY

from holdfast.errors import HoldfastError
from holdfast.models.backbones.split_networks import SPLIT_NETWORKS
from holdfast.models.detectors.build_detector import build_detector
from holdfast.training.step.averaging import MovingAverages
from holdfast.training.step.optimizers import Adam, Momentum, RMSProp, StepOptimizer
from holdfast.training.step.pruning import (
    PRUNED,
    PRUNED_SHARE,
    Pruning,
    PruningSchedule,
    prunable_kernels,
)

SCHEDULE = PruningSchedule(share=0.6, begin=2, end=9, every=3)
STEPS = 14
START = np.random.default_rng(0).normal(size=(1, 1, 8, 5)).astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 0.95), st.integers(0, 20), st.integers(0, 30), st.integers(1, 7), st.data())
def test_the_schedule_is_the_cubic_of_zhu_and_gupta(share, begin, span, every, data):
    schedule = PruningSchedule(share=share, begin=begin, end=begin + span, every=every)
    step = data.draw(st.integers(0, 60))
    passed = min(max(step - begin, 0) / max(span, 1), 1.0)
    expected = share + (0.0 - share) * (1.0 - passed) ** 3
    assert float(schedule.share_at(tf.constant(step, tf.int64))) == pytest.approx(
        expected, abs=1e-6
    )
    is_due = step >= begin and ((step - begin) % every == 0 or step == begin + span)
    assert bool(schedule.is_due(tf.constant(step, tf.int64))) == is_due


class Pruned:
    """One kernel that is trained by a rule, averaged and pruned."""

    def __init__(self, rule, schedule=SCHEDULE) -> None:
        self.kernel = keras.Variable(START, name="kernel")
        self.optimizer = StepOptimizer([self.kernel], rule)
        self.averages = MovingAverages([self.kernel], 0.5)
        self.pruning = Pruning([self.kernel], schedule, self.averages.variables)
        self.step = tf.function(self._step)

    def _step(self, gradient, number):
        seen = self.pruning.look(number)
        self.optimizer.apply([gradient], tf.constant(0.1))
        self.averages.follow([], self.optimizer.updates)
        self.pruning.follow(seen, self.optimizer.updates)

    def take(self, number: int) -> None:
        gradient = np.random.default_rng(number).normal(size=START.shape).astype(np.float32)
        self.step(tf.constant(gradient), tf.constant(number, tf.int64))

    @property
    def weights(self) -> np.ndarray:
        return self.kernel.numpy().ravel()

    @property
    def average(self) -> np.ndarray:
        (average,) = self.averages.variables.values()
        return average.numpy().ravel()


def zeros_of_numpy(before: np.ndarray, number: int, zeros: set[int]) -> set[int]:
    """Say which weights are pruned after a step, by their values before it."""
    since = number - SCHEDULE.begin
    if since < 0 or (since % SCHEDULE.every and number != SCHEDULE.end):
        return zeros
    passed = min(since / (SCHEDULE.end - SCHEDULE.begin), 1.0)
    count = round(SCHEDULE.share * (1.0 - (1.0 - passed) ** 3) * before.size)
    return zeros | set(np.argsort(np.abs(before), kind="stable")[:count].tolist())


@pytest.mark.parametrize("rule", [Momentum(), Adam(weight_decay=0.1), RMSProp()])
def test_the_smallest_weights_become_zero_and_stay_so_whatever_the_optimizer_remembers(rule):
    pruned, zeros = Pruned(rule), set()
    for number in range(STEPS):
        zeros = zeros_of_numpy(pruned.weights, number, zeros)
        pruned.take(number)
        assert set(np.flatnonzero(pruned.weights == 0.0).tolist()) == zeros
        assert set(np.flatnonzero(pruned.average == 0.0).tolist()) >= zeros
    assert len(zeros) == round(SCHEDULE.share * START.size)
    assert float(pruned.pruning.measures()[PRUNED_SHARE]) == pytest.approx(SCHEDULE.share)
    facts = {"kernels": 1, "weights": 40, "share": pytest.approx(0.6)}
    assert pruned.pruning.facts() == {PRUNED: facts}


def test_weights_that_happen_to_be_zero_learn_until_pruning_begins():
    pruned = Pruned(Momentum())
    pruned.kernel.assign(np.zeros_like(START))
    pruned.take(0)
    assert np.all(pruned.weights != 0.0)


def test_a_kernel_of_equal_weights_is_not_emptied():
    pruned = Pruned(Momentum(), PruningSchedule(share=0.5, begin=0, end=0))
    pruned.kernel.assign(np.full_like(START, -0.25))
    pruned.take(0)
    assert np.all(pruned.weights != 0.0)


def detector_of(name: str):
    SPLIT_NETWORKS["inception_v2"] = TINY
    if name == "center_net":
        return build_detector(center_net(BOXES, MOBILE, size=(64, 64)))
    make = small_stages if name == "mask_rcnn" else small_config
    return build_detector(make(name, 64, 64))


@pytest.mark.parametrize("name", ["ssdlite", "fpn", "mask_rcnn", "center_net"])
def test_kernels_that_mix_channels_are_pruned_except_the_first_and_the_last(name):
    detector = detector_of(name)
    trained = detector.trainable_variables
    paths = [each.path for each in prunable_kernels(detector, trained)]
    assert not [path for path in paths if "depthwise" in path or "/classes/" in path]
    assert not [path for path in paths if path.endswith(("bias", "gamma", "beta"))]
    assert not [
        path for path in paths if "/Conv/" in path or "/conv1/" in path.partition("/unit")[0]
    ]
    kernels = [
        each for each in trained if each.path.endswith("kernel") and len(each.shape) in (2, 4)
    ]
    share = sum(np.prod(each.shape) for each in kernels if each.path in paths)
    assert share > 0.7 * sum(np.prod(each.shape) for each in kernels)


def test_what_is_not_trained_is_not_pruned():
    detector = detector_of("ssdlite")
    heads = [each for each in detector.trainable_variables if "/head/" in each.path]
    assert all("/head/" in each.path for each in prunable_kernels(detector, heads))
    with pytest.raises(HoldfastError, match="nothing to prune"):
        prunable_kernels(detector, [each for each in heads if each.name == "bias"])

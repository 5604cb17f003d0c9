"""From when on a network is quantized."""

from __future__ import annotations

import pytest

from holdfast.models.layers.quantization_clock import (
    QuantizationClock,
    QuantizationSettings,
    quantization,
    quantized_layers,
)


def test_it_acts_from_its_delay_on():
    clock = QuantizationClock(2)
    answers = []
    for step in range(4):
        clock.step.assign(step)
        answers.append(bool(clock.acts()))
    assert answers == [False, False, True, True]


@pytest.mark.parametrize(("step", "acts"), [(1, False), (2, True)])
def test_a_settled_clock_keeps_its_answer(step, acts):
    clock = QuantizationClock(2)
    clock.step.assign(step)
    assert clock.settle() is acts
    clock.step.assign(3 - step)
    assert bool(clock.acts()) is acts


def test_a_clock_can_be_settled_to_floats():
    clock = QuantizationClock(0)
    assert clock.settle(rounds=False) is False
    assert not bool(clock.acts())


def test_ranges_follow_ever_more_slowly():
    clock = QuantizationClock(0)
    rates = []
    for step in (0, 1, 8, 10**6):
        clock.step.assign(step)
        rates.append(float(clock.rate()))
    assert rates == pytest.approx([1 / 2, 1 / 3, 1 / 10, 0.001])


def test_layers_are_quantized_only_where_they_are_made_so():
    settings = QuantizationSettings(clock=QuantizationClock(0))
    assert quantization() is None
    with quantized_layers(settings):
        assert quantization() is settings
        with quantized_layers(None):
            assert quantization() is None
    assert quantization() is None

"""Score converters equal the OD API's; calibrations equal linear interpolation."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.errors import HoldfastError
from holdfast.models.inference.scores import (
    InterpolatedColumns,
    InterpolatedScores,
    ScoreConversion,
)

CONVERTERS = {
    "IDENTITY": ScoreConversion(),
    "SIGMOID": ScoreConversion(conversion="SIGMOID"),
    "SOFTMAX": ScoreConversion(conversion="SOFTMAX"),
    "SIGMOID_scale2": ScoreConversion(conversion="SIGMOID", logit_scale=2.0),
    "SOFTMAX_scale2": ScoreConversion(conversion="SOFTMAX", logit_scale=2.0),
}
KNOTS = ((0.0, 0.1), (0.25, 0.2), (0.5, 0.2), (1.0, 0.9))


@pytest.mark.parametrize("name", CONVERTERS)
def test_scores_equal_the_od_api(shared, name):
    golden = json.loads((shared / "goldens/_units/score_converters.json").read_text())
    assert set(CONVERTERS) == set(golden["outputs"])
    scores = CONVERTERS[name].scores(np.array(golden["input"], np.float32))
    np.testing.assert_allclose(scores, golden["outputs"][name], atol=1e-6)


@settings(max_examples=40)
@given(
    hnp.arrays(np.float32, (2, 5), elements=st.floats(-0.5, 1.5, width=32)),
    st.integers(1, len(KNOTS)),
)
def test_calibration_is_linear_between_the_knots_and_constant_beyond(scores, number):
    knots = KNOTS[:number]
    x, y = zip(*knots, strict=True)
    calibrated = InterpolatedScores(knots=knots)(scores)
    assert calibrated.shape == scores.shape
    np.testing.assert_allclose(calibrated, np.interp(scores, x, y), atol=1e-5)


def test_each_column_has_its_own_calibration_or_none():
    scores = np.array([[0.5, 0.5, 0.5]], np.float32)
    calibration = InterpolatedColumns(
        knots={1: ((0.0, 0.0), (1.0, 0.5)), 2: ((0.0, 1.0), (1.0, 1.0))}
    )
    np.testing.assert_allclose(calibration(scores), [[0.5, 0.25, 1.0]])


def test_calibration_comes_after_the_conversion():
    converter = ScoreConversion(
        conversion="SIGMOID", calibration=InterpolatedScores(knots=((0.0, 0.0), (1.0, 0.5)))
    )
    np.testing.assert_allclose(converter.scores(np.array([0.0], np.float32)), [0.25])


def test_settings_without_meaning_are_refused():
    with pytest.raises(HoldfastError, match="logit_scale is 0"):
        ScoreConversion(logit_scale=0.0)
    for knots in ((), ((0.5, 0.0), (0.5, 1.0)), ((1.0, 0.0), (0.0, 1.0))):
        with pytest.raises(HoldfastError, match="points of rising x"):
            InterpolatedScores(knots=knots)

from __future__ import annotations

import math

import numpy as np
import pytest

from holdfast.doctor.line_chart import Chart, ChartLine, draw_chart

RED, BLUE = (255, 0, 0), (0, 0, 255)


def chart(y: list[float], *, log_y: bool = False, **changes) -> np.ndarray:
    line = ChartLine(label="loss", color=RED, x=list(range(1, len(y) + 1)), y=y)
    return draw_chart(
        Chart(title="t", x_label="x", y_label="y", lines=[line], log_y=log_y, **changes)
    )


def places(picture: np.ndarray, color: tuple[int, int, int]) -> np.ndarray:
    """Give rows and columns of a color inside the frame, above the legend."""
    return np.argwhere((picture[:400] == color).all(axis=-1))


def test_a_curve_that_falls_is_drawn_from_the_upper_left_to_the_lower_right():
    rows, columns = places(chart([9.0, 6.0, 3.0, 1.0]), RED).T
    assert rows[columns.argmin()] < rows[columns.argmax()]
    assert columns.max() - columns.min() > 600


@pytest.mark.parametrize("y", [[], [1.0], [2.0, 2.0, 2.0], [math.nan, 1.0, math.inf], [0.0, 1.0]])
def test_odd_values_are_left_out(y: list[float]):
    assert chart(y, log_y=True).shape == (480, 860, 3)


def test_marks_stand_where_they_belong():
    picture = chart([1.0] * 101, marks=[(51.0, "here")])
    column = 70 + (860 - 20 - 70) // 2
    assert (picture[100:400, column - 1 : column + 2] > 200).all(axis=-1).any(axis=1).all()

"""Labels stand in the picture, near their boxes, and beside each other while there is room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.label_plates import drawing_scale, placed_plates

SIZE = (300, 200)
BOX = (60, 60, 200, 140)


def overlap(one, other):
    sides = zip(one[:2], one[2:], other[:2], other[2:], strict=True)
    return all(low < other_high and other_low < high for low, high, other_low, other_high in sides)


def frames_of(boxes, labels, size=SIZE):
    return [plate.frame for plate in placed_plates(boxes, labels, size)]


def test_a_label_stands_above_its_box():
    ((left, _, _, bottom),) = frames_of([BOX], ["cat"])
    assert (left, bottom) == (59, 60)


def test_labels_of_boxes_in_one_place_do_not_hide_each_other():
    frames = frames_of([BOX] * 4, ["cat", "dog", "cow", "horse"])
    assert not any(overlap(one, other) for one in frames for other in frames if one != other)
    assert len(set(frames)) == 4


def test_without_room_labels_still_stand_at_their_box():
    tops = [frame[1] for frame in frames_of([BOX] * 6, list("abcdef"))]
    assert tops[4] == tops[5] == tops[0]


def test_a_label_wider_than_the_picture_loses_its_end():
    (plate,) = placed_plates([(0, 0, 50, 50)], ["a class with a very long name 0.93"], (90, 60))
    assert plate.text.startswith("a cl")
    assert plate.text.endswith("...")
    assert plate.frame[2] <= 90


@pytest.mark.parametrize(("size", "scale"), [((300, 200), 1.0), ((2000, 500), 2.0)])
def test_letters_grow_with_large_images(size, scale):
    assert drawing_scale(size) == scale
    ((_, top, _, bottom),) = frames_of([(100, 100, 200, 200)], ["cat"], size)
    assert bottom - top == 19 * scale


@given(
    st.lists(st.tuples(*[st.integers(0, 299)] * 4), max_size=12),
    st.text(max_size=30),
    st.tuples(st.integers(1, 400), st.integers(1, 300)),
)
def test_plates_begin_inside_the_picture(boxes, text, size):
    plates = placed_plates(boxes, [text] * len(boxes), size)
    assert len(plates) == len(boxes)
    for plate in plates:
        assert plate.frame[0] >= 0
        assert plate.frame[1] >= 0

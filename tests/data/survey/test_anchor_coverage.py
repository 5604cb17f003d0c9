from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from holdfast.data.input import resize
from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey.anchor_coverage import (
    AnchorLayout,
    Frame,
    Share,
    best_ious,
    frame_of,
    measure,
)
from holdfast.data.survey.observe import observe_records
from holdfast.geometry.anchors import MultiscaleAnchors, SsdAnchors
from holdfast.geometry.overlap import iou, pairwise

from ..example_records import GOOD_BOX, png, record, write

GENERATORS = {
    "ssd": SsdAnchors(num_layers=3, aspect_ratios=(1.0, 2.0, 0.5)),
    "pyramid": MultiscaleAnchors(min_level=3, max_level=5, aspect_ratios=(1.0, 2.0, 0.5)),
}


def laid_out(kind: str, height: int, width: int) -> list[np.ndarray]:
    shapes = [(-(-height // stride), -(-width // stride)) for stride in (8, 16, 32)]
    anchors = GENERATORS[kind].anchors(shapes, height, width)
    return [each.reshape(*shape, -1, 4) for each, shape in zip(anchors, shapes, strict=True)]


@pytest.mark.parametrize("kind", GENERATORS)
@settings(max_examples=50)
@given(
    st.integers(1, 200),
    st.integers(1, 200),
    st.lists(
        st.tuples(*[st.floats(0.0, 1.0, width=32)] * 4).map(
            lambda ends: (*sorted(ends[::2]), *sorted(ends[1::2]))
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_the_best_anchor_is_the_best_of_all(kind, height, width, ends):
    boxes = np.array(ends, np.float32)[:, [0, 2, 1, 3]]  # y, y, x, x -> y, x, y, x
    maps = laid_out(kind, height, width)
    every = np.concatenate([each.reshape(-1, 4) for each in maps])
    slow = np.asarray(ops.max(pairwise(iou, boxes, every), axis=-1))
    np.testing.assert_allclose(best_ious(boxes, maps), slow, atol=1e-5)


def test_no_box_and_no_anchor_have_no_overlap():
    assert best_ious(np.zeros((0, 4), np.float32), laid_out("ssd", 64, 64)).shape == (0,)
    box = np.array([[0.1, 0.1, 0.5, 0.5]], np.float32)
    assert best_ious(box, [np.zeros((2, 2, 0, 4), np.float32)]).tolist() == [0.0]


def one_anchor(*box: float, threshold: float = 0.5, frame: Frame | None = None) -> AnchorLayout:
    anchors = np.array(box, np.float32).reshape(1, 1, 1, 4)
    return AnchorLayout(
        frame=lambda height, width: frame or Frame(height, width, height, width),
        anchors=lambda height, width: [anchors],
        iou_threshold=threshold,
    )


HALF = (0.1, 0.2, 0.5, 0.4)  # the left half of GOOD_BOX
ASIDE = (0.6, 0.6, 0.8, 0.8)


@pytest.fixture
def observations(tmp_path):
    """Two images of 100 x 50 pixels with two cats, and a dog."""
    image = partial(png, 50, 100)
    file = write(
        tmp_path / "a.record",
        [
            record([GOOD_BOX, ASIDE], texts=["cat", "dog"], labels=[1, 2], image=image(seed=0)),
            record([GOOD_BOX], texts=["cat"], image=image(seed=1), source_id="two.png"),
            record([], texts=[], image=image(seed=2), source_id="three.png"),
        ],
    )
    return list(observe_records([file], RecordLayout(), decodes=False))


def test_boxes_are_counted_in_all_and_by_class(observations):
    (found,) = measure(observations, [one_anchor(*GOOD_BOX)])
    assert found.all == Share(boxes=3, covered=2)
    assert found.classes == {"dog": Share(boxes=1, covered=0), "cat": Share(boxes=2, covered=2)}
    assert list(found.classes) == ["dog", "cat"]  # the least covered first


def test_the_threshold_itself_is_enough(observations):
    anchors = np.array(HALF, np.float32).reshape(1, 1, 1, 4)
    (exact,) = best_ious(np.array([GOOD_BOX], np.float32), [anchors])
    layouts = [one_anchor(*HALF, threshold=exact + step) for step in (-0.01, 0.0, 0.01)]
    assert [found.all.covered for found in measure(observations, layouts)] == [2, 2, 0]


def test_small_is_measured_in_pixels_of_the_input(observations):
    # GOOD_BOX has 0.4 of either side, ASIDE 0.2.
    for side, small in ((79, 3), (81, 1), (159, 1), (161, 0)):
        frame = Frame(side, side, side, side)
        (found,) = measure(observations, [one_anchor(*GOOD_BOX, frame=frame)])
        assert found.small.boxes == small


def test_boxes_move_with_the_padding(observations):
    half = Frame(100, 50, 100, 100)  # the image is the left half of the input
    y_min, x_min, y_max, x_max = GOOD_BOX
    layouts = [
        one_anchor(*GOOD_BOX, frame=half),
        one_anchor(y_min, x_min / 2, y_max, x_max / 2, frame=half, threshold=0.999),
    ]
    assert [found.all.covered for found in measure(observations, layouts)] == [0, 2]


@pytest.mark.parametrize(
    ("resizer", "frame"),
    [
        (partial(resize.fixed_shape, height=30, width=40), Frame(30, 40, 30, 40)),
        (
            partial(
                resize.keep_aspect_ratio,
                min_dimension=40,
                max_dimension=60,
                pad_to_max_dimension=True,
                per_channel_pad_value=(1.0, 2.0, 3.0),
            ),
            Frame(60, 30, 60, 60),
        ),
        (partial(resize.pad_to_multiple, multiple=32), Frame(100, 50, 128, 64)),
        (resize.identity, Frame(100, 50, 100, 50)),
    ],
)
def test_a_resizer_tells_where_an_image_lies(resizer, frame):
    assert frame_of(resizer)(100, 50) == frame

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from holdfast.data.conversion.judge import Fault, judge_validity
from holdfast.data.sources.annotated_objects import Box, LabeledObject, build_sample
from holdfast.data.sources.classes import build_classes
from holdfast.data.sources.image_files import Picture, Size
from holdfast.data.survey.box_validity import Reason

judge = judge_validity(build_classes({1: "cat", 3: "dog"}).label_map)
GOOD = Box(2, 2, 8, 8)


@pytest.fixture
def picture():
    stream = io.BytesIO()
    Image.new("RGB", (10, 10)).save(stream, "JPEG")
    return Picture(stream.getvalue(), Size(10, 10))


@pytest.mark.parametrize(
    ("box", "class_index", "reason"),
    [
        (Box(2, 2, 2, 8), 0, Reason.DEGENERATE),
        (Box(8, 2, 2, 8), 0, Reason.SWAPPED),
        (Box(2, 2, np.nan, 8), 0, Reason.NOT_A_NUMBER),
        (Box(2, 2, 8, 12), 0, Reason.OUTSIDE),
        (GOOD, 1, Reason.UNKNOWN_CLASS),
        (GOOD, 3, Reason.UNKNOWN_CLASS),
        (GOOD, -1, Reason.NO_CLASS),
    ],
)
def test_a_bad_box_is_left_out_and_the_others_stay(picture, box, class_index, reason):
    objects = [LabeledObject(class_index, box), LabeledObject(2, GOOD)]
    kept, faults = judge(build_sample("1", picture, objects))
    assert faults == (Fault(reason.text, 1),)
    assert kept.classes.tolist() == [2]
    assert len(kept.boxes) == len(kept.areas) == len(kept.is_crowd) == 1


def test_a_good_sample_stays_as_it_is(picture):
    sample = build_sample("1", picture, [LabeledObject(0, Box(0, 0, 10.05, 10))])
    kept, faults = judge(sample)
    assert faults == ()
    np.testing.assert_array_equal(kept.boxes, sample.boxes)


def test_an_image_without_objects_is_kept(picture):
    assert judge(build_sample("1", picture, [])).sample is not None


def test_an_image_that_does_not_decode_is_left_out_with_its_boxes(picture):
    cut = picture._replace(encoded=picture.encoded[:200])
    kept, faults = judge(build_sample("1", cut, [LabeledObject(0, GOOD)] * 3))
    assert kept is None
    assert faults == (Fault(Reason.NOT_DECODABLE.text, 3),)

from __future__ import annotations

import warnings

import numpy as np

from holdfast.data.sources.annotated_objects import Box, LabeledObject, build_sample
from holdfast.data.sources.image_files import Picture, Size
from holdfast.data.survey.box_validity import Reason, box_reasons


def test_absurd_numbers_stay_for_the_checks_to_find_and_nothing_is_printed():
    corners = ((1e300, 0, 2e300, 1), (np.inf, 0, np.inf, 1), (np.nan, 0, 1, 1))
    objects = [LabeledObject(class_index=0, box=Box(*map(np.float64, each))) for each in corners]
    with warnings.catch_warnings(action="error"):
        sample = build_sample("a", Picture(b"", Size(40, 20)), objects)
    reasons = box_reasons(sample.boxes, sample.classes).numpy().tolist()
    assert reasons == [Reason.NOT_A_NUMBER] * 3

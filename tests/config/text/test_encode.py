from __future__ import annotations

import math
import struct

from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.schema.eval import CocoKeypointMetrics
from holdfast.config.schema.losses import Loss
from holdfast.config.schema.post_processing import PostProcessing, ScoreConverter
from holdfast.config.schema.train import TrainConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.encode import encode, to_json


def back(message):
    decoded = decode(encode(message), type(message))
    assert decoded.problems == []
    return decoded.message


@given(st.text())
def test_any_text_survives_writing_and_reading(text):
    message = TrainConfig(fine_tune_checkpoint=text, freeze_variables=(text, "x"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return  # half of a surrogate pair cannot stand in a UTF-8 file
    assert back(message) == message


@given(st.floats(width=32))
def test_any_float32_survives_writing_and_reading(value):
    read = back(Loss(classification_weight=value)).classification_weight
    if math.isnan(value):
        assert math.isnan(read)
    else:
        assert struct.pack("<f", read) == struct.pack("<f", value)


def test_only_set_fields_are_written_also_when_set_to_their_default():
    assert encode(TrainConfig()) == ""
    assert encode(TrainConfig(batch_size=32)) == "batch_size: 32\n"


def test_maps_enums_and_special_floats_are_written_as_protobuf_writes_them():
    metrics = CocoKeypointMetrics(keypoint_label_to_sigmas={"nose": 0.026, 'a"b': math.inf})
    assert encode(metrics) == (
        'keypoint_label_to_sigmas {\n  key: "nose"\n  value: 0.026\n}\n'
        'keypoint_label_to_sigmas {\n  key: "a\\"b"\n  value: inf\n}\n'
    )
    assert to_json(metrics) == {"keypoint_label_to_sigmas": {"nose": 0.026, 'a"b': "Infinity"}}
    assert to_json(
        PostProcessing(score_converter=ScoreConverter.SOFTMAX, logit_scale=math.nan)
    ) == {
        "score_converter": "SOFTMAX",
        "logit_scale": "NaN",
    }

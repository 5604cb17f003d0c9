"""A drawn video has the frames that it was given, at their times, or is not there."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from tests.prediction.spread_weights import noise

from holdfast.prediction.drawn_video import DrawnVideo
from holdfast.prediction.predicted_image import Moment, PredictedImage


def found(frame, seconds):
    none = np.zeros((0, 4), np.float32)
    return PredictedImage(
        *(Path("a.mp4"), 1, 1, none, none[:, 0], (), none[:, 0]), moment=Moment(frame, seconds)
    )


@pytest.mark.parametrize("size", [(64, 80), (33, 47)])
def test_frames_are_those_that_were_added_at_their_times(tmp_path, size):
    path = tmp_path / "out" / "a.mp4"
    video = DrawnVideo(path, Fraction(30000, 1001))
    for index in range(9):
        video.add(found(index, index * 1001 / 30000), noise(*size, index))
        assert not path.exists()
    video.finish()
    assert [each.name for each in path.parent.iterdir()] == ["a.mp4"]
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.average_rate == Fraction(30000, 1001)
        frames = list(container.decode(stream))
    assert len(frames) == 9
    np.testing.assert_allclose([each.time for each in frames], np.arange(9) * 1001 / 30000)
    for index, frame in enumerate(frames):
        pixels = frame.to_ndarray(format="rgb24")
        assert pixels.shape == (*size, 3)
        assert np.abs(pixels.astype(float) - noise(*size, index)).mean() < 25


def test_a_video_that_is_not_finished_leaves_nothing(tmp_path):
    video = DrawnVideo(tmp_path / "a.mp4", Fraction(10))
    video.add(found(0, 0.0), noise(64, 64))
    video.close()
    assert list(tmp_path.iterdir()) == []

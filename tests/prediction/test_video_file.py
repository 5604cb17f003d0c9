"""Frames come in their order, upright, with their times; a broken video is an error."""

from __future__ import annotations

import av
import numpy as np
import pytest
from tests.prediction.small_videos import turn_left, write_video

import holdfast
from holdfast import extras
from holdfast.prediction.video_file import VideoFile, decoded_frames


def frames_of(path, every=1):
    with VideoFile(path) as video:
        return list(decoded_frames(video, lambda pixels: pixels.shape, every=every, ahead=3))


def test_frames_have_numbers_times_and_the_pixels_that_were_encoded(tmp_path):
    pictures = write_video(tmp_path / "a.mp4", frames=7, rate=10)
    found = frames_of(tmp_path / "a.mp4")
    assert [each.moment.frame for each in found] == list(range(7))
    np.testing.assert_allclose([each.moment.seconds for each in found], np.arange(7) / 10)
    assert all(each.ready == (64, 80, 3) for each in found)
    for each, picture in zip(found, pictures, strict=True):
        assert np.abs(each.pixels.astype(float) - picture).mean() < 20  # colors lose half


def test_of_every_three_frames_the_first_is_given(tmp_path):
    write_video(tmp_path / "a.mp4", frames=8)
    assert [each.moment.frame for each in frames_of(tmp_path / "a.mp4", every=3)] == [0, 3, 6]


def test_a_video_is_seen_as_its_telephone_was_held(tmp_path):
    write_video(tmp_path / "a.mp4", frames=2)
    upright = frames_of(tmp_path / "a.mp4")[0].pixels
    turn_left(tmp_path / "a.mp4")
    with av.open(str(tmp_path / "a.mp4")) as container:
        rotation = next(container.decode(video=0)).rotation
    assert rotation in (90, -90)
    turned = frames_of(tmp_path / "a.mp4")[0].pixels
    assert turned.shape == (80, 64, 3)
    np.testing.assert_array_equal(turned, np.rot90(upright, rotation // 90))


def test_the_file_tells_rate_frames_and_sound(tmp_path):
    write_video(tmp_path / "a.mp4", frames=5, rate=12, audio=True)
    with VideoFile(tmp_path / "a.mp4") as video:
        assert (video.rate, video.num_frames, video.has_audio) == (12, 5, True)


@pytest.mark.parametrize("kind", ["text", "empty", "cut", "no_frames"])
def test_a_video_that_is_none_is_an_error(tmp_path, kind):
    path = tmp_path / "a.mp4"
    write_video(path, frames=0 if kind == "no_frames" else 30)
    content = path.read_bytes()
    spoiled = {"text": b"not a video", "empty": b"", "cut": content[: len(content) // 2]}
    path.write_bytes(spoiled.get(kind, content))
    with pytest.raises(holdfast.HoldfastError, match=r"is not a video|holds no"):
        frames_of(path)


def test_a_video_with_a_stream_and_no_frame_is_an_error(tmp_path):
    path = tmp_path / "a.avi"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        container.start_encoding()
    with pytest.raises(holdfast.HoldfastError, match="holds no frame that can be decoded"):
        frames_of(path)


def test_a_video_that_breaks_off_is_an_error(tmp_path):
    path = tmp_path / "a.mp4"
    write_video(path, frames=60, options={"movflags": "faststart"})
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(holdfast.HoldfastError, match="cannot be decoded after frame"):
        frames_of(path)


def test_without_the_extra_one_line_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(holdfast.HoldfastError, match=r'pip install "holdfast\[video\]"'):
        VideoFile(tmp_path / "a.mp4")

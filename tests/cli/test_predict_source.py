"""`holdfast predict` of a video: a drawn video, JSON for each frame, or nothing at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import av
import numpy as np
import pytest
from PIL import Image
from tests.prediction.small_videos import write_video
from tests.prediction.spread_weights import noise, save_project
from tests.training.small_training import config_text

from .commands import holdfast, words


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    save_project(folder, config_text(chance=False))
    (folder / "clips").mkdir()
    write_video(folder / "clips" / "a.mp4", frames=11, rate=10, audio=True)
    return folder


def model_of(project):
    return (project / "pipeline.config", "--checkpoint", project / "checkpoints")


def predict(project, *arguments):
    return holdfast("predict", *model_of(project), *arguments)


def test_a_video_gives_a_drawn_video_and_json_for_each_frame(project, tmp_path):
    out = tmp_path / "out"
    finished = predict(project, project / "clips" / "a.mp4", "--out", out, "--score", 0.2)
    assert finished.code == 0, finished.err
    assert "sound of the video is not kept" in words(finished.out)
    assert "in 11 frames" in words(finished.out)
    assert "frames a second" in words(finished.out)
    assert sorted(path.name for path in out.iterdir()) == ["a.mp4", "predictions.json"]
    images = json.loads((out / "predictions.json").read_text())["images"]
    assert [each["frame"] for each in images] == list(range(11))
    np.testing.assert_allclose([each["seconds"] for each in images], np.arange(11) / 10)
    assert (images[0]["width"], images[0]["height"]) == (80, 64)
    assert sum(len(each["detections"]) for each in images) > 10
    with av.open(str(out / "a.mp4")) as drawn:
        stream = drawn.streams.video[0]
        assert (stream.average_rate, stream.width, stream.height) == (10, 80, 64)
        assert not drawn.streams.audio
        assert len(list(drawn.decode(stream))) == 11


def test_a_frame_has_what_its_image_has(project, tmp_path):
    clip = project / "clips" / "a.mp4"
    frames = json.loads(predict(project, clip, "--json", "--score", 0.3, "--every", 4).out)
    assert [each["frame"] for each in frames["images"]] == [0, 4, 8]
    with av.open(str(clip)) as container:
        pixels = [each.to_ndarray(format="rgb24") for each in container.decode(video=0)]
    Image.fromarray(pixels[4]).save(tmp_path / "4.png")
    image = json.loads(predict(project, tmp_path / "4.png", "--json", "--score", 0.3).out)
    assert len(image["images"][0]["detections"]) > 0
    assert frames["images"][1]["detections"] == image["images"][0]["detections"]


def test_videos_of_a_folder_are_passed_over_and_told(project, tmp_path):
    Image.fromarray(noise(60, 80)).save(tmp_path / "a.png")
    write_video(tmp_path / "b.mp4", frames=2)
    finished = predict(project, tmp_path, "--json")
    assert finished.code == 0, finished.err
    assert "passed over: 1 video; give a video by its own path" in words(finished.err)
    assert len(json.loads(finished.out)["images"]) == 1
    (tmp_path / "a.png").unlink()
    finished = predict(project, tmp_path, "--json")
    assert finished.code == 2
    assert "or a video by its own path" in words(finished.err)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is not a video that can be read"), (b"text", "is not a video that can be read")],
)
def test_a_broken_video_leaves_nothing(project, tmp_path, content, message):
    (tmp_path / "broken.mp4").write_bytes(content)
    finished = predict(project, tmp_path / "broken.mp4", "--out", tmp_path / "out")
    assert finished.code == 2
    assert message in words(finished.err)
    assert not (tmp_path / "out").exists()


def test_a_video_that_breaks_off_leaves_no_half_video(project, tmp_path):
    path = tmp_path / "cut.mp4"
    write_video(path, frames=60, options={"movflags": "faststart"})
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 3 // 4])
    finished = predict(project, path, "--out", tmp_path / "out")
    assert finished.code == 2
    assert "cannot be decoded after frame" in words(finished.err)
    assert list((tmp_path / "out").iterdir()) == []


def test_every_is_for_videos(project, tmp_path):
    Image.fromarray(noise(60, 80)).save(tmp_path / "a.png")
    finished = predict(project, tmp_path / "a.png", "--every", 2)
    assert finished.code == 2
    assert "--every is for the frames of a video" in words(finished.err)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["video", "images"])
def test_a_killed_process_leaves_no_half_file(project, tmp_path, kind):
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    if kind == "video":
        write_video(source / "a.mp4", frames=3000)
    for index in range(3000 if kind == "images" else 0):
        Image.fromarray(noise(60, 80, index)).save(source / f"{index:04}.jpg")
    target = source / "a.mp4" if kind == "video" else source
    arguments = ["predict", *model_of(project), target, "--out", out, "--batch-size", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    for line in process.stderr:
        if line.startswith("predict: "):  # a tenth is done
            break
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    written = [path for path in out.rglob("*") if not path.name.startswith(".")]
    if kind == "video":
        assert list(out.iterdir()) == []
    else:
        assert len(written) > 100
        assert "predictions.json" not in {path.name for path in written}
        for path in written:
            with Image.open(path) as picture:
                picture.load()
